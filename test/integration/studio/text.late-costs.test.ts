import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type ChatServer, startChatServer } from '../../support/peers/chat-server.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';

// Calls of hubs that are settled before the hub has said what they cost, and corrected once it does.

const stack = new AsyncDisposableStack();
let db: TestDatabase;
let chat: ChatServer;
let app: TestApp;
let ann: SignedUp;
beforeAll(async () => {
  db = stack.use(await testDatabase());
  chat = stack.use(await startChatServer());
  app = stack.use(
    await testApp({
      sql: db.sql,
      servers: { 'ai/gateway': chat.url, 'ai/openrouter': chat.url },
      env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32' },
    }),
  );
  ann = await app.signUp();
});
afterAll(() => stack.disposeAsync());
beforeEach(async () => {
  chat.charged.length = 0;
  chat.costs.clear();
  chat.costsAsked.length = 0;
  chat.before = () => undefined;
  await db.sql`delete from provider_settings`;
  await db.sql`delete from ai_late_costs`;
  await db.sql.begin(async (tx) => {
    await tx`select set_config('rookery.ai_ledger', 'change', true)`;
    await tx`delete from ai_ledger`;
  });
});

const setUp = async (providerId: string) => {
  const setting = { domain: 'ai', providerId, credentials: { apiKey: `key-of-${providerId}` } };
  expect((await ann.client.post('/providers/settings', setting)).status).toBe(201);
};
const booked = async () => {
  const rows = await db.sql<{ kind: string; micros: number; source: string; marked: boolean }[]>`
    select kind, micros::float8, source, marked
    from ai_ledger
    where org_id = ${ann.orgId} and kind in ('settlement', 'correction')
    order by kind desc`;
  return [...rows];
};
const isDue = () => db.sql`update ai_late_costs set ask_at = now()`;
const sweep = () => app.context.sweeps.find(({ name }) => name === 'ai-late-costs')!.run(500);
const write = () => ann.client.post('/ai/text', { action: 'rewrite', content: 'Text' });

describe('a call whose cost comes late', () => {
  test('is settled by the table and marked, and corrected by what the gateway says once', async () => {
    await setUp('gateway');
    expect(await write()).toMatchObject({ status: 200 });
    const [{ tokens }] = chat.charged as [ChatServer['charged'][number]];
    const micros = Math.ceil(10 * 0.75 + tokens * 4.5);
    expect(await booked()).toEqual([{ kind: 'settlement', micros, source: 'price_table', marked: true }]);
    expect(await sweep()).toBe(0); // not yet
    chat.costs.set('chatcmpl-1', 0.002);
    await isDue();
    expect(await sweep()).toBe(1);
    expect(await booked()).toEqual([
      { kind: 'settlement', micros, source: 'price_table', marked: true },
      { kind: 'correction', micros: 2_000 - micros, source: 'price_api', marked: false },
    ]);
    expect(await db.sql`select from ai_late_costs`).toHaveLength(0);
    expect(chat.costsAsked.map(({ authorization }) => authorization)).toEqual([
      'Bearer key-of-gateway',
      'Bearer key-of-gateway',
    ]);
    const spent = await db.sql`
      select spent::float8 from ai_spend where org_id = ${ann.orgId} and domain = 'ai' and provider_id = 'gateway'`;
    expect(spent.map((row) => row['spent'])).toEqual([2_000, 2_000]);
  });

  test('stays as it was settled where nobody knows it, and where its setting is gone: it is asked about once', async () => {
    await setUp('gateway');
    await write();
    await isDue();
    expect(await sweep()).toBe(1);
    await write();
    await isDue();
    await db.sql`delete from provider_settings`;
    expect(await sweep()).toBe(1);
    expect(await booked()).toMatchObject([
      { kind: 'settlement', marked: true },
      { kind: 'settlement', marked: true },
    ]);
    expect([chat.costsAsked.length, await sweep()]).toEqual([3, 0]);
  });

  test('of several questions is the sum of what each cost, and unknown while one of them is', async () => {
    await setUp('gateway');
    const { budget } = app.context;
    const [setting] = await db.sql<{ id: string }[]>`select id from provider_settings`;
    const call = async (...callIds: string[]) => {
      const key = { orgId: ann.orgId, ref: newId() };
      const wanted = { ...key, userId: null, domain: 'ai', providerId: 'gateway', micros: 900 } as const;
      await db.sql.begin((tx) => budget.reserve(tx, wanted));
      const cost = { micros: 500, source: 'price_table' } as const;
      await db.sql.begin((tx) => budget.settle(tx, key, cost, { later: { settingId: setting!.id, callIds } }));
    };
    chat.costs.set('one', 0.0002).set('two', 0.0004);
    await call('one', 'two', 'two');
    await call('one', 'three');
    await isDue();
    expect(await sweep()).toBe(2);
    expect((await booked()).filter(({ kind }) => kind === 'correction')).toEqual([
      { kind: 'correction', micros: 100, source: 'price_api', marked: false },
    ]);
  });

  test('is not asked about where the answer tells it', async () => {
    await setUp('gateway');
    chat.costs.set('chatcmpl-1', 0.003);
    await write();
    expect(await booked()).toEqual([{ kind: 'settlement', micros: 3_000, source: 'price_api', marked: false }]);
    expect(await db.sql`select from ai_late_costs`).toHaveLength(0);
  });

  test('of a stream that its reader left is corrected by what OpenRouter says', async () => {
    await setUp('openrouter');
    const { passed, open } = gate();
    chat.before = (_, piece) => piece > 0 && passed;
    const gone = new AbortController();
    const { client } = ann;
    const response = await fetch(`${client.address}/ai/text`, {
      method: 'POST',
      signal: gone.signal,
      body: JSON.stringify({ action: 'rewrite', content: 'Text' }),
      headers: {
        cookie: [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        'x-csrf-token': client.csrf!,
        'content-type': 'application/json',
        accept: 'text/event-stream',
      },
    });
    await response.body!.getReader().read();
    gone.abort();
    await chat.charged[0]!.left;
    open();
    await eventually('the call is settled', async () => (await booked()).length > 0);
    const [settlement] = await booked();
    expect(settlement).toMatchObject({ source: 'estimate', marked: true });
    chat.costs.set('chatcmpl-1', 0.0001);
    await isDue();
    expect(await sweep()).toBe(1);
    expect((await booked())[1]).toEqual({
      kind: 'correction',
      micros: 100 - settlement!.micros,
      source: 'price_api',
      marked: false,
    });
    expect(chat.costsAsked).toHaveLength(1);
  });
});
