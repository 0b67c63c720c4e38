import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { AnyRoute } from '../../../api/http/route.ts';
import { routes } from '../../../api/resources/routes.gen.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type Answer, Client, type SignedUp, signUp } from '../../support/worlds/app.ts';
import { example, inputSchema } from '../../support/worlds/example.ts';
import { greatest, listsOf } from '../../support/worlds/greatest.ts';

// Generated from the declarations: each route gets the greatest input that it takes, in the worst shapes. The service
// runs in a process of its own, so that its CPU is counted and not that of whoever asks.

/** CPU that one request may cost, whatever it says. */
const CPU_MS = 250;
/** Bytes that a refusal may have, whatever was refused. */
const REFUSAL_BYTES = 64_000;
/** What the heap may have grown by in the end: caches of the service, not what was sent. */
const HEAP_BYTES = 64 * 1_024 ** 2;

let service: ChildProcess;
let told: AsyncIterator<string[]>;
let ann: SignedUp;
let key: Client;
let channelId: string;
const next = async () => (await told.next()).value![0]!;
/** CPU in milliseconds that the service has used so far, or the bytes of its heap. */
const ask = async (what: 'cpu' | 'heap') => {
  service.stdin!.write(`${what}\n`);
  return Number(await next());
};
let heapBefore: number;
const costs: { what: string; cpuMs: number; status: number }[] = [];

