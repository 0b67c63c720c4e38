import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { type Clock, newId, systemClock } from '../../../src/platform/kernel/index.ts';
import type { Recurrence } from '../../../src/publishing/posts/recurrence.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { startRedis } from '../../support/wire/services.ts';
import { seedChannel } from '../../support/worlds/analytics.ts';

// What a request costs beside its handler: counted, not timed. Look-ups stay fresh because their clock stands.

const still: Clock = { ...systemClock, monotonic: () => 0 };
const redis = await startRedis();
const db = await testDatabase();
afterAll(async () => {
  await redis?.[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
const asked = () =>
  [
    ...spawnSync('redis-cli', ['-p', new URL(redis!.url).port, 'info', 'commandstats'])
      .stdout.toString()
      .matchAll(/cmdstat_(\w+):calls=(\d+)/g),
  ]
    .filter(([, name]) => !/^(info|incr|pttl|pexpire|ping|hello|client)/.test(name!)) // our own question, what a script does inside, greetings
    .reduce((sum, [, , calls]) => sum + Number(calls), 0);

/** Every statement of the app; nothing runs beside it but the note of when a credential was last used. */
const sent = async (work: () => Promise<unknown>): Promise<string[]> => {
  db.statements.length = 0;
  await work();
  return db.statements.filter((text) => !/^(begin|commit)|last_used/i.test(text));
};

describe.each(redis ? ['memory', 'redis'] : ['memory'])('cost of authentication with the cache in %s', (kind) => {
  const exchanges = kind === 'redis' ? 1 : 0;
  let app: TestApp;
  let ann: SignedUp;
  let key: Client;
  beforeAll(async () => {
    app = await testApp({ sql: db.sql, clock: still, env: kind === 'redis' ? { REDIS_URL: redis!.url } : {} });
    // Opening waits for Redis for two seconds at most: a slow machine connects later.
    await eventually('the cache is there', async () => (await app.client().get('/health/ready')).status === 200);
    expect(app.context.cache.kind).toBe(kind);
    ann = await app.signUp();
    key = await ann.withKey();
    for (const path of ['/public/v1/is-connected', '/health/ready']) await key.get(path);
    await ann.client.get('/user/organizations');
  });
  afterAll(() => app[Symbol.asyncDispose]());
  const cost = async (ask: () => Promise<{ status: number }>, times = 20) => {
    const before = kind === 'redis' ? asked() : 0;
    const statements = await sent(async () => {
      for (let n = 0; n < times; n += 1) expect((await ask()).status).toBe(200);
    });
    return { statements: statements.length / times, exchanges: ((kind === 'redis' ? asked() : 0) - before) / times };
  };

  test('a known key with its limit is no statement and one exchange at most (H1)', async () => {
    expect(await cost(() => key.get('/public/v1/is-connected'))).toEqual({ statements: 0, exchanges });
  });
  test('a new key is one statement (H1)', async () => {
    const other = await ann.withKey();
    const { statements } = await cost(() => other.get('/public/v1/is-connected'), 1);
    expect(statements).toBe(1);
  });
  test('a known session with its limit is one statement and one exchange at most (H2)', async () => {
    const { statements, exchanges: seen } = await cost(() => ann.client.get('/notifications/preferences'));
    expect(statements).toBeLessThanOrEqual(1 + 1); // the second is the handler's own
    expect(seen).toBe(exchanges);
  });
  test('readiness is one statement and one exchange (H20)', async () => {
    const { statements, exchanges: seen } = await cost(() => app.client().get('/health/ready'));
    expect([statements, seen]).toEqual([1, exchanges]);
  });
  test('a refused credential is counted by one exchange, and looked up in the database once', async () => {
    const bad = `pm_live_${'x'.repeat(43)}`;
    const before = kind === 'redis' ? asked() : 0;
    const statements = await sent(async () => {
      for (let n = 0; n < 20; n += 1)
        expect((await app.client().get('/public/v1/is-connected', { authorization: bad })).status).toBe(401);
    });
    expect([statements.length, ((kind === 'redis' ? asked() : 0) - before) / 20]).toEqual([1, exchanges]);
  });
  test('a malformed credential costs nothing', async () => {
    const statements = await sent(async () => {
      for (const authorization of ['x', newId(), `pm_live_${'x'.repeat(42)}`, `pm_live_${'!'.repeat(43)}`])
        expect((await app.client().get('/public/v1/is-connected', { authorization })).status).toBe(401);
    });
    expect(statements).toEqual([]);
  });
});

test('a list of posts is two statements, and three where an organization has a series', async () => {
  await using app = await testApp({ sql: db.sql, clock: still });
  const ann = await app.signUp();
  const key = await ann.withKey();
  const channelId = await seedChannel(db.sql, ann.orgId);
  const date = new Date();
  const insert = (recurrence: Recurrence | null) => db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, content_clean, publish_date, creation_method,
      recurrence)
    values (${newId()}, ${ann.orgId}, ${channelId}, 'one', 'DRAFT', '<p>Hello</p>', true, ${date}, 'API',
      ${recurrence && db.sql.json({ ...recurrence })})`;
  const list = async () => (await key.get('/public/v1/posts')).body.posts;
  await insert(null);
  await list(); // who asks is known from then on
  expect(await sent(list)).toHaveLength(2);
  const local = date.toISOString().slice(0, 19);
  await insert({ days: 'FREQ=WEEKLY', timezone: 'UTC', local, until: null, left: null, inter: null });
  expect(await sent(list)).toHaveLength(3);
  expect((await list()).length).toBeGreaterThan(2); // with the dates to come
});
