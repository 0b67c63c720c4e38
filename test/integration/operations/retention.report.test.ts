import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { RETENTION_RULES } from '../../../src/context.ts';
import { RETENTION_VARIABLES } from '../../../src/operations/retention/index.ts';
import { readConfig } from '../../../src/platform/config/index.ts';
import { CHAPTERS } from '../../../src/platform/config/settings.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { JWT_SECRET, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';

// What each retention setting would delete now, against what its sweeps then do.

const run = promisify(execFile);
const DAYS = {
  EMAIL_LOG_RETENTION_DAYS: 11,
  ERRORS_RETENTION_DAYS: 12,
  MULTIPART_UPLOAD_RETENTION_DAYS: 13,
  SOFT_DELETE_RETENTION_DAYS: 40,
  IP_RETENTION_DAYS: 15,
  AUDIT_RETENTION_DAYS: 16,
  MEDIA_JOBS_RETENTION_DAYS: 17,
  NOTIFICATIONS_RETENTION_DAYS: 18,
  AI_DESIGNER_SESSION_RETENTION_DAYS: 19,
  MASTRA_TRACE_RETENTION_DAYS: 21,
};
const ENV = Object.fromEntries(Object.entries(DAYS).map(([name, days]) => [name, String(days)]));

let db: TestDatabase;
let app: TestApp;
let root: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql, env: ENV });
  root = await app.signUp();
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const ago = (days: number) => db.sql`now() - ${days}::float8 * interval '1 day'`;
const channelId = newId();
/** Makes a row of an age, as the product leaves it. */
const MAKE: Record<keyof typeof DAYS, (age: number) => Promise<unknown>> = {
  EMAIL_LOG_RETENTION_DAYS: (age) => db.sql`
    insert into emails (id, to_address, template, provider_id, provider_version, status, created_at)
    values (${newId()}, 'a@example.com', 't', 'smtp', 'v1', 'sent', ${ago(age)})`,
  ERRORS_RETENTION_DAYS: (age) => db.sql`
    insert into errors (incarnation, room, message, at)
    values ('i', 'r', 'm', ${ago(age)})`,
  MULTIPART_UPLOAD_RETENTION_DAYS: (age) => db.sql`
    insert into media_uploads (id, org_id, created_by, name, bytes, mime, storage_id, storage_version, own_storage,
      storage_key, provider_upload_id, created_at)
    values (${newId()}, ${root.orgId}, ${root.userId}, 'a', 1, 'image/png', 'local', 'v1', false, 'a', ${newId()}, ${ago(age)})`,
  async SOFT_DELETE_RETENTION_DAYS(age) {
    await db.sql`
      insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, created_at, deleted_at)
      values (${newId()}, ${root.orgId}, ${channelId}, 'g', 'PUBLISHED', 'x', now(), ${ago(200)}, ${ago(age)})`;
    const id = newId();
    await db.sql`
      insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
      values (${id}, ${root.orgId}, 'a', 'a', ${id}, 'image', 'image/png', 1)`;
    await db.sql`update files set deleted_at = ${ago(age)} where id = ${id}`;
  },
  async IP_RETENTION_DAYS(age) {
    const id = newId();
    await db.sql`
      insert into users (id, email, provider_name, provider_id, ip, created_at)
      values (${id}, ${`${id}@example.com`}, 'local', ${id}, '192.0.2.1', ${ago(age)})`;
    await db.sql`
      insert into sessions (id, user_id, token_hash, expires_at, last_used_at, ip)
      values (${newId()}, ${id}, ${Buffer.from(id)}, now() + interval '1 day', ${ago(age)}, '192.0.2.1')`;
  },
  AUDIT_RETENTION_DAYS: (age) => db.sql`
    insert into audit_log (org_id, action, resource, at)
    values (${root.orgId}, 'x.y', 'settings', ${ago(age)})`,
  async MEDIA_JOBS_RETENTION_DAYS(age) {
    await db.sql`
      insert into media_transforms (id, org_id, source_id, operation, params, state, next_at, ended_at)
      values (${newId()}, ${root.orgId}, ${newId()}, 'resize', '{}', 'done', null, ${ago(age)})`;
    await db.sql`
    insert into media_jobs (id, org_id, operation, provider_id, provider_version, own_setting, request, input_hash,
      reservation, is_export, state, ended_at, settled_at)
    values (${newId()}, ${root.orgId}, 'image', 'replicate', 'v1', true, '{}', '', ${newId()}, false, 'done',
      ${ago(age)}, ${ago(age)})`;
  },
  AI_DESIGNER_SESSION_RETENTION_DAYS: (age) => db.sql`
    insert into runs (id, org_id, kind, state, is_active, input, touched_at)
    values (${newId()}, ${root.orgId}, 'designer', 'completed', false, '{}', ${ago(age)})`,
  MASTRA_TRACE_RETENTION_DAYS: (age) => db.sql`
    insert into ai_traces (id, org_id, run_id, step, provider_id, model, prompt_version, ended, input, began_at, ended_at)
    values (${newId()}, ${root.orgId}, ${newId()}, 's', 'openai', 'm', 'v', 'stop', '', ${ago(age)}, ${ago(age)})`,
  NOTIFICATIONS_RETENTION_DAYS: (age) => db.sql`
    insert into notifications (id, org_id, user_id, source, category, title, content, created_at)
    values (${newId()}, ${root.orgId}, ${root.userId}, ${newId()}, 'storage', 't', 'c', ${ago(age)})`,
};
/** Rows that are due for each row that `MAKE` makes. */
const EACH: Partial<Record<string, number>> = {
  SOFT_DELETE_RETENTION_DAYS: 2,
  IP_RETENTION_DAYS: 2,
  MEDIA_JOBS_RETENTION_DAYS: 2,
};

