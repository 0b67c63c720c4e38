import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { inputSchema, mutants } from '../test/support/worlds/example.ts';
import { type FieldError, judge } from '../src/platform/kernel/index.ts';
import type { AnyRoute } from './http/route.ts';
import { routes } from './resources/routes.gen.ts';

// The declarations are judged without a server: whoever adds a route is told in seconds.
// `test/integration/api/declarations.test.ts` asks the same routes over the wire.

const nameOf = ({ method, path }: AnyRoute) => `${method.toUpperCase()} ${path}`;
const takes = (route: AnyRoute, ...kinds: AnyRoute['auth'][number][]) =>
  kinds.some((kind) => route.auth.includes(kind));
const withJson = routes.filter(({ input }) => input !== 'stream');

test('the exemptions from CSRF are those of the interface and no others', () => {
  expect(routes.filter(({ csrf }) => csrf !== undefined).map((route) => [nameOf(route), route.csrf])).toEqual([
    ['POST /auth/refresh', 'refresh-cookie'],
    ['GET /integrations/social/:provider', 'origin'],
    ['POST /integrations/social-connect/:provider', 'params'],
  ]);
});

test('every route that writes for an org asks for a permission', () => {
  // own rows need none (S51), MCP asks for that of each tool (S200), co-editing for that of the room's kind (S206)
  const own = /^\/(auth|user|orgs|oauth|device|notifications(?!\/broadcast)|mcp|media-mcp|message|collaboration)(\/|$)/;
  const mutating = routes.filter(({ method }) => method !== 'get');
  expect(
    mutating
      .filter((route) => !route.permission && !takes(route, 'none', 'super-admin') && !own.test(route.path))
      .map(nameOf),
  ).toEqual([]);
});

test('routes opened by keys and tokens are below /public/v1 and /collaboration or serve MCP, and only declared exceptions are there [VE13]', () => {
  const forClients = routes.filter((route) => takes(route, 'api-key', 'oauth') && !route.surface);
  expect(routes.filter(({ surface }) => surface).map(({ path }) => path.split('/')[1])).toEqual(
    expect.arrayContaining(['mcp', 'media-mcp', 'sse', 'message']),
  );
  expect(forClients.length).toBeGreaterThan(10);
  expect(forClients.map(({ path }) => path).filter((path) => !/^\/(public\/v1|collaboration)\//.test(path))).toEqual(
    [],
  );
  expect(
    routes.filter((route) => route.path.startsWith('/public/') && !forClients.includes(route)).map(({ path }) => path),
  ).toEqual(['/public/v1/channels/:id/calendar.ics', '/public/v1/openapi.json']); // the feed has a token of its own
});

describe('OpenAPI summaries', () => {
  const VERBS =
    /^(Abort|Accept|Activate|Add|Apply|Approve|Cancel|Change|Check|Choose|Complete|Confirm|Connect|Count|Create|Delete|Deny|Disable|Download|Edit|Enable|End|Exchange|Feature|Find|Get|Import|Invite|Keep|Leave|List|Log|Merge|Move|Order|Override|Pause|Preview|Queue|Receive|Redeem|Redeliver|Redirect|Refresh|Refund|Register|Reject|Remove|Reorder|Replay|Request|Reschedule|Reset|Restore|Resume|Retry|Revoke|Rotate|Search|Send|Set|Split|Start|Stop|Switch|Test|Transfer|Upload|Withdraw) /;
  const faultsOf = (summary: string): string[] => {
    const [, text, rfc] = /^(.*?)( \(RFC \d+\))?$/.exec(summary)!;
    const words = text!.split(' ').length;
    return [
      ...(VERBS.test(`${text} `) ? [] : ['begins with no known imperative']),
      ...(words >= 2 && words <= 10 ? [] : [`has ${words} words`]),
      ...(/[.;:!?`()]|,$/.test(text!) ? ['has a full stop or what belongs into the description'] : []),
      ...(rfc === undefined && /RFC/.test(text!) ? ['names an RFC outside of brackets at its end'] : []),
    ];
  };

  test('summaries are imperatives of 2 to 10 words, without a full stop, an RFC in brackets', () => {
    expect(
      routes.flatMap((route) => faultsOf(route.summary).map((fault) => `${nameOf(route)}: ${route.summary}: ${fault}`)),
    ).toEqual([]);
  });

  test('details stand in descriptions, which are sentences', () => {
    const details = routes.filter(({ description }) => description !== undefined);
    expect(details.length).toBeGreaterThan(100);
    expect(details.filter(({ description }) => !/^[A-Z0-9`].*\.$/.test(description!)).map(nameOf)).toEqual([]);
  });

  test('the check finds each kind of fault', () => {
    for (const bad of [
      'The posts',
      'List',
      'Get a post.',
      'Get a post; it may be gone',
      'Start a login by RFC 8628',
      'Get one two three four five six seven eight nine ten',
    ])
      expect(faultsOf(bad)).not.toEqual([]);
  });
});

