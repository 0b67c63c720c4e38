import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { z } from 'zod';
import { openApi } from '../../api/http/openapi/index.ts';
import { type AnyRoute, routesOf } from '../../api/http/route.ts';
import { described } from '../../api/resources/openapi/described.ts';
import { routes } from '../../api/resources/routes.gen.ts';
import { webhookBodies } from '../../api/resources/webhooks/events.shape.ts';
import { MCP_TOOLS } from '../fixtures/mcp-tools.ts';
import { EVENT_TYPES } from '../../src/delivery/webhooks/index.ts';

type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- a document, judged by each test

const whole: Json = openApi(routes, described);
const open: Json = openApi(routes, { ...described, prefix: '/public/v1/' });

interface Operation {
  name: string;
  route: AnyRoute;
  at: Json;
}
const operationsOf = (document: Json): Operation[] =>
  routes.flatMap((route) => {
    const at = document['paths'][route.path.replace(/:(\w+)/g, '{$1}')]?.[route.method];
    return at ? [{ name: `${route.method.toUpperCase()} ${route.path}`, route, at }] : [];
  });
const all = operationsOf(whole);
const published = operationsOf(open);

/** Where something stands in a document, by a reference into it. */
const at = (document: Json, reference: string): Json =>
  reference
    .slice(2)
    .split('/')
    .reduce((inside, key) => inside?.[key], document as Json);

describe('operation ids', () => {
  /** Methods of generated clients: none of them changes its name. */
  const PINNED = {
    'GET /public/v1/analytics/:integrationId': 'getChannelAnalytics',
    'GET /public/v1/analytics/:integrationId/history': 'getChannelHistory',
    'GET /public/v1/analytics/post/:postId': 'getPostAnalytics',
    'GET /public/v1/channels/:id/calendar.ics': 'getChannelCalendar',
    'GET /public/v1/find-slot': 'findSlot',
    'GET /public/v1/find-slot/:id': 'findChannelSlot',
    'POST /public/v1/generate-video': 'generateVideo',
    'GET /public/v1/groups': 'listGroups',
    'GET /public/v1/integration-settings/:id': 'getChannelRules',
    'POST /public/v1/integration-trigger/:id': 'callChannelMethod',
    'GET /public/v1/integrations': 'listChannels',
    'DELETE /public/v1/integrations/:id': 'deleteChannel',
    'GET /public/v1/is-connected': 'checkCredential',
    'GET /public/v1/me': 'getMe',
    'GET /public/v1/media': 'listFiles',
    'DELETE /public/v1/media/:id': 'deleteFile',
    'POST /public/v1/media/:id/transform': 'transformFile',
    'GET /public/v1/media/jobs/:id': 'getMediaJob',
    'GET /public/v1/notifications': 'listNotifications',
    'GET /public/v1/openapi.json': 'getOpenApiDocument',
    'GET /public/v1/posts': 'listPosts',
    'POST /public/v1/posts': 'createPosts',
    'GET /public/v1/posts/:id': 'getPost',
    'PUT /public/v1/posts/:id': 'replacePost',
    'PATCH /public/v1/posts/:id': 'editPost',
    'DELETE /public/v1/posts/:id': 'deletePost',
    'GET /public/v1/posts/:id/missing': 'findMissingPost',
    'PUT /public/v1/posts/:id/release-id': 'setReleaseId',
    'POST /public/v1/posts/:id/retry': 'retryPost',
    'PUT /public/v1/posts/:id/settings': 'mergePostSettings',
    'PUT /public/v1/posts/:id/status': 'setPostStatus',
    'GET /public/v1/posts/:id/timeline': 'getPostTimeline',
    'POST /public/v1/posts/bulk': 'planPosts',
    'POST /public/v1/posts/bulk/:planId/apply': 'applyPlan',
    'POST /public/v1/posts/bulk/:planId/undo': 'undoPlan',
    'DELETE /public/v1/posts/group/:group': 'deleteGroup',
    'POST /public/v1/posts/pause': 'pausePosts',
    'POST /public/v1/posts/preflight': 'preflightPosts',
    'POST /public/v1/posts/resume': 'resumePosts',
    'GET /public/v1/social/:provider': 'startConnecting',
    'GET /public/v1/tags': 'listTags',
    'POST /public/v1/tags': 'createTag',
    'POST /public/v1/upload': 'uploadFile',
    'POST /public/v1/upload-from-url': 'uploadFromUrl',
    'GET /public/v1/users': 'searchUsers',
    'POST /public/v1/video/function': 'callVideoFunction',
    'GET /public/v1/webhooks': 'listWebhooks',
    'POST /public/v1/webhooks': 'createWebhook',
    'PUT /public/v1/webhooks': 'changeWebhook',
    'GET /public/v1/webhooks/:id': 'getWebhook',
    'PUT /public/v1/webhooks/:id': 'changeWebhookById',
    'DELETE /public/v1/webhooks/:id': 'deleteWebhook',
    'GET /public/v1/webhooks/:id/events': 'listWebhookEvents',
  };

  test('those of the public document are pinned, and the same in the whole document', () => {
    const ids = (operations: readonly Operation[]) =>
      new Map(operations.map(({ name, at: one }) => [name, one['operationId']]));
    expect(Object.fromEntries(ids(published))).toEqual(PINNED);
    const inWhole = ids(all);
    for (const [name, id] of Object.entries(PINNED)) expect([name, inWhole.get(name)]).toEqual([name, id]);
  });

  test('none is there twice, and each is a name in camel case', () => {
    const ids: string[] = [
      ...all.map(({ at: one }) => one['operationId']),
      ...Object.values(whole['webhooks'] as Json).map(({ post }) => post.operationId),
    ];
    expect(ids.filter((id, n) => ids.indexOf(id) !== n)).toEqual([]);
    expect(ids.filter((id) => !/^[a-z][A-Za-z0-9]{2,80}$/.test(id))).toEqual([]);
  });
});

