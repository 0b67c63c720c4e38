import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { type PagedNetwork, startPagedNetwork } from '../../../support/worlds/publishing/paged-network.ts';
import { clockWhere } from '../../../support/worlds/publishing/world.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let network: PagedNetwork;
let app: TestApp;
let ann: SignedUp;
let eve: SignedUp;
let key: Client;
let id: string;
/** Answers are waited for so long; undefined: as long as the product waits. */
let patienceMs: number | undefined;

beforeAll(async () => {
  db = await testDatabase();
  network = await startPagedNetwork();
  const clock = clockWhere((ms) => (ms === 20_000 ? (patienceMs ?? ms) : ms));
  app = await testApp({ sql: db.sql, clock, adapters: [network.adapter] });
  [ann, eve] = [await app.signUp(), await app.signUp()];
  key = await ann.withKey();
  const credentials = { clientId: 'app', clientSecret: 'app-secret' };
  await ann.client.post('/providers/settings', { domain: 'social', providerId: 'paged', credentials });
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await network?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  const begun = await ann.client.get('/integrations/social/paged');
  const state = new URL(begun.body.url).searchParams.get('state')!;
  id = (await ann.client.post('/integrations/social-connect/paged', { code: 'code', state })).body.id;
  await ann.client.post(`/integrations/provider/${id}/connect`, { page: 'p1' });
  Object.assign(network, { boards: [{ id: 'b1', name: 'Recipes' }], mentions: [] });
  for (const step of ['GET /boards', 'GET /people']) network.on(step, { status: 200 }, 0);
  network.asked.length = 0;
  patienceMs = undefined;
});
afterEach(async () => {
  await db.sql`truncate channels, channel_choices, outbox cascade`;
});

const ask = (name: string, data?: unknown, { client }: { client: Client } = ann) =>
  client.post('/integrations/function', { id, name, data });
const trigger = (methodName: string, data?: unknown, client: Client = key) =>
  client.post(`/public/v1/integration-trigger/${id}`, { methodName, data });
const find = (query: unknown) => ann.client.post('/integrations/mentions', { id, name: 'mention', data: { query } });
const needsLogin = async () => (await ann.client.get(`/integrations/${id}`)).body.refreshNeeded as boolean;
let teams = 0;
/** A question that was not asked before. */
const fresh = () => ({ team: `team ${(teams += 1)}` });

