import { afterAll, beforeAll, beforeEach } from '@jest/globals';
import type { AnyAdapter } from '../../../../src/providers/registry/index.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../app.ts';
import { testDatabase, type TestDatabase } from '../../wire/database.ts';

/** US dollars per million tokens of each scripted model. */
const PRICE = { input: 100, output: 100 };

interface Setting {
  model?: string;
  isDefault?: boolean;
  options?: Record<string, string>;
  /** False: nobody knows what the model costs. */
  isPriced?: boolean;
}

/** For each file: a database and an app with these providers; the settings of everybody are gone before each test. */
export function studioWorld(adapters: readonly AnyAdapter[], more: Pick<Parameters<typeof testApp>[0], 'clock'> = {}) {
  const stack = new AsyncDisposableStack();
  let [db, app, admin, ann] = [] as unknown as [TestDatabase, TestApp, SignedUp, SignedUp];
  beforeAll(async () => {
    db = stack.use(await testDatabase({ connections: 8 }));
    app = stack.use(await testApp({ sql: db.sql, adapters, ...more }));
    admin = await app.signUp();
    ann = await app.signUp();
  });
  afterAll(() => stack.disposeAsync());
  beforeEach(async () => {
    await db.sql`delete from provider_settings`;
    await db.sql`delete from ai_budgets`;
    await db.sql`delete from ai_reservations`;
    await db.sql`delete from ai_spend`;
    await db.sql`delete from outbox`;
    await db.sql.begin(async (tx) => {
      await tx`select set_config('rookery.ai_ledger', 'change', true)`;
      await tx`delete from ai_ledger`;
    });
  });
  const create = async (client: Client, path: string, providerId: string, setting: Setting) => {
    const { model = `${providerId}-1`, isDefault, options, isPriced = true } = setting;
    const prices = isPriced ? { prices: JSON.stringify({ [model]: PRICE }) } : {};
    const body = {
      domain: 'ai',
      providerId,
      credentials: { apiKey: 'key' },
      options: { ...prices, ...options },
      isDefault,
    };
    const made = await client.post(path, body);
    if (made.status !== 201) throw new Error(`A setting was refused: ${made.text}`);
    return made.body.id as string;
  };
  return {
    use: <T extends AsyncDisposable>(opened: T): T => stack.use(opened),
    get db() {
      return db;
    },
    get app() {
      return app;
    },
    /** A super-admin, with an organization of their own. */
    get admin() {
      return admin;
    },
    get ann() {
      return ann;
    },
    /** Sets a provider up for Ann's organization. */
    setUp: (providerId: string, setting: Setting = {}) =>
      create(ann.client, '/providers/settings', providerId, setting),
    /** The same for the whole instance. */
    setUpForAll: (providerId: string, setting: Setting = {}) =>
      create(admin.client, '/admin/providers/settings', providerId, setting),
    /** Ann's ledger. */
    ledger: () => db.sql<
      { kind: string; providerId: string; micros: number; source: string | null; marked: boolean }[]
    >`
      select kind, provider_id as "providerId", micros::float8, source, marked
      from ai_ledger
      where org_id = ${ann.orgId}
      order by at, kind`,
  };
}