describe('tags', () => {
  test('each operation has one, and each is described in a sentence', () => {
    for (const document of [whole, open]) {
      const known = new Map((document['tags'] as Json[]).map(({ name, description }) => [name, description]));
      const used = new Set(operationsOf(document).flatMap(({ at: one }) => one['tags'] as string[]));
      expect([...used].filter((name) => !known.has(name))).toEqual([]);
      expect([...known].filter(([, text]) => !/^[A-Z].{30,}\.$/.test(text))).toEqual([]);
    }
  });
});

describe('named schemas', () => {
  test('posts, channels, files, webhooks and errors have names', () => {
    expect(Object.keys(open['components'].schemas)).toEqual(
      expect.arrayContaining(['PublicPost', 'PublicChannel', 'File', 'Webhook', 'Error', 'Tag', 'Timeline']),
    );
    expect(Object.keys(whole['components'].schemas)).toEqual(expect.arrayContaining(['Post', 'Channel', 'File']));
  });

  test('a shape stands once: what has a name is referred to wherever it is answered', () => {
    for (const { route, at: one } of all) {
      const name = Object.entries(described.shapes).find(([, schema]) => schema === route.answer)?.[0];
      const [success] = Object.entries(one['responses'] as Json).find(([status]) => status.startsWith('2'))!;
      const { schema } = one['responses'][success].content['application/json'] ?? {};
      if (name && schema) expect(schema).toEqual({ $ref: `#/components/schemas/${name}` });
    }
  });

  test('no two shapes have one name', () => {
    const { shapes } = described;
    expect(new Set(Object.values(shapes)).size).toBe(Object.keys(shapes).length);
  });

  test('each is used by something', () => {
    for (const document of [whole, open]) {
      const text = JSON.stringify(document);
      const unused = Object.keys(document['components'].schemas).filter(
        (name) => !text.includes(`"#/components/schemas/${name}"`),
      );
      expect(unused).toEqual([]);
    }
  });
});