describe('methods of a network', () => {
  test('are called by their name, on the console and over the public API [S140]', async () => {
    const answer = await ask('boards', { team: 'kitchen', invented: 1 });
    expect([answer.status, answer.body]).toEqual([200, [{ id: 'b1', name: 'Recipes' }]]);
    const output = await trigger('boards', { team: 'kitchen', more: { a: [] } });
    expect([output.status, output.body]).toEqual([201, { output: [{ id: 'b1', name: 'Recipes' }] }]);
    expect((await trigger('whoami')).body).toEqual({ output: { page: 'p1' } });
  });

  test('are told by integration-settings, with the keys of their data', async () => {
    const { body } = await key.get(`/public/v1/integration-settings/${id}`);
    expect(body.output).toMatchObject({ maxLength: 100, settings: 'No additional settings required' });
    expect(body.output.tools).toEqual([
      {
        methodName: 'boards',
        description: 'Lists the boards of a team',
        dataSchema: [
          { key: 'team', description: 'Name of the team', type: 'string' },
          { key: 'archived', description: '', type: 'boolean' },
        ],
      },
      { methodName: 'whoami', description: 'Tells the page', dataSchema: [] },
    ]);
  });

  test('that are not declared, and channels that are not there, are 404 [S140, S9]', async () => {
    for (const name of ['publish', 'profile', 'toString', '__proto__', 'boards '])
      for (const { status, body } of [await ask(name, {}), await trigger(name, {})])
        expect([name, status, body.msg]).toEqual([name, 404, 'Tool not found']);
    const foreign = await ask('boards', fresh(), eve);
    expect([foreign.status, foreign.body.message]).toEqual([404, 'Integration not found']);
    for (const unknown of [newId(), 'x'])
      expect((await key.post(`/public/v1/integration-trigger/${unknown}`, { methodName: 'boards' })).body.msg).toBe(
        'Integration not found',
      );
  });

  test('refuse wrong data by its fields, without asking the network', async () => {
    for (const [data, field] of [
      [undefined, 'data.team'],
      [{}, 'data.team'],
      [{ team: '' }, 'data.team'],
      [{ team: 5 }, 'data.team'],
      [{ team: 'a', archived: 'yes' }, 'data.archived'],
      [[], 'data'],
      ['text', 'data'],
    ] as const)
      for (const { status, body } of [await ask('boards', data), await trigger('boards', data)])
        expect([data, status, body.errors?.[0].field]).toEqual([data, 400, field]);
    expect(network.asked).toEqual([]);
  });

  test('answer the same question within a minute from memory, each channel and data its own', async () => {
    const question = fresh();
    for (let n = 0; n < 3; n++) expect((await ask('boards', { ...question, invented: n })).status).toBe(200);
    expect((await trigger('boards', question)).status).toBe(201);
    expect(network.asked).toEqual(['GET /boards']);
    await ask('boards', fresh());
    expect(network.asked).toHaveLength(2);
  });

  test('are 502 while the network fails, and asked again afterwards', async () => {
    const question = fresh();
    for (const behaviour of [{ status: 503 }, { status: 500, body: 'oops' }, 'garbage', 'hang-up'] as const) {
      network.on('GET /boards', behaviour);
      for (const { status, body } of [await ask('boards', question), await trigger('boards', question)])
        expect([behaviour, status, body.code]).toEqual([behaviour, 502, 'provider_failed']);
    }
    network.on('GET /boards', { status: 200 }, 0);
    expect((await ask('boards', question)).status).toBe(200);
    expect(await needsLogin()).toBe(false);
  });

  test('are 502 when the answer takes too long', async () => {
    network.on('GET /boards', 'silence');
    patienceMs = 200;
    const start = systemClock.monotonic();
    const late = await ask('boards', fresh());
    expect([late.status, late.body.message]).toEqual([502, 'Paged did not answer in time']);
    expect(systemClock.monotonic() - start).toBeLessThan(5_000);
  });

  test('answer at most a thousand items, and no more than fits', async () => {
    network.boards = Array.from({ length: 5_000 }, (_, n) => ({ id: n }));
    expect((await ask('boards', fresh())).body).toHaveLength(1_000);
    network.boards = Array.from({ length: 450 }, () => ({ name: 'é'.repeat(1_000) }));
    const { body } = await ask('boards', fresh());
    expect(body.length).toBeGreaterThan(100);
    expect(body.length).toBeLessThan(130);
    network.boards = { text: 'x'.repeat(300_000) };
    expect((await ask('boards', fresh())).status).toBe(502);
    network.boards = null;
    expect([(await ask('boards', fresh())).text, (await trigger('boards', fresh())).body]).toEqual([
      'null',
      { output: null },
    ]);
  });

  test('renew a refused login once; when that is refused, too, the channel needs a login [S137]', async () => {
    network.tokens.clear();
    expect((await ask('boards', fresh())).status).toBe(200);
    expect(network.asked).toEqual(['GET /boards', 'POST /token', 'GET /boards']);
    network.tokens.clear();
    network.refreshTokens.clear();
    const refused = await trigger('boards', fresh());
    expect([refused.status, refused.body.failure]).toEqual([502, 'reauthorize']);
    expect(await needsLogin()).toBe(true);
    network.asked.length = 0;
    expect((await trigger('boards', fresh())).status).toBe(502);
    expect(network.asked).toEqual([]);
  });
});

describe('people to mention', () => {
  test('are found at the network of a channel [S140]', async () => {
    network.mentions = [
      { id: 'u1', label: 'Ann', image: 'https://paged.example/ann.png' },
      { id: 'u2', label: 'Anna' },
    ];
    expect((await find('ann')).body).toEqual([
      { id: 'u1', label: 'Ann', image: 'https://paged.example/ann.png' },
      { id: 'u2', label: 'Anna', image: null },
    ]);
    expect((await find(' ann ')).body).toHaveLength(2);
    expect(network.asked).toEqual(['GET /people']);
    network.mentions = Array.from({ length: 80 }, (_, n) => ({ id: `${n}`, label: 'B' }));
    expect((await find('b')).body).toHaveLength(50);
  });

  test('are nobody without a query, and a wrong one is 400 with its field [S140]', async () => {
    for (const data of [undefined, {}, { query: '' }, { query: '  ' }])
      expect((await ann.client.post('/integrations/mentions', { id, data })).body).toEqual([]);
    for (const query of [5, 'x'.repeat(201)]) {
      const { status, body } = await find(query);
      expect([status, body.errors[0].field]).toEqual([400, 'data.query']);
    }
    expect(network.asked).toEqual([]);
  });

  test('are 404 where the network offers none, and of another organization [S140]', async () => {
    const body = { id, data: { query: 'a' } };
    expect((await eve.client.post('/integrations/mentions', body)).status).toBe(404);
    await db.sql`update channels set provider_id = 'devto' where id = ${id}`;
    expect((await ann.client.post('/integrations/mentions', body)).body.message).toBe('Tool not found');
  });
});