beforeAll(async () => {
  const file = fileURLToPath(new URL('../../support/processes/scripts/cost-process.ts', import.meta.url));
  service = spawn(process.execPath, ['--expose-gc', file], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  told = on(createInterface({ input: service.stdout! }), 'line') as AsyncIterator<string[]>;
  ann = await signUp(await next(), {});
  key = await ann.withKey();
  const channel = await ann.client.post('/integrations/social-connect/sandbox', {
    fields: { name: 'Cost' },
    allowPreview: true,
  });
  channelId = channel.body.id;
  expect(channelId).toEqual(expect.any(String));
  heapBefore = await ask('heap');
}, 120_000);
afterAll(async () => {
  const [dearest] = costs.toSorted((a, b) => b.cpuMs - a.cpuMs);
  process.stdout.write(
    `${costs.length} requests, at most ${Math.round(dearest?.cpuMs ?? 0)} ms of CPU (${dearest?.what})\n`,
  );
  service.stdin!.end();
  await once(service, 'exit');
});

/** The answer, and the least CPU of some tries: what else runs in the process only adds to it. */
async function costOf(request: () => Promise<Answer>): Promise<{ answer: Answer; cpuMs: number }> {
  let answer: Answer;
  let cpuMs = Number.POSITIVE_INFINITY;
  let tries = 0;
  do {
    const before = await ask('cpu');
    answer = await request();
    cpuMs = Math.min(cpuMs, (await ask('cpu')) - before);
  } while (cpuMs > CPU_MS && (tries += 1) < 4);
  return { answer, cpuMs };
}

/**
 * What is wrong with the cost of a request; nothing when it is as small as it should be. `isJudged`: it has to reach
 * what judges its fields.
 */
async function excessOf(what: string, request: () => Promise<Answer>, isJudged = false): Promise<string[]> {
  const { answer, cpuMs } = await costOf(request);
  costs.push({ what, cpuMs, status: answer.status });
  const bytes = Buffer.byteLength(answer.text);
  return [
    ...(cpuMs > CPU_MS ? [`${what}: ${Math.round(cpuMs)} ms of CPU (${answer.status})`] : []),
    ...(answer.status >= 400 && bytes > REFUSAL_BYTES ? [`${what}: refused in ${bytes} bytes`] : []),
    ...(isJudged && [401, 403, 413, 429].includes(answer.status)
      ? [`${what}: ${answer.status}, so that its fields were not judged`]
      : []),
    ...(answer.status === 500 ? [`${what}: 500 ${answer.text}`] : []),
  ];
}

test.each([
  ['that do not end', `${'ws://a'.repeat(24)},x`, 'Relays: must be wss:// addresses'],
  ['that are too long', 'ws://a,'.repeat(100_000), 'Relays: has more than 4096 characters'],
  [
    'that are too many',
    Array.from({ length: 11 }, (_, n) => `wss://relay${n}.example`).join(),
    'Relays: must be 10 addresses at most',
  ],
])('a login with relays %s is refused at the cost of a usual request [S9]', async (_, relays, message) => {
  const { answer, cpuMs } = await costOf(() =>
    ann.client.post('/integrations/social-connect/nostr', { fields: { password: 'a'.repeat(64), relays } }),
  );
  expect(answer).toMatchObject({
    status: 400,
    body: { message: expect.stringContaining(message), errors: [{ field: 'fields.relays' }] },
  });
  expect(cpuMs).toBeLessThan(CPU_MS);
});

const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const names = (count: number) => Array.from({ length: count }, (_, n) => n.toString(36)).join('&');

test.each(['/device/code', '/device/token', '/oauth/token', '/oauth/revoke'])(
  '%s refuses a form of very many names at the cost of a usual request',
  async (path) => {
    const most = path.startsWith('/device') ? 30_000 : 16_000; // of 16,000 all fit into 64 kB
    const { answer, cpuMs } = await costOf(() => ann.client.post(path, names(most), FORM));
    expect(answer).toMatchObject({ status: 413, body: { error: 'invalid_request' } });
    expect(cpuMs).toBeLessThan(CPU_MS);
    const fitting = await costOf(() => ann.client.post(path, names(4_000), FORM));
    expect(fitting.answer).toMatchObject({
      status: 400,
      body: { error: 'invalid_request', error_description: 'at most 100 parameters are taken' },
    });
    expect(fitting.cpuMs).toBeLessThan(CPU_MS);
  },
);

test('a query of very many names is refused', async () => {
  expect(await ann.client.get(`/posts?${names(101)}`)).toMatchObject({
    status: 400,
    body: { message: 'at most 100 parameters are taken' },
  });
  expect((await ann.client.get(`/integrations/list?${names(100)}`)).status).toBe(200);
  const { answer, cpuMs } = await costOf(() => ann.client.get(`/oauth/authorize?${names(3_000)}`));
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(cpuMs).toBeLessThan(CPU_MS);
});

test.each([
  ['of one long key', `{"${'a'.repeat(40_000)}":[${Array(100).fill('"\\u0000"').join()}]}`],
  ['of many long keys', `{${Array.from({ length: 110 }, (_, n) => `"${String(n).padEnd(260, 'ä')}":0`).join()}}`],
  [
    'of keys that make long ways',
    `${`{"${'\u{1f426}'.repeat(120)}":`.repeat(60)}[${Array(500).fill('"\\u0000"').join()}]${'}'.repeat(60)}`,
  ],
  ['of unknown keys', `{${Array.from({ length: 200 }, (_, n) => `"${String(n).padEnd(250, '\\u0001')}":0`).join()}}`],
])('a body %s is refused with a short message', async (_, body) => {
  for (const path of ['/auth/login', '/oauth/register']) {
    const { answer, cpuMs } = await costOf(() => ann.client.post(path, body));
    expect(answer.status).toBe(400);
    expect(Buffer.byteLength(answer.text)).toBeLessThanOrEqual(REFUSAL_BYTES);
    expect(cpuMs).toBeLessThan(CPU_MS);
  }
});

/** Bodies of 2 MB, as wide as they can be. */
const WIDE: readonly [string, string][] = [
  ['an array of numbers', `{"posts":[${Array(990_000).fill('1').join()}]}`],
  ['an array of objects', `{"posts":[${Array(660_000).fill('{}').join()}]}`],
  ['distinct keys', `{${Array.from({ length: 220_000 }, (_, n) => `"${n.toString(36)}":0`).join()}}`],
  ['repeated keys', `{${Array(330_000).fill('"a":0').join()}}`],
  ['open brackets', '['.repeat(2_000_000)],
];

test.each(WIDE)('a body of very many values, %s, is refused before it is read', async (_, body) => {
  const { answer, cpuMs } = await costOf(() => ann.client.post('/posts', body));
  expect(answer).toMatchObject({
    status: 400,
    body: { code: 'validation_failed', message: 'body: has more than 20000 values' },
  });
  expect(cpuMs).toBeLessThan(CPU_MS);
});

test('brackets and commas inside strings do not count as values', async () => {
  const messages = ['[{,"\\'.repeat(15_000)];
  expect(await ann.client.post('/posts/should-shortlink', { messages })).toMatchObject({ status: 200 });
});

const BODY_BYTES = 1_900_000;
const VALUES = 19_000;
const QUERY_CHARACTERS = 14_000; // of the 16 kB that Node takes as the head of a request
/** Would end the session that asks. */
const ENDS = /\/(logout|revoke-all|leave-org|deactivate)$/;
const judged = routes.filter(
  ({ path, method }) => !ENDS.test(path) && !(method === 'delete' && !path.includes(':')) && path !== '/user/password',
);
const named = (list: readonly AnyRoute[]): [string, AnyRoute][] =>
  list.map((route) => [`${route.method.toUpperCase()} ${route.path}`, route]);
const isOpen = ({ auth }: AnyRoute): boolean => auth.includes('none');
const asker = (route: AnyRoute): Client => {
  // what logs in and out keeps no session from the next request
  if (isOpen(route)) return new Client(ann.client.address);
  return route.auth.some((kind) => kind === 'session' || kind === 'super-admin') ? ann.client : key;
};
const pathOf = ({ path }: AnyRoute) =>
  path.replace(/:(\w+)/g, (_, name: string) => (name === 'id' || name.endsWith('Id') ? newId() : 'sandbox'));
const send = (
  route: AnyRoute,
  { path = pathOf(route), body, headers = {} }: { path?: string; body?: string; headers?: Record<string, string> },
) => asker(route).send(route.method.toUpperCase(), path, body, headers);
/**
 * Texts that are dear to read: a plain one, one of marks over one letter, one of markup, one of addresses, people and
 * tags.
 */
const PIECES = ['a', '\u0301', '<a </p>&lt;', 'https://a.b/ @a.b #1 '];

/** The channel in the place of whatever names one, so that a body is looked at whole. */
function withChannel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withChannel);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, name === 'integration' ? { id: channelId } : withChannel(one)]),
  );
}
function putAt(value: unknown, [name, ...way]: readonly string[], list: unknown): unknown {
  return name === undefined
    ? list
    : { ...(value as object), [name]: putAt((value as Record<string, unknown> | null)?.[name], way, list) };
}

