import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { openVault } from '../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { openProviderSettings, type ProviderSettings } from '../../../src/providers/settings/index.ts';
import { type AuthAdapter, auth } from '../../../src/providers/auth/_contract.ts';
import type { Lifecycle } from '../../../src/providers/kit/declare/adapter.ts';
import { secret, text } from '../../../src/providers/kit/declare/fields.ts';
import { chooseVersion, lifecycleOf, readFields } from '../../../src/providers/registry/rules.ts';
import { emptyAuditLog } from '../../support/worlds/audit.ts';
import type { Client, SignedUp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type LoginApp, loginApp } from '../../support/worlds/login-world.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: LoginApp;
let admin: SignedUp;
let ann: SignedUp;
let client: Client;
beforeAll(async () => {
  db = await testDatabase();
  app = await loginApp({ sql: db.sql });
  admin = await app.signUp();
  ann = await app.signUp();
  client = admin.client;
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => void (await db.sql`delete from provider_settings`));

const SECRET = 'gh-secret-0123456789-WXYZ';
const github = (more: object = {}) => ({
  domain: 'auth',
  providerId: 'github',
  credentials: { clientId: 'the-client', clientSecret: SECRET },
  ...more,
});
const create = (body: object) => client.post('/admin/providers/settings', body);
const list = async (domain = '') =>
  (await client.get(`/admin/providers/settings${domain && `?domain=${domain}`}`)).body;
const faults = ({ body }: { body: { errors?: { field: string; rule: string }[] } }) =>
  (body.errors ?? []).map(({ field, rule }) => `${field} ${rule}`);

describe('settings for the whole instance', () => {
  test('a setting is written with its plain fields readable and its secrets sealed, and is listed without them [S156, S157, S163]', async () => {
    const made = await create(github({ options: { server: 'ghe.example.com/anything' }, isDefault: true }));
    expect([made.status, made.body]).toEqual([
      201,
      {
        id: expect.any(String),
        domain: 'auth',
        providerId: 'github',
        version: 'v1',
        name: 'GitHub',
        isDefault: true,
        enabled: true,
        options: { clientId: 'the-client', server: 'https://ghe.example.com', api: 'https://api.github.com' },
        credentials: { clientSecret: { set: true, hint: '…WXYZ' } },
        status: 'active',
        upgradeAvailable: null,
        lastTestAt: null,
        lastTestOk: null,
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      },
    ]);
    expect(await list()).toEqual([made.body]);
    expect(await list('auth')).toEqual([made.body]);
    expect(await list('social')).toEqual([]);
    const [row] = await db.sql`select * from provider_settings`;
    expect([row!['org_id'], JSON.stringify(row).includes(SECRET), row!['credentials'].startsWith('v2:')]).toEqual([
      null,
      false,
      true,
    ]);
  });

  test('a change leaves what it does not name, null clears, and another default takes the place of the first [S157]', async () => {
    const { body: first } = await create(github({ isDefault: true }));
    const renamed = await client.put(`/admin/providers/settings/${first.id}`, {
      name: 'Our GitHub',
      credentials: { clientId: 'another-client' },
    });
    expect(renamed.body).toMatchObject({
      name: 'Our GitHub',
      options: { clientId: 'another-client' },
      credentials: { clientSecret: { set: true, hint: '…WXYZ' } },
    });
    const rotated = await client.put(`/admin/providers/settings/${first.id}`, {
      credentials: { clientSecret: 'a-new-secret-that-ends-in-KLMN' },
    });
    expect(rotated.body.credentials.clientSecret).toEqual({ set: true, hint: '…KLMN' });
    const cleared = await client.put(`/admin/providers/settings/${first.id}`, { credentials: { clientSecret: null } });
    expect([cleared.status, faults(cleared)]).toEqual([400, ['credentials.clientSecret required']]);
    const { body: wallet } = await create({
      domain: 'auth',
      providerId: 'wallet',
      credentials: { rpcUrl: 'https://rpc.example.com' },
    });
    const without = await client.put(`/admin/providers/settings/${wallet.id}`, { options: { rpcUrl: null } });
    expect(without.body.options).toEqual({ chainId: '1' });
    await client.put(`/admin/providers/settings/${wallet.id}`, { isDefault: true });
    expect(
      (await list()).map(({ providerId, isDefault }: { providerId: string; isDefault: boolean }) => [
        providerId,
        isDefault,
      ]),
    ).toEqual([
      ['wallet', true],
      ['github', false],
    ]);
  });

  test('what a client was shown can be sent back as it is', async () => {
    const { body } = await create(github());
    const back = await client.put(`/admin/providers/settings/${body.id}`, {
      name: body.name,
      options: body.options,
      isDefault: body.isDefault,
      enabled: body.enabled,
    });
    expect([back.status, { ...back.body, updatedAt: '' }]).toEqual([200, { ...body, updatedAt: '' }]);
  });

  test.each<[string, object, number, string, string[]]>([
    ['an unknown domain', github({ domain: 'nonsense' }), 400, 'unknown_domain', []],
    ['an unknown provider', github({ providerId: 'gitlab' }), 400, 'unknown_version', []],
    ['a provider of another domain', github({ providerId: 'mastodon' }), 400, 'unknown_version', []],
    ['an unknown version', github({ version: 'v9' }), 400, 'unknown_version', []],
    ['an unknown version before its fields', github({ version: 'v9', credentials: {} }), 400, 'unknown_version', []],
    [
      'a provider that has nothing to set',
      { domain: 'auth', providerId: 'local', credentials: {} },
      400,
      'invalid_request',
      [],
    ],
    [
      'a domain that has nothing to set',
      { domain: 'social', providerId: 'bluesky', credentials: {} },
      400,
      'invalid_request',
      [],
    ],
    [
      'missing fields',
      github({ credentials: {} }),
      400,
      'validation_failed',
      ['credentials.clientId required', 'credentials.clientSecret required'],
    ],
    [
      'fields that there are not',
      github({ credentials: { clientId: 'a', clientSecret: SECRET, colour: 'red' } }),
      400,
      'unknown_field',
      ['credentials.colour unknown'],
    ],
    [
      'fields that every object inherits',
      github({ credentials: { clientId: 'a', clientSecret: SECRET, constructor: 'x' } }),
      400,
      'unknown_field',
      ['credentials.constructor unknown'],
    ],
    [
      'options that there are not',
      github({ options: { colour: 'red' } }),
      400,
      'unknown_field',
      ['options.colour unknown'],
    ],
    [
      'what every object inherits',
      github({ options: { constructor: 'x' } }),
      400,
      'unknown_field',
      ['options.constructor unknown'],
    ],
    [
      'a secret among the options',
      github({ options: { clientSecret: SECRET } }),
      400,
      'validation_failed',
      ['options.clientSecret misplaced'],
    ],
    [
      'an address that is none',
      github({ options: { api: 'not an address' } }),
      400,
      'validation_failed',
      ['credentials.api invalid_format'],
    ],
    [
      'an address with a password',
      github({ options: { api: 'https://a:b@api.github.com' } }),
      400,
      'validation_failed',
      ['credentials.api invalid_format'],
    ],
    [
      'an address of a private network',
      github({ options: { api: 'https://10.0.0.1/api' } }),
      400,
      'blocked_url',
      ['credentials.api blocked_url'],
    ],
    [
      'an address of the cloud around us',
      github({ options: { server: '169.254.169.254' } }),
      400,
      'blocked_url',
      ['credentials.server blocked_url'],
    ],
    [
      'neither an issuer nor addresses',
      { domain: 'auth', providerId: 'generic', credentials: { clientId: 'a', clientSecret: SECRET } },
      400,
      'validation_failed',
      ['credentials.issuer required'],
    ],
    [
      'two of three addresses',
      {
        domain: 'auth',
        providerId: 'generic',
        credentials: {
          clientId: 'a',
          clientSecret: SECRET,
          authUrl: 'https://l.example/a',
          tokenUrl: 'https://l.example/t',
        },
      },
      400,
      'validation_failed',
      ['credentials.issuer required'],
    ],
  ])('%s is refused, and nothing is written [S158, VE11]', async (_, body, status, code, errors) => {
    const answer = await create(body);
    expect([answer.status, answer.body.code, faults(answer)]).toEqual([status, code, errors]);
    expect(answer.text).not.toContain(SECRET);
    expect(await list()).toEqual([]);
  });

  test('a deleted setting is gone, and an unknown one is 404', async () => {
    const { body } = await create(github());
    expect((await client.delete(`/admin/providers/settings/${body.id}`)).body).toEqual({ success: true });
    for (const answer of [
      await client.delete(`/admin/providers/settings/${body.id}`),
      await client.put(`/admin/providers/settings/${body.id}`, { name: 'x' }),
      await client.post(`/admin/providers/settings/${body.id}/upgrade`, { version: 'v1' }),
      await client.post(`/admin/providers/settings/${body.id}/test`),
      await client.put('/admin/providers/settings/nothing', { name: 'x' }),
    ])
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });

  test('a refusal by the provider is the answer of a test, and is remembered until the setting changes [S160]', async () => {
    const { body } = await create({
      domain: 'auth',
      providerId: 'wallet',
      credentials: { rpcUrl: 'http://127.0.0.1:9/' },
    });
    const tested = await client.post(`/admin/providers/settings/${body.id}/test`);
    expect([tested.status, tested.body]).toEqual([
      200,
      { ok: false, message: expect.stringContaining('Crypto wallet'), latencyMs: expect.any(Number) },
    ]);
    expect((await list())[0]).toMatchObject({ lastTestOk: false, lastTestAt: expect.any(String) });
    await client.put(`/admin/providers/settings/${body.id}`, { options: { rpcUrl: null } });
    expect((await list())[0]).toMatchObject({ lastTestOk: null, lastTestAt: null });
    expect((await client.post(`/admin/providers/settings/${body.id}/test`)).body.ok).toBe(true);
    expect((await list())[0]).toMatchObject({ lastTestOk: true });
    expect(
      (await client.post('/admin/providers/settings/test', github({ options: { server: 'http://127.0.0.1:9' } }))).body
        .ok,
    ).toBe(false);
    expect(await list()).toHaveLength(1);
  });

  test('of twenty that become the default at once exactly one is it [S157]', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => create(github({ isDefault: true }))));
    for (const { status } of answers) expect([201, 409]).toContain(status);
    const rows = await list();
    expect([rows.length, rows.filter(({ isDefault }: { isDefault: boolean }) => isDefault).length]).toEqual([
      answers.filter(({ status }) => status === 201).length,
      1,
    ]);
  });

  test('twenty changes of different fields at once are all kept', async () => {
    const { body } = await create(github());
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        client.put(
          `/admin/providers/settings/${body.id}`,
          n % 2 ? { name: 'Changed' } : { options: { clientId: 'changed' } },
        ),
      ),
    );
    expect((await list())[0]).toMatchObject({
      name: 'Changed',
      options: { clientId: 'changed' },
      credentials: { clientSecret: { set: true } },
    });
  });

  test('only a super-admin sees or changes them [S163]', async () => {
    const { body } = await create(github());
    for (const answer of [
      await ann.client.get('/admin/providers/settings'),
      await ann.client.post('/admin/providers/settings', github()),
      await ann.client.put(`/admin/providers/settings/${body.id}`, { name: 'x' }),
      await ann.client.delete(`/admin/providers/settings/${body.id}`),
      await ann.client.post(`/admin/providers/settings/${body.id}/test`),
    ])
      expect([answer.status, answer.text.includes('the-client')]).toEqual([403, false]);
    expect(await list()).toHaveLength(1);
  });

  test('who changed what is in the audit log, and no secret is', async () => {
    await emptyAuditLog(db.sql);
    const { body } = await create(github());
    await client.put(`/admin/providers/settings/${body.id}`, { credentials: { clientSecret: `${SECRET}-2` } });
    await client.post(`/admin/providers/settings/${body.id}/upgrade`, { version: 'v1' });
    await client.delete(`/admin/providers/settings/${body.id}`);
    const notes =
      await db.sql`select action, user_id, resource, resource_id, org_id, detail from audit_log order by id`;
    expect(
      notes.map(({ action, user_id, resource, resource_id, org_id }) => [
        action,
        user_id,
        resource,
        resource_id,
        org_id,
      ]),
    ).toEqual(
      ['created', 'updated', 'upgraded', 'deleted'].map((word) => [
        `provider_setting.${word}`,
        admin.userId,
        'providers',
        body.id,
        null,
      ]),
    );
    expect(notes[1]!['detail']).toEqual({ domain: 'auth', providerId: 'github', fields: ['clientSecret'] });
    expect(JSON.stringify(notes)).not.toContain(SECRET);
  });

  test('secrets that the key does not open count as not set, and can be set again', async () => {
    const { body } = await create(github());
    await db.sql`
      update provider_settings set credentials = ${openVault(Buffer.alloc(32)).seal('{"clientSecret":"x"}')}`;
    expect((await list())[0].credentials.clientSecret).toEqual({ set: false, hint: null });
    expect(faults(await client.put(`/admin/providers/settings/${body.id}`, { name: 'x' }))).toEqual([
      'credentials.clientSecret required',
    ]);
    expect(
      (await client.put(`/admin/providers/settings/${body.id}`, { credentials: { clientSecret: SECRET } })).status,
    ).toBe(200);
  });
});

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

