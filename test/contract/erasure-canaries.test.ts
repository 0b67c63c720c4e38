import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { type DaprCluster, daprMissing, startDapr } from '../support/processes/dapr-harness.ts';
import { keepTrail, openCanaries, type Place } from '../support/wire/canaries.ts';
import { testDatabase, type TestDatabase } from '../support/wire/database.ts';
import { eventually } from '../support/wire/eventually.ts';
import { startRedis } from '../support/wire/services.ts';
import { formOf, picture } from '../support/worlds/samples.ts';
import { plantEverywhere, unplantedColumns } from '../support/worlds/erasure/personal-columns.ts';
import { type Product, wholeProduct } from '../support/worlds/product.ts';
import { ADDRESS, CAME_FROM, tracedPerson, WORD } from '../support/worlds/erasure/traced-person.ts';

// Somebody stands in every column about people, has used the product with each request written to the log, and is
// erased. Then the bytes of everything that the product keeps or writes are searched for who they were.

const TOKENS = { apiToken: 'token-of-the-sidecar', appToken: 'token-of-the-app' };
const RETENTION_DAYS = 91;

/** The bytes of each file of a folder. */
function filesIn(what: string, folder: string): Place[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({
      name: `${what} ${join(parentPath, name).slice(folder.length + 1)}`,
      text: readFileSync(join(parentPath, name), 'latin1'),
    }));
}

/** Every row of every table, as a dump has them. */
async function dumpOf(sql: TestDatabase['sql']): Promise<Place[]> {
  const tables = await sql<{ schema: string; name: string }[]>`
    select table_schema as schema, table_name as name
    from information_schema.tables
    where table_type = 'BASE TABLE' and table_schema not in ('pg_catalog', 'information_schema')`;
  expect(tables.length).toBeGreaterThan(100);
  const places: Place[] = [];
  for (const { schema, name } of tables) {
    const rows = await sql<{ text: string }[]>`select to_jsonb(t)::text as text from ${sql(schema)}.${sql(name)} t`;
    places.push({ name: `table ${name}`, text: rows.map(({ text }) => text).join('\n') });
  }
  return places;
}

/** All that is stored is so many days older, as if the retention times had passed. */
async function age(sql: TestDatabase['sql'], tables: readonly string[]): Promise<void> {
  const columns = await sql<{ table: string; column: string }[]>`
    select c.table_name as "table", c.column_name as "column"
    from information_schema.columns c
    where c.table_schema = current_schema()
      and c.table_name = any(${[...tables]}::text[])
      and c.data_type = 'timestamp with time zone'
      and c.is_generated = 'NEVER'`;
  for (const { table, column } of columns)
    await sql`
      update ${sql(table)}
      set ${sql(column)} = ${sql(column)} - make_interval(days => ${RETENTION_DAYS})
      where ${sql(column)} is not null`;
}

/** What names the person, and the address from which they came. */
function sought(userId: string) {
  const canaries = openCanaries();
  canaries.note('the name', WORD);
  canaries.note('the address', ADDRESS);
  canaries.note('the address in capitals', ADDRESS.toUpperCase());
  canaries.note('where they came from', CAME_FROM);
  canaries.note('the id', userId, /^(log|redis|scheduler|table (ai_ledger|posts|tags)$)/); // after it is erased, of nobody
  return canaries;
}

const engines = [
  { name: 'the embedded engine', missing: undefined },
  { name: 'Dapr', missing: daprMissing() },
].map(({ name, missing }) => ({
  name,
  missing: missing ?? (spawnSync('redis-server', ['--version']).status === 0 ? undefined : 'no redis-server'),
}));