type Item = { variable: string; days: number; due: number; oldest: string | null; runs: any[] }; // oxlint-disable-line typescript/no-explicit-any -- judged by each test
const report = async (): Promise<Item[]> => (await root.client.get('/admin/retention')).body.items;
const itemOf = async (variable: string): Promise<Item> => (await report()).find((one) => one.variable === variable)!;

describe('GET /admin/retention', () => {
  beforeAll(async () => {
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${channelId}, ${root.orgId}, 'sandbox', 'v1', 'x', 'x', 'v2:')`;
  });

  test('has every setting of retention with its days, and a rule for each', async () => {
    expect(Object.keys(RETENTION_VARIABLES).toSorted()).toEqual(Object.keys(CHAPTERS.Retention).toSorted());
    const items = await report();
    expect(items.map(({ variable }) => variable)).toEqual(Object.keys(RETENTION_VARIABLES));
    for (const { variable, days, due, runs } of items) {
      expect([variable, days]).toEqual([variable, (DAYS as Record<string, number>)[variable] ?? expect.any(Number)]);
      expect([variable, typeof due, runs.length > 0]).toEqual([variable, 'number', true]);
    }
  });

  test('each rule names a setting, and sweeps that run', () => {
    const sweeps = new Set(app.context.sweeps.map(({ name }) => name));
    for (const rule of RETENTION_RULES) {
      expect(Object.keys(RETENTION_VARIABLES)).toContain(rule.variable);
      expect([rule.variable, rule.sweeps.filter((name) => !sweeps.has(name))]).toEqual([rule.variable, []]);
    }
  });

  test.each(Object.entries(DAYS))(
    '%s: what is due is what its sweeps delete, and no younger row [RT5, RT6, RT7, RT8, RT9, RT10]',
    async (variable, days) => {
      const make = MAKE[variable as keyof typeof DAYS];
      const each = EACH[variable] ?? 1;
      const before = (await itemOf(variable)).due!;
      await make(days + 3.5);
      await make(days + 0.1);
      await make(days - 0.1);
      const item = await itemOf(variable);
      expect(item.due).toBe(before + 2 * each);
      const age = (Date.now() - new Date(item.oldest!).getTime()) / 86_400_000;
      if (before === 0) expect(age).toBeCloseTo(days + 3.5, 1);
      for (const { sweep } of item.runs) await app.context.sweeps.find(({ name }) => name === sweep)!.run(500);
      expect((await itemOf(variable)).due).toBe(0);
    },
  );

  test('shows the last run of each sweep', async () => {
    await db.sql`
      insert into cron_runs (name, last_run_at, last_status, last_duration_ms, last_changed)
      values ('notifications', '2026-01-02T03:04:05Z', 'ok', 5, 7)`;
    expect((await itemOf('NOTIFICATIONS_RETENTION_DAYS')).runs).toEqual([
      { sweep: 'notifications', lastRunAt: '2026-01-02T03:04:05.000Z', lastStatus: 'ok', lastChanged: 7 },
    ]);
    expect((await itemOf('SOFT_DELETE_RETENTION_DAYS')).runs.map(({ sweep }) => sweep)).toEqual([
      'deleted-posts',
      'media',
    ]);
  });

  test('is for super-admins alone', async () => {
    expect((await (await app.signUp()).client.get('/admin/retention')).status).toBe(403);
  });
});

describe('commands', () => {
  const env = () => ({ ...process.env, ...ENV, JWT_SECRET, DATABASE_URL: db.url, NODE_ENV: 'test' });
  const command = (...words: string[]) => run(process.execPath, ['rookery.ts', ...words], { env: env() });

  test('retention --dry-run prints a line for each setting, and deletes nothing', async () => {
    await MAKE.ERRORS_RETENTION_DAYS(100);
    const { stdout } = await command('retention', '--dry-run');
    const lines = stdout.trim().split('\n');
    expect(lines.map((line) => line.split(' ')[0])).toEqual(Object.keys(RETENTION_VARIABLES));
    expect(lines.find((line) => line.startsWith('ERRORS_'))).toMatch(
      / 12 days {2}1 due, the oldest of \d{4}-\d\d-\d\d {2}\(errors has not run\)$/,
    );
    expect((await db.sql`select from errors where at < now() - interval '99 days'`).count).toBe(1);
  }, 60_000);

  test('retention alone is refused with what to say', async () => {
    await expect(command('retention')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('retention --dry-run'),
    });
  }, 60_000);

  test('vapid prints keys that the settings take, new ones each time', async () => {
    const [first, second] = [(await command('vapid')).stdout, (await command('vapid')).stdout];
    expect(first).not.toBe(second);
    const settings = Object.fromEntries(
      first
        .trim()
        .split('\n')
        .map((line) => line.split('=') as [string, string]),
    );
    const { config, issues } = readConfig({ JWT_SECRET, ...settings });
    expect(config.push.vapid).toEqual({
      publicKey: settings['VAPID_PUBLIC_KEY'],
      privateKey: settings['VAPID_PRIVATE_KEY'],
      subject: 'mailto:admin@example.com',
    });
    expect(issues.filter(({ setting }) => setting.startsWith('VAPID'))).toEqual([]);
  }, 60_000);
});
