import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { cleanContent } from '../../../src/platform/content/index.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Answer, Client, SignedUp } from '../../support/worlds/app.ts';
import { isFull } from '../../support/processes/chaos.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { example, inputSchema } from '../../support/worlds/example.ts';
import { NAUGHTY, NAUGHTY_CLASSES } from '../../support/wire/naughty.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { picture } from '../../support/worlds/samples.ts';

// Several hundred naughty texts in every text of every body, nested ones too, of the whole product. What the schema of
// a route refuses is refused for all routes by one rung of the ladder, so that every text that it takes is sent, and of
// the others a sample.

const log: string[] = [];
let product: Product;
let ann: SignedUp;
let key: Client;
beforeAll(async () => {
  product = await wholeProduct({
    sandbox: true,
    level: 'debug',
    write: (line) => log.push(line),
    env: { OUTBOUND_HTTP_TIMEOUT_MS: '500', SANDBOX_ENABLED: 'true' },
  });
  ann = await product.signUp();
  key = await ann.withKey();
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

/** One in so many texts for each field, so that each text comes into many of them; at full depth all. */
const EVERY = isFull ? 1 : 10;
type Schema = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- JSON Schema as zod writes it
type Way = readonly (string | 0)[];

/** The way to each text in a body; the first entry of an array stands for all. */
function textsIn(schema: Schema, way: Way = []): Way[] {
  const choices = [...(schema['anyOf'] ?? []), ...(schema['oneOf'] ?? []), ...(schema['allOf'] ?? [])] as Schema[];
  if (choices.length > 0) return choices.flatMap((one) => textsIn(one, way));
  if (schema['type'] === 'object') {
    const named = Object.entries((schema['properties'] ?? {}) as Record<string, Schema>).flatMap(([name, inner]) =>
      textsIn(inner, [...way, name]),
    );
    return typeof schema['additionalProperties'] === 'object'
      ? [...named, ...textsIn(schema['additionalProperties'] as Schema, [...way, 'any'])]
      : named;
  }
  if (schema['type'] === 'array') return textsIn((schema['items'] ?? {}) as Schema, [...way, 0]);
  return schema['type'] === 'string' && !schema['enum'] ? [way] : [];
}
/** A copy of a body with one text in it changed. */
function withText(body: unknown, [step, ...rest]: Way, text: string): unknown {
  if (step === undefined) return text;
  if (step === 0) return [withText(Array.isArray(body) ? body[0] : undefined, rest, text)];
  return {
    ...(body as object | undefined),
    [step]: withText((body as Record<string, unknown> | undefined)?.[step], rest, text),
  };
}

const ends = /\/(logout|revoke-all|leave-org|change-password|change-email|transfer)$/; // would end what asks
const hashes = /^\/auth\/(login|register|forgot-return)$/; // each answer costs as much as a password: a sample of texts
const some = routes.filter(
  ({ path, body, input, method }) =>
    body &&
    input !== 'stream' &&
    !ends.test(path) &&
    !hashes.test(path) &&
    !(method === 'delete' && /^\/(user|orgs\/current)$/.test(path)),
);
const asker = ({ auth }: AnyRoute): Client =>
  auth.includes('api-key') && !auth.includes('session') ? key : ann.client;
const pathOf = ({ path }: AnyRoute) =>
  path.replace(/:(\w+)/g, (_match, name: string) => (name === 'id' || name.endsWith('Id') ? newId() : 'sandbox'));

async function inParts<T>(asks: readonly (() => Promise<T>)[]): Promise<T[]> {
  const answers: T[] = [];
  for (let n = 0; n < asks.length; n += 16)
    answers.push(...(await Promise.all(asks.slice(n, n + 16).map((ask) => ask()))));
  return answers;
}

test('the list has enough texts, of many classes', () => {
  expect(NAUGHTY.length).toBeGreaterThanOrEqual(500);
  expect(NAUGHTY_CLASSES.length).toBeGreaterThanOrEqual(20);
});

let fields = 0;
describe('hostile texts in every text field', () => {
  test.each(some.map((route): [string, AnyRoute] => [`${route.method.toUpperCase()} ${route.path}`, route]))(
    '%s accepts or refuses each text without a 500',
    async (_name, route) => {
      const schema = inputSchema(route.body as never);
      const valid = example(schema);
      const ways = textsIn(schema);
      fields += ways.length;
      const bodies = ways.flatMap((way, field) =>
        NAUGHTY.filter((_text, n) => (n + field) % EVERY === 0).map((text) => withText(valid, way, text)),
      );
      const sent = bodies.filter(
        (body, n) =>
          n % 29 === 0 || (route.body as { safeParse(body: unknown): { success: boolean } }).safeParse(body).success,
      );
      const answers = await inParts(
        sent.map((body) => () => asker(route).send(route.method.toUpperCase(), pathOf(route), body)),
      );
      const broken = answers.flatMap(({ status, text }, n) =>
        status >= 500 && status !== 502 ? [`${status} ${text} for ${JSON.stringify(sent[n]).slice(0, 300)}`] : [],
      );
      expect(broken).toEqual([]);
      const odd = answers.flatMap(({ status, headers }) => [
        ...(status >= 400 && headers.get('content-type') !== 'application/json; charset=utf-8'
          ? [`${status} as ${headers.get('content-type')}`]
          : []),
        ...headers
          .getSetCookie()
          .filter(
            (cookie) => !/^(auth|refresh|csrf_token|showorg|impersonate)=[\w.-]*; Max-Age=\d+; Path=\/; /.test(cookie),
          ),
      ]);
      expect(odd).toEqual([]);
    },
    240_000,
  );
  test('the routes have many text fields', () => expect(fields).toBeGreaterThan(120));
});

describe('stored texts', () => {
  const column = (table: string, name: string, id: string) => async () =>
    (
      await product.db.sql<
        { value: string }[]
      >`select ${product.db.sql(name)} as value from ${product.db.sql(table)} where id = ${id}`
    )[0]?.value;
  const asName = (text: string) => text.normalize('NFC').trim();
  let bob: SignedUp;
  let bobsKey: Client;
  let channelId: string;
  let fileId: string;
  beforeAll(async () => {
    bob = await product.signUp();
    bobsKey = await bob.withKey();
    await eventually('a channel', async () => {
      const { status, body } = await bob.client.post('/integrations/social-connect/sandbox', {
        fields: { name: 'Ann' },
        allowPreview: true,
      });
      channelId = body.id;
      return status === 200; // not where a busy machine lets the network take longer than calls may take here
    });
    const form = new FormData();
    form.set('file', new Blob([new Uint8Array(await picture(8, 8))], { type: 'image/png' }), 'a.png');
    fileId = (await bob.client.post('/files/upload-simple', form)).body.id;
    expect([typeof channelId, typeof fileId]).toEqual(['string', 'string']);
  });

  interface Kept {
    what: string;
    send(text: string): Promise<Answer>;
    read(answer: Answer): Promise<string | undefined>;
    as?: (text: string) => string;
    /** Into one row after the other; else each text into a row of its own, several at once. */
    same?: true;
    /** As many as an organization may have of them. */
    most?: number;
  }
  const kept: Kept[] = [
    {
      what: 'the content of a post',
      send: (content) =>
        bobsKey.post('/public/v1/posts', {
          type: 'draft',
          date: '2999-01-01T00:00:00Z',
          posts: [{ integration: { id: channelId }, value: [{ content, image: [] }] }],
        }),
      read: ({ body }) => column('posts', 'content', body[0].postId)(),
      as: cleanContent,
    },
    {
      what: 'the name of an organization',
      send: (name) => bob.client.put('/orgs/current', { name }),
      read: ({ body }) => column('organizations', 'name', body.id)(),
      same: true,
      as: asName,
    },
    {
      what: 'the name of a webhook',
      send: (name) => bob.client.post('/webhooks', { name, url: 'https://8.8.8.8/', integrations: [] }),
      read: ({ body }) => column('webhooks', 'name', body.id)(),
      as: asName,
      most: 200,
    },
    {
      what: 'the name of an API key',
      send: (name) => bob.client.post('/user/api-keys', { name }),
      read: async ({ body }) => body.name,
      as: asName,
      most: 40,
    },
    {
      what: 'the name of a channel',
      send: (name) => bob.client.post(`/integrations/${channelId}/nickname`, { name }),
      read: () => column('channels', 'name', channelId)(),
      same: true,
      as: asName,
    },
    {
      what: 'what a picture shows',
      send: (alt) => bob.client.post('/files/information', { id: fileId, alt }),
      read: () => column('files', 'alt', fileId)(),
      same: true,
    },
  ];
  test.each(kept)(
    '$what is stored as sent, a name trimmed and composed, a content cleaned [S268]',
    async ({ send, read, as = (text) => text, same, most = 300 }) => {
      let taken = 0;
      const wrong: string[] = [];
      const keep = async (text: string) => {
        const answer = await send(text);
        if (answer.status >= 500) wrong.push(`${answer.status} for ${JSON.stringify(text)}`);
        if (answer.status >= 400) return;
        taken += 1;
        const stored = await read(answer);
        if (stored !== as(text))
          wrong.push(`${JSON.stringify(text).slice(0, 80)} is kept as ${JSON.stringify(stored)?.slice(0, 80)}`);
      };
      if (same) for (const text of NAUGHTY) await keep(text);
      else await inParts(NAUGHTY.map((text) => () => keep(text)));
      expect(wrong).toEqual([]);
      expect(taken).toBeGreaterThanOrEqual(most);
    },
    240_000,
  );
});

test('each line of the log is one JSON object, whatever text it holds', () => {
  expect(log.length).toBeGreaterThan(1_000);
  const isWhole = (line: string) => {
    if (line.indexOf('\n') !== line.length - 1) return false;
    try {
      return typeof JSON.parse(line) === 'object';
    } catch {
      return false;
    }
  };
  expect(log.filter((line) => !isWhole(line))).toEqual([]);
});
test('hostile texts leave nothing on the prototypes', () => {
  for (const { prototype } of [Object, Array, Function, String]) expect(Object.keys(prototype as object)).toEqual([]);
  expect(({} as Record<string, unknown>)['x']).toBeUndefined();
});
