import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { Readable } from 'node:stream';
import { openRookery } from '../../../clients/typescript/src/index.ts';
import { runCli } from '../../../clients/cli/src/run.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// What the clients make of a plan and of too many requests.

const PER_HOUR = 20;
let product: Product;
let key: string;
beforeAll(async () => {
  product = await wholeProduct({ env: { ...WITH_BILLING, RATE_LIMIT_SCALE: '1', API_LIMIT: `${PER_HOUR}` } });
  await product.signUp();
  const ann = await product.signUp();
  await subscribe(product.db.sql, ann.orgId, { tier: 'PRO' });
  await override(product.db.sql, ann.orgId, { webhooks: 1 });
  ({ key } = await ann.withKey());
});
afterAll(async () => product[Symbol.asyncDispose]());

async function rookery(...words: string[]) {
  const ran = { out: '', err: '' };
  const status = await runCli(words, {
    env: { ROOKERY_URL: product.address, ROOKERY_API_KEY: key },
    configFolder: '/nowhere',
    stdin: Readable.from([]),
    out: (text) => void (ran.out += text),
    err: (text) => void (ran.err += text),
    signal: new AbortController().signal,
  });
  return { status, ...ran };
}

describe('the command line', () => {
  test('ends with 5 at a limit of the plan, and says where it can be changed [S5]', async () => {
    const create = () => rookery('webhooks', 'create', 'one', 'https://hooks.example/x');
    expect(await create()).toMatchObject({ status: 0 });
    expect(await create()).toMatchObject({
      status: 5,
      err: expect.stringMatching(
        /^rookery: Plan limit reached: webhooks \(1\)\n.*The plan can be changed at http.*\/billing/s,
      ),
    });
  });
  test('ends with 6 when there were too many requests, and says when to come again', async () => {
    let last = await rookery('channels');
    for (let n = 0; n < PER_HOUR && last.status === 0; n += 1) last = await rookery('channels');
    expect(last).toMatchObject({ status: 6, out: '', err: expect.stringMatching(/Try again in \d+ s/) });
  });
});

test('the client waits as long as it may, and then tells how long it would be', async () => {
  const waits: number[] = [];
  const ahead = { now: () => 0, sleep: async (ms: number) => void waits.push(ms) };
  const client = openRookery({ url: product.address, credential: key, clock: ahead, maxWaitMs: 3_600_000 });
  for (let n = 0; n < PER_HOUR; n += 1) await client.me();
  // by its own clock it waited an hour; by that of the service nothing has passed
  await expect(client.me()).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) });
  expect(waits).toEqual([expect.any(Number)]);
});