for (const { name, missing } of engines)
  (missing === undefined ? describe : describe.skip)(
    `a person in every place, on ${name}${missing === undefined ? '' : ` [skipped: ${missing}]`}`,
    () => {
      const opened = new AsyncDisposableStack();
      const folder = mkdtempSync(join(tmpdir(), 'rookery-erased-'));
      opened.defer(() => rmSync(folder, { recursive: true, force: true }));
      const log: string[] = [];
      let redisUrl: string;
      let db: TestDatabase;
      let dapr: DaprCluster | undefined;
      let product: Product;
      let traced: Awaited<ReturnType<typeof tracedPerson>>;

      beforeAll(async () => {
        db = opened.use(await testDatabase());
        const redis = opened.use((await startRedis(['--dir', folder, '--rdbcompression', 'no']))!);
        redisUrl = redis.url;
        const env: Record<string, string> = {};
        if (name === 'Dapr') {
          dapr = opened.use(await startDapr({ databaseUrl: db.url, redisUrl, ...TOKENS }));
          const ports = await dapr.reserve();
          dapr.sidecar(ports);
          Object.assign(env, {
            ACTOR_ENGINE: 'dapr',
            DAPR_HTTP_PORT: `${ports.http}`,
            DAPR_GRPC_PORT: `${ports.grpc}`,
            APP_PORT: `${ports.app}`,
            DAPR_API_TOKEN: TOKENS.apiToken,
            APP_API_TOKEN: TOKENS.appToken,
            DAPR_PLACEMENT_HEALTH_URL: dapr.placementHealthUrl,
          });
        }
        product = opened.use(
          await wholeProduct({
            sandbox: true,
            level: 'debug',
            write: (line) => log.push(line),
            env: {
              ...env,
              DATABASE_URL: db.url,
              REDIS_URL: redisUrl,
              DATA_FOLDER: join(folder, 'data'),
              TRUST_PROXY_HOPS: '1',
              EMAIL_PROVIDER: 'smtp',
              EMAIL_SMTP_HOST: '127.0.0.1',
              EMAIL_SMTP_PORT: '1', // nobody listens: every mail waits, and its failure is logged
              EMAIL_FROM_ADDRESS: 'rookery@example.com',
              IP_RETENTION_DAYS: '90',
              EMAIL_LOG_RETENTION_DAYS: '90',
            },
          }),
        );
        await keepTrail(db.sql);
      }, 120_000);
      afterAll(() => opened.disposeAsync(), 60_000);

      const redisDump = (): Place[] => {
        expect(spawnSync('redis-cli', ['-p', new URL(redisUrl).port, 'save']).stdout.toString()).toBe('OK\n');
        return filesIn('redis', folder).filter(({ name: file }) => file === 'redis dump.rdb');
      };
      /** The scheduler writes its files while they are read: those of a copy stand still. */
      const schedulerFiles = (): Place[] => {
        if (dapr === undefined) return [];
        const copy = mkdtempSync(join(tmpdir(), 'rookery-scheduler-'));
        try {
          cpSync(join(dapr.logs, 'scheduler'), copy, { recursive: true });
          return filesIn('scheduler', copy);
        } finally {
          rmSync(copy, { recursive: true, force: true });
        }
      };
      const uploads = () => filesIn('uploads', join(folder, 'data', 'uploads'));
      const logsFrom = (line: number): Place[] => [
        ...log.slice(line).map((text) => ({ name: 'log', text })),
        ...(dapr === undefined
          ? []
          : filesIn('log of dapr', dapr.logs).filter(({ name: file }) => file.endsWith('.log'))),
      ];

      test('they act in an organization of others and in their own, and stand in each column about people', async () => {
        traced = await tracedPerson(product);
        const { me, userId } = traced;
        const { body: orgs } = await me.get('/user/organizations');
        const own = z
          .array(z.looseObject({ id: z.string() }))
          .parse(orgs)
          .find(({ id }) => id !== traced.orgId)!;
        const here = { showorg: own.id };
        const channel = await me.post(
          '/integrations/social-connect/sandbox',
          { fields: { name: `Of ${WORD}` }, allowPreview: true },
          here,
        );
        expect([channel.status, channel.text]).toEqual([200, expect.any(String)]);
        const posted = await me.post(
          '/posts',
          {
            type: 'schedule',
            date: new Date(Date.now() + 3_600_000).toISOString(), // oxlint-disable-line no-restricted-globals -- as a client sends it
            posts: [{ integration: { id: channel.body.id }, value: [{ content: `I am ${WORD}`, image: [] }] }],
          },
          here,
        );
        expect([posted.status, posted.text]).toEqual([201, expect.any(String)]);
        const file = await me.post(
          '/files/upload-server',
          formOf(await picture(40, 40), { name: `${WORD}.png` }),
          here,
        );
        expect([file.status, file.text]).toEqual([201, expect.any(String)]);
        const hook = { name: WORD, url: `https://${WORD}.example/hook`, integrations: [] };
        expect((await me.post('/webhooks', hook, { ...here, 'idempotency-key': 'once' })).status).toBe(201);
        expect((await me.post('/webhooks', { name: WORD }, here)).status).toBe(400);
        if (dapr !== undefined)
          await eventually('the reminder of the channel is in the files of the scheduler', () =>
            schedulerFiles().some(({ text }) => text.includes(channel.body.id)),
          );
        expect(uploads()).not.toEqual([]);
        for (const kept of ['rookery:limit:', `user:${userId}`]) expect(redisDump()[0]!.text).toContain(kept);
        await plantEverywhere(product.context, traced);
        expect(await unplantedColumns(product.context, { userId })).toEqual([]);
      }, 60_000);

      test('the log names nobody, and says where a caller came from only of a login that was refused [X27]', async () => {
        const refusals = log.filter((line) => line.includes('"login.refused"'));
        expect(refusals.length).toBeGreaterThan(0);
        expect(log.length).toBeGreaterThan(10);
        expect(sought(traced.userId).found(logsFrom(0).filter(({ text }) => !refusals.includes(text)))).toEqual([]);
      });

      test('once they are erased and the retention times have passed, no table, key, file, reminder or line says who they were [X27]', async () => {
        const { boss, userId } = traced;
        const canaries = sought(userId);
        const everything = async (line: number): Promise<Place[]> => [
          ...(await dumpOf(db.sql)),
          ...redisDump(),
          ...schedulerFiles(),
          ...filesIn('data', join(folder, 'data')),
          ...logsFrom(line),
        ];
        await db.sql`update users set is_super_admin = true where email = 'boss@example.com'`;
        const begun = log.length;
        const { status, body } = await boss.post('/admin/erasure', { userId, reason: 'asked' });
        expect([status, body.state]).toEqual([200, 'done']);
        await eventually(
          'every listener has heard the facts about them',
          async () => (await db.sql`select from outbox where strpos(payload::text, ${WORD}) > 0`).count === 0,
        );
        await db.sql`drop function canary_trail cascade`;
        await db.sql`drop table canary_trail`;
        await age(db.sql, ['emails', 'login_states', 'media_pending_deletions']);
        for (const { name: sweep, run } of product.context.sweeps)
          if (!['routes', 'server-limits', 'payments', 'contents'].includes(sweep)) await run(1_000); // those call out
        const places = await everything(begun);
        expect(canaries.found(places)).toEqual([]);
        expect(uploads()).toEqual([]);
      }, 60_000);
    },
  );