describe('request bodies', () => {
  test('three routes set rights, one sets the super-admin flag, and no other sets either [X24]', () => {
    const declares = ({ body }: AnyRoute, field: string): boolean =>
      body !== undefined && Object.hasOwn(inputSchema(body)['properties'] ?? {}, field);
    const declaring = (field: string) =>
      withJson
        .filter((route) => declares(route, field))
        .map(nameOf)
        .toSorted();
    expect(
      ['isSuperAdmin', 'role', 'organizationId', 'revokedAt', 'limitOverrides', 'isLifetime'].map((field) => [
        field,
        declaring(field),
      ]),
    ).toEqual([
      ['isSuperAdmin', ['PATCH /admin/users/:id']],
      ['role', ['POST /members/invitations', 'POST /settings/team', 'PUT /members/:id']],
      ['organizationId', []],
      ['revokedAt', []],
      ['limitOverrides', []],
      ['isLifetime', []],
    ]);
  });

  test('open bodies are those of the declared list [S7]', () => {
    const isOpen = ({ body }: AnyRoute) =>
      body !== undefined &&
      inputSchema(body)['type'] === 'object' &&
      inputSchema(body)['additionalProperties'] !== false;
    const ofInterface =
      /^\/(oauth|device|payments|webhooks\/email|public\/v1\/video\/function|integrations\/provider\/:id\/connect)(\/|$)/;
    expect(
      routes
        .filter(isOpen)
        .map(({ path }) => path)
        .filter((path) => !ofInterface.test(path)),
    ).toEqual([]);
  });
});

describe('texts of refused input', () => {
  /**
   * Texts of zod, and those of ours that say no more than that something is wrong: a `refine` or a `regex` has a
   * sentence of its own.
   */
  const POOR =
    /\b(invalid|expected|received|too (big|small)|unrecognized|undefined|NaN)\b|[<>]=|is not valid$|does not have the form|of another type/i;
  const faultsOf = ({ field, message }: FieldError): string[] => {
    if (/^property .+ should not exist$/.test(message)) return [];
    const prefix = `${field || 'body'}: `;
    if (!message.startsWith(prefix)) return ['does not begin with its field'];
    const sentence = message.slice(prefix.length);
    const own = field.split('.').at(-1)!;
    return [
      ...(POOR.test(sentence) ? ['says too little, or in the words of a library'] : []),
      ...(own !== '' && sentence.startsWith(`${own} `) ? ['names its field twice'] : []),
      ...(message.length > 300 + prefix.length ? ['is too long'] : []),
    ];
  };
  const inputs = withJson.flatMap((route) => [
    ...(route.body ? [{ name: `${nameOf(route)} body`, schema: route.body }] : []),
    ...(route.query ? [{ name: `${nameOf(route)} query`, schema: route.query }] : []),
  ]);
  const met = new Set<string>();

  test.each(inputs.map(({ name, schema }) => [name, schema] as const))(
    '%s is named once, with the expected value in plain words [S6]',
    (_, schema) => {
      const wrong = [...mutants(inputSchema(schema))];
      const errors = wrong.flatMap((input) => judge(schema, input).errors ?? []);
      for (const { rule } of errors) met.add(rule);
      expect(errors.flatMap((error) => faultsOf(error).map((fault) => ({ ...error, fault })))).toEqual([]);
    },
  );

  test('the inputs break every kind of rule', () => {
    expect([...met]).toEqual(
      expect.arrayContaining([
        'required',
        'unknown',
        'invalid_type',
        'invalid_value',
        'invalid_format',
        'too_big',
        'too_small',
        'custom',
        'invalid_union',
      ]),
    );
  });
});

test('a route that is to be removed says so at least 180 days before its end [S22]', () => {
  const DAY = 86_400_000;
  const told = (since: string, sunset: string) => (Date.parse(sunset) - Date.parse(since)) / DAY;
  const deprecated = routes.flatMap((route) =>
    route.deprecated ? [{ name: nameOf(route), ...route.deprecated }] : [],
  );
  const written = /^\d{4}-\d\d-\d\d$/;
  expect(
    deprecated.filter(
      ({ since, sunset }) => !written.test(since) || !written.test(sunset) || !(told(since, sunset) >= 180),
    ),
  ).toEqual([]);
  expect([told('2026-01-01', '2026-06-29'), told('2026-01-01', '2026-06-30')]).toEqual([179, 180]);
});

test('a list by a cursor answers items with the next one, 1 to 100 at a time and 50 unless asked [S19]', () => {
  /** Lists of the field, which got a cursor later: the whole range unless asked. */
  const GROWN = ['GET /posts', 'GET /public/v1/posts'];
  const lists = routes.filter(({ query }) => query && 'cursor' in (inputSchema(query)['properties'] ?? {}));
  expect(lists.length).toBeGreaterThan(6);
  const forms = lists
    .filter((route) => !GROWN.includes(nameOf(route)))
    .map((route) => {
      const answer = z.toJSONSchema(route.answer, { io: 'output', unrepresentable: 'any' });
      const { minimum, maximum, default: usual } = inputSchema(route.query)['properties'].limit;
      return [nameOf(route), Object.keys(answer.properties ?? {}).toSorted(), [minimum, maximum, usual]];
    });
  expect(forms).toEqual(forms.map(([name]) => [name, ['items', 'nextCursor'], [1, 100, 50]]));
});