describe('examples', () => {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: true });
  ajv.addFormat('date-time', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/);
  ajv.addFormat('date', /^\d{4}-\d\d-\d\d$/);
  ajv.addFormat('uuid', /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  ajv.addFormat('email', /^[^@\s]+@[^@\s]+\.[^@\s]+$/);
  ajv.addFormat('uri', (text: string) => URL.canParse(text));
  const validators = new Map<Json, (schema: Json) => ValidateFunction>();
  const judgeOf = (document: Json) => {
    const known = validators.get(document);
    if (known) return known;
    const id = `document:${validators.size}`;
    ajv.addSchema({ $id: id, components: { schemas: document['components'].schemas } });
    const judge = (schema: Json) =>
      ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', `"${id}#/components/`)));
    validators.set(document, judge);
    return judge;
  };
  const faultsOf = (document: Json, schema: Json, value: unknown) => {
    const validate = judgeOf(document)(schema);
    return validate(value) ? [] : validate.errors!.map(({ instancePath, message }) => `${instancePath} ${message}`);
  };

  test.each(all.filter(({ route }) => route.body).map((one) => [one.name, one] as const))(
    '%s has one of its body, which the route takes',
    (_, { route, at: one }) => {
      const content = one['requestBody'].content['application/json'];
      expect(faultsOf(whole, content.schema, content.example)).toEqual([]);
      const judged = (route.body as z.ZodType).safeParse(content.example);
      expect(judged.error?.issues ?? []).toEqual([]);
    },
  );

  test.each(all.filter(({ route }) => (route.output ?? 'json') === 'json').map((one) => [one.name, one] as const))(
    '%s has one of its answer, which is what its schema says',
    (_, { at: one }) => {
      const [success] = Object.entries(one['responses'] as Json).find(([status]) => status.startsWith('2'))!;
      const { schema, example } = one['responses'][success].content['application/json'];
      expect(example).toBeDefined();
      expect(faultsOf(whole, schema, example)).toEqual([]);
    },
  );

  test('each refusal has one, whose status and code belong together', () => {
    for (const [name, { content }] of Object.entries(whole['components'].responses as Json)) {
      const { schema, example } = content['application/json'];
      expect([name, faultsOf(whole, schema, example)]).toEqual([name, []]);
      if (/^Error\d/.test(name)) expect(name).toBe(`Error${example.statusCode}`);
    }
  });

  test('each event has one, which its schema takes', () => {
    for (const [event, { post }] of Object.entries(whole['webhooks'] as Json)) {
      const { example } = post.requestBody.content['application/json'];
      expect([event, webhookBodies[event]!.safeParse(example).error?.issues ?? []]).toEqual([event, []]);
    }
  });
});

describe('x-mcp', () => {
  test.each(['/', '/public/v1/'])('has every tool with its scope and schemas in the document below %s', (prefix) => {
    const { surfaces, tools } = openApi(routes, { ...described, prefix })['x-mcp'] as Json;
    expect(surfaces).toEqual([
      { name: 'mcp', path: '/mcp' },
      { name: 'media-mcp', path: '/media-mcp' },
    ]);
    const scopes = { R: 'mcp:read', W: 'mcp:posts:write' };
    const on = { mcp: ['mcp'], media: ['media-mcp'], both: ['mcp', 'media-mcp'] };
    const byHand = Object.entries(MCP_TOOLS).map(([name, tool]) => [
      name,
      tool.alias,
      scopes[tool.scope],
      tool.permission,
      on[tool.on],
    ]);
    expect(
      tools.map(({ name, alias, scope, permission, surfaces: shown }: Json) => [name, alias, scope, permission, shown]),
    ).toEqual(expect.arrayContaining(byHand));
    expect(tools).toHaveLength(byHand.length);
    const ajv = new Ajv2020({ strict: false, validateFormats: false });
    for (const { inputSchema, outputSchema } of tools) {
      expect(ajv.compile(inputSchema)([])).toBe(false);
      expect(ajv.compile(outputSchema)([])).toBe(false);
    }
  });
});

describe('webhooks', () => {
  test('are every event that a webhook can ask for, and the ping', () => {
    expect(Object.keys(whole['webhooks'])).toEqual([...EVENT_TYPES.map(({ event }) => event), 'ping']);
    expect(open['webhooks']).toEqual(whole['webhooks']);
  });

  test('the bodies that are really sent have the described form', () => {
    const lines = readFileSync(new URL('../fixtures/webhooks/bodies.jsonl', import.meta.url), 'utf8')
      .trim()
      .split('\n');
    expect(lines.length).toBeGreaterThan(5);
    for (const line of lines) {
      const body = JSON.parse(line) as { event: string };
      expect([body.event, webhookBodies[body.event]!.safeParse(body).error?.issues ?? []]).toEqual([body.event, []]);
    }
  });
});

