import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { SignedUp } from '../support/app.ts';
import { type Product, wholeProduct } from '../support/product.ts';

/** CPU that one request may cost, whatever it says. */
const CPU_MS = 250;

let product: Product;
let ann: SignedUp;
beforeAll(async () => {
  product = await wholeProduct({ level: 'error' });
  ann = await product.signUp();
}, 60_000);
afterAll(() => product[Symbol.asyncDispose]());

/** The answer, and the least CPU of three tries: what else runs in the process only adds to it. */
async function costOf<T>(ask: () => Promise<T>): Promise<{ answer: T; cpuMs: number }> {
  let answer = await ask();
  let cpuMs = Number.POSITIVE_INFINITY;
  for (let n = 0; n < 3 && cpuMs > CPU_MS; n += 1) {
    const before = process.cpuUsage();
    answer = await ask();
    const { user, system } = process.cpuUsage(before);
    cpuMs = Math.min(cpuMs, (user + system) / 1_000);
  }
  return { answer, cpuMs };
}

test.each([
  ['that do not end', `${'ws://a'.repeat(24)},x`, 'Relays: must be wss:// addresses'],
  ['that are too long', 'ws://a,'.repeat(100_000), 'Relays: has more than 4096 characters'],
  ['that are too many', Array.from({ length: 11 }, (_, n) => `wss://relay${n}.example`).join(), 'Relays: must be 10 addresses at most'],
])('a login with relays %s is refused at the cost of a usual request [S9]', async (_, relays, message) => {
  const { answer, cpuMs } = await costOf(() => ann.client.post('/integrations/social-connect/nostr', { fields: { password: 'a'.repeat(64), relays } }));
  expect(answer).toMatchObject({ status: 400, body: { message: expect.stringContaining(message), errors: [{ field: 'fields.relays' }] } });
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
    expect(fitting.answer).toMatchObject({ status: 400, body: { error: 'invalid_request', error_description: 'at most 100 parameters are taken' } });
    expect(fitting.cpuMs).toBeLessThan(CPU_MS);
  },
);

test('a query of very many names is refused', async () => {
  expect(await ann.client.get(`/posts?${names(101)}`)).toMatchObject({ status: 400, body: { message: 'at most 100 parameters are taken' } });
  expect((await ann.client.get(`/integrations/list?${names(100)}`)).status).toBe(200);
  const { answer, cpuMs } = await costOf(() => ann.client.get(`/oauth/authorize?${names(3_000)}`));
  expect(answer).toMatchObject({ status: 400, body: { error: 'invalid_request' } });
  expect(cpuMs).toBeLessThan(CPU_MS);
});

/** Bytes that a refusal may have, whatever was refused. */
const REFUSAL_BYTES = 64_000;

test.each([
  ['of one long key', `{"${'a'.repeat(40_000)}":[${Array(100).fill('"\\u0000"').join()}]}`],
  ['of many long keys', `{${Array.from({ length: 110 }, (_, n) => `"${String(n).padEnd(260, 'ä')}":0`).join()}}`],
  ['of keys that make long ways', `${`{"${'\u{1f426}'.repeat(120)}":`.repeat(60)}[${Array(500).fill('"\\u0000"').join()}]${'}'.repeat(60)}`],
  ['of unknown keys', `{${Array.from({ length: 200 }, (_, n) => `"${String(n).padEnd(250, '\\u0001')}":0`).join()}}`],
])('a body %s is refused in few words', async (_, body) => {
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
  expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed', message: 'body: has more than 20000 values' } });
  expect(cpuMs).toBeLessThan(CPU_MS);
});

test('signs within texts are no values', async () => {
  const messages = ['[{,"\\'.repeat(15_000)];
  expect(await ann.client.post('/posts/should-shortlink', { messages })).toMatchObject({ status: 200 });
});