describe('the largest bodies', () => {
  test.each(named(judged.filter(({ body }) => body !== undefined)))(
    '%s is read at the cost of a usual request, and refused with a short message',
    async (_, route) => {
      const schema = inputSchema(route.body as never);
      const most = (route.bodyLimit ?? 2_000_000) * (BODY_BYTES / 2_000_000);
      const fitting = PIECES.flatMap((piece) =>
        [true, false].map((wide): [string, unknown] => {
          const size = Buffer.byteLength(JSON.stringify(piece)) / piece.length;
          return [
            `${wide ? 'wide' : 'long'} of ${JSON.stringify(piece)}`,
            withChannel(greatest(schema, { piece, wide }, most / size / 1.1, VALUES)),
          ];
        }),
      );
      const wrong = listsOf(schema).map((way): [string, unknown] => [
        `numbers at ${way.join('.')}`,
        putAt(example(schema), way, Array(Math.min(VALUES, Math.floor(most / 4))).fill(7)),
      ]);
      const keys = Array.from({ length: Math.min(7_000, Math.floor(most / 260)) }, (__, n) => [
        String(n).padEnd(250, 'k'),
        0,
      ]);
      const bodies = [...fitting, ...wrong, ['unknown keys', Object.fromEntries(keys)] as [string, unknown]];
      const excess: string[] = [];
      for (const [what, body] of bodies)
        excess.push(
          ...(await excessOf(
            `${route.path} ${what}`,
            () => send(route, { body: JSON.stringify(body) }),
            !isOpen(route),
          )),
        );
      if (route.input === 'json-or-form') {
        const form = { 'content-type': 'application/x-www-form-urlencoded' };
        const fields = Object.keys(schema['properties'] ?? {}).map((name) => `${name}=${'%F0%9F'.repeat(500)}`);
        for (const body of [fields.join('&').slice(0, 15_900), names(4_000), 'a=1&'.repeat(3_900)])
          excess.push(...(await excessOf(`${route.path} form`, () => send(route, { body, headers: form }))));
      }
      expect(excess).toEqual([]);
    },
    240_000,
  );
});

describe('the largest heads', () => {
  test.each(named(judged))(
    '%s is read at the cost of a usual request, and refused with a short message',
    async (_, route) => {
      const fields = Object.keys(route.query ? (inputSchema(route.query)['properties'] ?? {}) : {});
      const body = route.method === 'get' || route.input === 'stream' ? undefined : '[]'; // so that nothing is done
      const value = (piece: string) =>
        encodeURIComponent(piece).repeat(
          Math.floor(QUERY_CHARACTERS / Math.max(1, fields.length) / encodeURIComponent(piece).length),
        );
      const searches = [
        ...PIECES.map((piece) => fields.map((name) => `${name}=${value(piece)}`).join('&')),
        names(3_000),
        'a=1&'.repeat(3_000),
        fields.length === 0 ? '' : `${fields[0]}=1&`.repeat(99),
      ].filter((search) => search !== '');
      const headers: Record<string, string>[] = [
        { cookie: Array.from({ length: 1_500 }, (__, n) => `${n.toString(36)}=1`).join('; ') },
        Object.fromEntries(Array.from({ length: 900 }, (__, n) => [`x-${n}`, 'a'])),
        { 'idempotency-key': 'k'.repeat(10_000), 'x-request-id': '-'.repeat(4_000) },
        { accept: `${route.isStream ? 'application/json,' : ''}${'text/html;q=0.1,'.repeat(800)}` }, // else it has no end
        { 'if-none-match': 'W/"a", '.repeat(1_500), 'x-forwarded-for': '::1, '.repeat(500) },
      ];
      const excess: string[] = [];
      for (const search of searches)
        excess.push(
          ...(await excessOf(`${route.path} ${search.slice(0, 40)}`, () =>
            send(route, { path: `${pathOf(route)}?${search}`, ...(body && { body }) }),
          )),
        );
      for (const one of headers)
        excess.push(
          ...(await excessOf(`${route.path} ${Object.keys(one)[0]}`, () =>
            send(route, { headers: one, ...(body && { body }) }),
          )),
        );
      expect(excess).toEqual([]);
    },
    120_000,
  );
});

test('the memory is released afterwards', async () => {
  expect((await ask('heap')) - heapBefore).toBeLessThan(HEAP_BYTES);
});