describe('what is answered before it is done', () => {
  const STATUSES: Readonly<Record<string, readonly string[]>> = {
    ...Object.fromEntries(
      ['files', 'media'].flatMap((prefix) => [
        ...['generate-image', 'generate-image-with-prompt', 'generate-video', 'generate-voice', 'captions'].map(
          (name) => [`POST /${prefix}/${name}`, ['201', '202']] as const,
        ),
        [`POST /${prefix}/jobs`, ['202']] as const,
      ]),
    ),
    'POST /public/v1/generate-video': ['201', '202'],
    'POST /ai/content-pipeline': ['202'],
    'POST /message/:id': ['202'],
  };

  test('has a 202, alone or beside the answer that was waited for [S151]', () => {
    const found = all.flatMap(({ name, at: one }) => {
      const successes = Object.keys(one['responses'] as Json).filter((status) => status.startsWith('2'));
      return successes.includes('202') ? [[name, successes]] : [];
    });
    expect(Object.fromEntries(found)).toEqual(STATUSES);
  });

  test('names the job with 202, and says how not to wait [S151]', () => {
    for (const { at: one } of all.filter(({ name }) => STATUSES[name]?.includes('201'))) {
      const [made, later] = [201, 202].map((status) => one['responses'][status]);
      expect(later.content['application/json'].schema.properties).toEqual({ jobId: { type: 'string' } });
      expect(JSON.stringify(made.content['application/json'].schema)).not.toContain('jobId');
      expect(Object.keys(later.headers)).toContain('Preference-Applied');
      expect((one['parameters'] as Json[]).map(({ name }) => name)).toContain('Prefer');
    }
  });
});

describe('headers', () => {
  const RATE = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
  test('each throttled success and each 429 has the rate headers, a 429 also Retry-After [S16]', () => {
    for (const { name, route, at: one } of all) {
      const [, success] = Object.entries(one['responses'] as Json).find(([status]) => status.startsWith('2'))!;
      expect([name, RATE.every((header) => header in success.headers)]).toEqual([name, route.limit !== 'none']);
    }
    expect(Object.keys(whole['components'].responses.Error429.headers)).toEqual(
      expect.arrayContaining([...RATE, 'Retry-After']),
    );
  });

  test('what takes an Idempotency-Key says so, and that an answer may be a repeated one [S18]', () => {
    for (const { name, route, at: one } of all) {
      const [, success] = Object.entries(one['responses'] as Json).find(([status]) => status.startsWith('2'))!;
      const asks = (one['parameters'] as Json[]).some((parameter) => parameter['name'] === 'Idempotency-Key');
      expect([name, asks, 'Idempotency-Replayed' in success.headers]).toEqual([
        name,
        Boolean(route.idempotent),
        Boolean(route.idempotent),
      ]);
    }
  });

  test('every reference leads somewhere', () => {
    for (const document of [whole, open]) {
      const references = [...JSON.stringify(document).matchAll(/"\$ref":"(#\/[^"]+)"/g)].map(([, one]) => one!);
      expect(references.length).toBeGreaterThan(100);
      expect([...new Set(references)].filter((one) => at(document, one) === undefined)).toEqual([]);
    }
  });
});

test('a route that is to be removed is marked, and its answers say since when and until when [S22]', () => {
  const gone = routesOf()({
    method: 'get',
    path: '/gone',
    summary: 'Get what is gone',
    auth: ['none'],
    deprecated: { since: '2026-01-01', sunset: '2026-07-01' },
    answer: z.strictObject({ id: z.string() }),
    handle: async () => ({ id: 'x' }),
    present: (found) => found,
  });
  const document: Json = openApi([gone], described);
  const operation = document['paths']['/gone'].get;
  expect(operation.deprecated).toBe(true);
  expect(operation.responses[200].headers).toMatchObject({
    Deprecation: { $ref: '#/components/headers/Deprecation' },
    Sunset: { $ref: '#/components/headers/Sunset' },
  });
  expect(open['paths']['/public/v1/posts'].get.deprecated).toBeUndefined();
});

test('each operation of the public API has a call by curl and one by the client', () => {
  for (const { name, at: one } of published) {
    const [curl, client] = one['x-codeSamples'] as [{ source: string }, { source: string }];
    expect([name, curl.source.startsWith('curl'), client.source.includes('rookery.')]).toEqual([name, true, true]);
  }
  const [{ source }] = open['paths']['/public/v1/tags'].post['x-codeSamples'];
  expect(source).toBe(
    [
      'curl',
      '-X POST',
      '"$URL/public/v1/tags"',
      '-H "Authorization: $KEY"',
      "-H 'Content-Type: application/json'",
      `-d '{"name":"Acme"}'`,
    ].join(' \\\n  '),
  );
});