describe('settings of an organization', () => {
  const own = (more: object = {}) => ({
    domain: 'shortlink',
    providerId: 'dub',
    credentials: { apiKey: 'dub-key-0123456789-WXYZ' },
    ...more,
  });
  const ask = (who: Client, method: string, path = '', body?: unknown) =>
    who.send(method, `/providers/settings${path}`, body);

  test('are kept by its people, apart from those of the instance and of others [S156, S157, S163]', async () => {
    const made = await ask(ann.client, 'POST', '', own());
    expect([made.status, made.body]).toMatchObject([
      201,
      { domain: 'shortlink', providerId: 'dub', version: 'v1', credentials: { apiKey: { set: true, hint: '…WXYZ' } } },
    ]);
    const { id } = made.body;
    expect((await ask(ann.client, 'GET', '?domain=shortlink')).body.map((one: { id: string }) => one.id)).toEqual([id]);
    expect((await ask(admin.client, 'GET')).body).toEqual([]);
    expect(await list()).toEqual([]);
    for (const path of ['/admin/providers/settings', '/providers/settings']) {
      expect((await client.put(`${path}/${id}`, { name: 'x' })).status).toBe(404);
      expect((await client.delete(`${path}/${id}`)).status).toBe(404);
    }
    expect((await ask(ann.client, 'PUT', `/${id}`, { name: 'Ours' })).body.name).toBe('Ours');
    expect((await ask(ann.client, 'DELETE', `/${id}`)).body).toEqual({ success: true });
    const [row] = await db.sql`select count(*)::int as n from provider_settings`;
    expect(row!['n']).toBe(0);
  });

  test('are of its own providers only: how people log in is of the whole instance', async () => {
    const { status, body } = await ask(ann.client, 'POST', '', github());
    expect([status, body.code, body.message]).toEqual([
      400,
      'invalid_request',
      'auth/github is set for the whole instance only',
    ]);
  });
});
