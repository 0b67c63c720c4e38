import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../../src/platform/db/embedded/index.ts';
import { migrate, openDatabase } from '../../../src/platform/db/index.ts';
import { Client, type SignedUp } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import { freePort } from '../../support/wire/ports.ts';
import { startRedis } from '../../support/wire/services.ts';

// The whole product while what it stands on goes away and comes back.

describe('a database that is stopped and started again', () => {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-outage-'));
  let postgres: EmbeddedPostgres;
  let product: Product;
  let ann: SignedUp;
  let key: Awaited<ReturnType<SignedUp['withKey']>>;
  const start = (port: number) =>
    startEmbeddedPostgres({ folder: join(folder, 'postgres'), port, settings: { fsync: 'off' } });
  beforeAll(async () => {
    chmodSync(folder, 0o755);
    postgres = await start(await freePort());
    const sql = openDatabase({ url: postgres.url, connections: 1 });
    await migrate(sql);
    await sql.end();
    product = await wholeProduct({ env: { DATABASE_URL: postgres.url } });
    ann = await product.signUp();
    key = await ann.withKey();
  }, 120_000);
  afterAll(async () => {
    await product[Symbol.asyncDispose]();
    await postgres[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const stranger = () => new Client(product.address);
  const draft = () =>
    key.post('/public/v1/posts', {
      type: 'draft',
      date: new Date().toISOString(),
      shortLink: false,
      tags: [],
      posts: [
        {
          integration: { id: '00000000-0000-7000-8000-000000000000' },
          value: [{ content: 'Hi', image: [] }],
          settings: {},
        },
      ],
    });
  /** Reads and writes, with every kind of credential and without one, through actors and without them. */
  const asked = (): [string, () => ReturnType<Client['get']>][] => [
    ['GET /user/self', () => ann.client.get('/user/self')],
    ['GET /user/self by header', () => stranger().get('/user/self', { auth: ann.client.cookies.get('auth') })],
    ['POST /orgs', () => ann.client.post('/orgs', { name: 'Another' })],
    ['GET /public/v1/integrations', () => key.get('/public/v1/integrations')],
    ['POST /public/v1/posts', draft],
    [
      'POST /auth/login',
      () => stranger().post('/auth/login', { provider: 'LOCAL', email: ann.email, password: ann.password }),
    ],
    [
      'POST /webhooks',
      () => ann.client.post('/webhooks', { name: 'Hook', url: 'https://example.com/', integrations: [] }),
    ],
    ['GET /health', () => stranger().get('/health')],
  ];

  test('answers 503 `unavailable` with Retry-After while it is away, ready 503; both recover in the same process [HE1, HE2, HE3, HE4]', async () => {
    expect((await stranger().get('/health/ready')).status).toBe(200);
    await postgres[Symbol.asyncDispose]();
    for (let round = 0; round < 2; round++) {
      const answers = await Promise.all(asked().map(async ([what, ask]) => ({ what, answer: await ask() })));
      for (const {
        what,
        answer: { status, body, headers },
      } of answers)
        expect([what, status, body.code, headers.get('retry-after')]).toEqual([what, 503, 'unavailable', '2']);
    }
    const ready = await stranger().get('/health/ready');
    expect([ready.status, ready.body.dependencies.database.ok, ready.body.dependencies.redis.ok]).toEqual([
      503,
      false,
      true,
    ]);
    expect((await stranger().get('/health/live')).status).toBe(200);
    const metrics = await stranger().get('/metrics');
    expect([
      metrics.status,
      /^rookery_outbox_waiting /m.test(metrics.text),
      /^rookery_turns_total /m.test(metrics.text),
    ]).toEqual([200, false, true]);

    postgres = await start(postgres.port);
    await eventually('it is ready again', async () => (await stranger().get('/health/ready')).status === 200);
    /** Each of several connections is made anew by its next statement, which may still be refused for the time. */
    const isWell = (status: number, wanted: number) => {
      expect([wanted, 503]).toContain(status);
      return status === wanted;
    };
    await eventually('people are served again', async () => isWell((await ann.client.get('/user/self')).status, 200));
    await eventually('actors are called again', async () =>
      isWell(
        (await ann.client.post('/webhooks', { name: 'Hook', url: 'https://example.com/', integrations: [] })).status,
        201,
      ),
    );
    // its channel is unknown
    await eventually('posts are judged again', async () => isWell((await draft()).status, 400));
    await eventually('the host sends heartbeats again', async () => {
      const { status, body } = await ann.client.get('/admin/actors');
      return (
        isWell(status, 200) &&
        body.hosts.some(({ here, silent }: { here: boolean; silent: boolean }) => here && !silent)
      );
    });
  }, 120_000);
});

const redis = await startRedis();
await redis?.[Symbol.asyncDispose]();
const port = redis && Number(new URL(redis.url).port);
// without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
(redis ? describe : describe.skip)('a Redis that is not there at the start, comes, and goes', () => {
  let product: Product;
  let running: NonNullable<Awaited<ReturnType<typeof startRedis>>> | undefined;
  beforeAll(async () => {
    product = await wholeProduct({ env: { REDIS_URL: redis!.url, RATE_LIMIT_SCALE: '1' } });
  }, 60_000);
  afterEach(async () => running?.[Symbol.asyncDispose]());
  afterAll(async () => product[Symbol.asyncDispose]());

  const ready = () => new Client(product.address).get('/health/ready');
  /** What is left of the bucket of a route, as the service tells. */
  const left = async () =>
    Number((await new Client(product.address).get('/auth/can-register')).headers.get('x-ratelimit-remaining'));

  test('is survived by the service; ready names the missing part and limits count per process meanwhile [HE2, HE3, HE4, RL7]', async () => {
    const away = await ready();
    expect([away.status, away.body.dependencies.database.ok, away.body.dependencies.redis.ok]).toEqual([
      503,
      true,
      false,
    ]);
    const ann = await product.signUp();
    expect((await ann.client.get('/user/self')).status).toBe(200);
    const first = await left();
    expect([await left(), await left()]).toEqual([first - 1, first - 2]);
    const logins = [];
    for (let n = 0; n < 11; n++)
      logins.push(
        (
          await new Client(product.address).post('/auth/login', {
            provider: 'LOCAL',
            email: 'nobody@example.com',
            password: 'wrong password',
          })
        ).status,
      );
    expect(logins).toEqual([...Array.from({ length: 10 }, () => 400), 429]);
    expect((await new Client(product.address).get('/metrics')).text).toMatch(/^rookery_cache_away 1$/m);

    running = (await startRedis([], port))!;
    await eventually('it is ready', async () => (await ready()).status === 200);
    const shared = await left(); // counted there, from the beginning
    expect(shared).toBeGreaterThan(first - 3);
    expect(await left()).toBe(shared - 1);

    const gone = running;
    running = undefined;
    await gone[Symbol.asyncDispose]();
    await eventually('ready says so', async () => (await ready()).status === 503);
    expect((await ann.client.get('/user/self')).status).toBe(200);
    expect(await left()).toBe(first - 3); // its own count goes on
    const { text } = await new Client(product.address).get('/metrics');
    expect(text).toMatch(/^rookery_events_total\{event="cache.away"\} [2-9]$/m);
    expect(text).toMatch(/^rookery_events_total\{event="cache.back"\} [1-9]$/m);
  }, 60_000);
});

test('the last use of a key that the database refuses is lost, which the log says, and no request fails', async () => {
  const lines: string[] = [];
  await using product = await wholeProduct({ level: 'warn', write: (line) => void lines.push(line) });
  const key = await (await product.signUp()).withKey();
  await using _refused = await refuseRows(product.db.sql, 'update', 'api_keys', 'new.last_used_at is not null');
  expect((await key.get('/public/v1/is-connected')).status).toBe(200);
  await eventually('it is logged', () => lines.some((line) => line.includes('a write behind an answer failed')));
  expect((await key.get('/public/v1/is-connected')).status).toBe(200);
});
