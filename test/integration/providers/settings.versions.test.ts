import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { openProviderSettings, type ProviderSettings } from '../../../src/providers/settings/index.ts';
import { type AuthAdapter, auth } from '../../../src/providers/auth/_contract.ts';
import type { Lifecycle } from '../../../src/providers/kit/declare/adapter.ts';
import { secret, text } from '../../../src/providers/kit/declare/fields.ts';
import { chooseVersion, lifecycleOf, readFields } from '../../../src/providers/registry/rules.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type LoginApp, loginApp } from '../../support/worlds/login-world.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: LoginApp;
let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await loginApp({ sql: db.sql });
  await app.signUp(); // the first one becomes super-admin
  ann = await app.signUp();
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => void (await db.sql`delete from provider_settings`));

describe('versions', () => {
  const versionOf = (version: `v${number}`, status: Lifecycle): AuthAdapter =>
    auth({
      id: 'demo',
      version,
      status,
      title: 'Demo',
      description: 'Demo',
      authType: 'oauth2',
      credentials: {
        name: text('Name'),
        ...(version === 'v3' && { more: text('More', { default: 'given' }) }),
        key: secret('Key'),
      },
      api: 'https://demo.example',
      by: 'consent',
      connect: () => ({ by: 'password' }),
    });
  const by = { userId: null, impersonatorId: null, ip: null };
  let all: AuthAdapter[];
  const told: unknown[] = [];
  /** What the provider says when it is asked; undefined: it cannot be. */
  let asked: (() => Promise<string>) | undefined;
  let settings: ProviderSettings;
  let outbound: ReturnType<typeof openOutbound>;
  beforeAll(() => {
    outbound = openOutbound({ timeoutMs: 1_000, allowedPrivateCidrs: [] });
    settings = openProviderSettings({
      sql: db.sql,
      clock: app.context.clock,
      vault: app.context.vault,
      outbound,
      changes: { tell: (...change) => void told.push(change) },
      providers: {
        list: () => all as never,
        resolve: (domain, id, options = {}) =>
          chooseVersion(all, domain, id, options, app.context.clock.now()) as never,
        status: (adapter) => lifecycleOf(adapter, all, app.context.clock.now()),
        fields: (adapter, input, at) => readFields(adapter.credentials, input, at),
        check: () => asked?.(),
      },
    });
  });
  afterAll(async () => outbound[Symbol.asyncDispose]());
  beforeEach(() => {
    all = [versionOf('v1', 'active')];
  });
  const demo = (more: object = {}) => ({
    domain: 'auth',
    providerId: 'demo',
    credentials: { name: 'n', key: 'k' },
    ...more,
  });
  const refusal = (work: Promise<unknown>) =>
    work.then(
      () => 'done',
      (error: { code: string; status: number }) => `${error.status} ${error.code}`,
    );

  test('a row keeps the version that was the newest when it was written, until it is upgraded [S159, VE7, VE8, VE18, VE19]', async () => {
    const made = await settings.create(null, demo(), by);
    expect([made.version, made.upgradeAvailable]).toEqual(['v1', null]);
    all = [versionOf('v1', 'deprecated'), versionOf('v3', 'active')];
    expect((await settings.list(null))[0]).toMatchObject({
      version: 'v1',
      status: 'deprecated',
      upgradeAvailable: 'v3',
    });
    expect(await refusal(settings.create(null, demo({ version: 'v1' }), by))).toBe('400 version_deprecated');
    expect(await settings.list(null)).toHaveLength(1);
    expect(await settings.update(null, made.id, { name: 'still v1' }, by)).toMatchObject({
      version: 'v1',
      name: 'still v1',
    });
    expect(await settings.upgrade(null, made.id, { version: 'v3' }, by)).toMatchObject({
      version: 'v3',
      options: { name: 'n', more: 'given' },
    });
    expect(await refusal(settings.upgrade(null, made.id, { version: 'v1' }, by))).toBe('400 version_deprecated');
  });

  test('a retired version is refused with 410, a preview unless it is allowed, and reading a list never fails [S158, S161, VE6, VE9, VE10]', async () => {
    const { id } = await settings.create(null, demo(), by);
    all = [versionOf('v1', 'retired'), versionOf('v3', 'preview')];
    for (const more of [{}, { credentials: { surprise: 'x' } }]) {
      // the status before the fields
      expect(await refusal(settings.create(null, demo({ version: 'v1', ...more }), by))).toBe('410 version_retired');
      expect(await refusal(settings.create(null, demo(more), by))).toBe('400 preview_not_allowed');
      expect(await refusal(settings.tryOut(null, demo(more)))).toBe('400 preview_not_allowed');
    }
    expect(await refusal(settings.upgrade(null, id, { version: 'v3' }, by))).toBe('400 preview_not_allowed');
    expect(await refusal(settings.update(null, id, { name: 'x' }, by))).toBe('410 version_retired');
    expect(await refusal(settings.test(null, id))).toBe('410 version_retired');
    expect(await refusal(settings.pinned(null, 'auth', id))).toBe('410 version_retired');
    expect(await settings.chosen(null, 'auth')).toBeUndefined();
    expect((await settings.list(null))[0]).toMatchObject({ version: 'v1', status: 'retired' });
    expect([...(await settings.configured(null, 'auth'))]).toEqual([['demo', undefined]]);
    expect((await settings.create(null, demo({ version: 'v3', allowPreview: true }), by)).version).toBe('v3');
    all = [];
    expect((await settings.list(null)).map(({ status }) => status)).toEqual(['retired', 'retired']);
  });

  test('a change of a row that is pinned to a preview needs allowPreview, as any other write [S157, S158, VE6]', async () => {
    all = [versionOf('v1', 'preview')];
    const { id } = await settings.create(null, demo({ allowPreview: true }), by);
    for (const allowPreview of [undefined, false]) {
      const refused = settings.update(null, id, { name: 'x', credentials: { surprise: 'x' }, allowPreview }, by);
      expect(await refusal(refused)).toBe('400 preview_not_allowed');
      const again = settings.upgrade(null, id, { version: 'v1', allowPreview }, by);
      expect(await refusal(again)).toBe('400 preview_not_allowed');
    }
    const same = { domain: 'auth', providerId: 'demo', version: 'v1', allowPreview: true };
    expect(await settings.update(null, id, { ...same, name: 'x' }, by)).toMatchObject({ name: 'x', version: 'v1' });
    for (const other of [{ domain: 'email' }, { providerId: 'github' }, { version: 'v2' }]) {
      const refused = settings.update(null, id, { ...same, ...other, name: 'y' }, by);
      await expect(refused).rejects.toMatchObject({
        code: 'validation_failed',
        extra: { errors: [{ field: Object.keys(other)[0] }] },
      });
    }
  });

  test('the settings of one owner are nothing to another', async () => {
    const { id } = await settings.create(null, demo(), by);
    for (const work of [
      settings.update(ann.orgId, id, { name: 'x' }, by),
      settings.remove(ann.orgId, id, by),
      settings.test(ann.orgId, id),
      settings.upgrade(ann.orgId, id, { version: 'v1' }, by),
    ])
      expect(await refusal(work)).toBe('404 not_found');
    expect(await settings.list(ann.orgId)).toEqual([]);
    // logins are of the whole instance
    expect(await refusal(settings.create(ann.orgId, demo(), by))).toBe('400 invalid_request');
  });

  test('of several that are enabled the default is used, else the oldest', async () => {
    const first = await settings.create(null, demo({ name: 'first' }), by);
    await settings.create(null, demo({ name: 'second' }), by);
    const third = await settings.create(null, demo({ name: 'third' }), by);
    const used = async () => (await settings.configured(null, 'auth')).get('demo')?.name;
    expect(await used()).toBe('first');
    await settings.update(null, third.id, { isDefault: true }, by);
    expect(await used()).toBe('third');
    await settings.update(null, third.id, { enabled: false }, by);
    expect(await used()).toBe('first');
    await settings.update(null, first.id, { enabled: false }, by);
    expect(await used()).toBe('second');
    expect(await settings.chosen(null, 'auth')).toMatchObject({ name: 'second', values: { name: 'n', key: 'k' } });
    // what was written with it is read with it
    expect(await settings.pinned(null, 'auth', first.id)).toMatchObject({ id: first.id, name: 'first' });
    expect(await refusal(settings.pinned(null, 'social', first.id))).toBe('404 not_found');
    expect(await refusal(settings.pinned(ann.orgId, 'auth', first.id))).toBe('404 not_found');
  });

  test('a setting that a row refers to cannot be deleted, also when the row comes at the same moment [S157]', async () => {
    await db.sql`create table needs_setting (setting_id uuid not null references provider_settings)`;
    for (let round = 0; round < 10; round += 1) {
      const { id } = await settings.create(null, demo(), by);
      const [removed, added] = await Promise.allSettled([
        settings.remove(null, id, by),
        db.sql`insert into needs_setting values (${id})`,
      ]);
      expect([removed.status, added.status].toSorted()).toEqual(['fulfilled', 'rejected']);
      const left = await settings.list(null);
      expect(left.length).toBe(added.status === 'fulfilled' ? 1 : 0);
      if (added.status === 'fulfilled') expect(await refusal(settings.remove(null, id, by))).toBe('409 conflict');
      await db.sql`truncate needs_setting`;
      await db.sql`delete from provider_settings`;
    }
    await db.sql`drop table needs_setting`;
  });

  test('every change tells who opened something with the settings before it; what failed tells nothing [VE22]', async () => {
    told.length = 0;
    const { id } = await settings.create(null, demo(), by);
    await refusal(settings.update(null, id, { credentials: { key: null } }, by));
    expect(told).toEqual([]);
    await settings.update(null, id, { credentials: { key: 'another' } }, by);
    await settings.upgrade(null, id, { version: 'v1' }, by);
    await settings.remove(null, id, by);
    expect(told).toEqual(Array.from({ length: 3 }, () => [null, { domain: 'auth', id: 'demo' }]));
  });

  test('what a test found counts for the settings that were tested, not for those that were written meanwhile [S156, S160]', async () => {
    const { id } = await settings.create(null, demo(), by);
    asked = async () => {
      await settings.update(null, id, { credentials: { key: 'another' } }, by);
      return 'It takes the key';
    };
    expect(await settings.test(null, id)).toMatchObject({ ok: true, message: 'It takes the key' });
    expect((await settings.list(null))[0]).toMatchObject({ lastTestOk: null, lastTestAt: null });
    asked = async () => 'It takes the key';
    await settings.test(null, id);
    expect((await settings.list(null))[0]).toMatchObject({ lastTestOk: true, lastTestAt: expect.any(Date) });
    asked = undefined;
  });

  test('each way to write or try a setting is judged alike [VE12]', async () => {
    all = [versionOf('v1', 'active'), versionOf('v2', 'active')];
    const [first] = all;
    const { id } = await settings.create(null, demo(), by);
    const wrong = { credentials: { name: 'n', key: '', surprise: 'x' } };
    // prettier-ignore
    const word = async (work: Promise<unknown>) => (await work.catch((error: { code: string; extra: { errors: { field: string }[] } }) => [error.code, error.extra.errors.map(({ field }) => field)])) as unknown;
    const expected = ['unknown_field', ['credentials.surprise', 'credentials.key']];
    expect(await word(settings.create(null, demo(wrong), by))).toEqual(expected);
    expect(await word(settings.tryOut(null, demo(wrong)))).toEqual(expected);
    expect(await word(settings.update(null, id, wrong, by))).toEqual(expected);
    await db.sql`
      update provider_settings set credentials = 'sealed by a key that is gone', provider_version = ${first!.version}`;
    expect(await word(settings.upgrade(null, id, { version: 'v2' }, by))).toEqual([
      'validation_failed',
      ['credentials.key'],
    ]);
    expect(await word(settings.test(null, id))).toEqual(['validation_failed', ['credentials.key']]);
  });
});
