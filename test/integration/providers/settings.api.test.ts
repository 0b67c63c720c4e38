// oxlint-disable max-lines -- one product serves all cases
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, openVault } from '../../../src/platform/kernel/index.ts';
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
    const { id, domain, providerId, version, name, options, isDefault, enabled } = body;
    const shown = { domain, providerId, version, name, options, isDefault, enabled };
    const back = await client.put(`/admin/providers/settings/${id}`, { ...shown, allowPreview: false });
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

  test('an app that channels use is deleted once it is disabled, or another takes its place [S157]', async () => {
    const tumblr = (name: string) =>
      own({
        domain: 'social',
        providerId: 'tumblr',
        name,
        credentials: { clientId: 'the-client', clientSecret: SECRET },
      });
    const ids = [];
    for (const name of ['one', 'two']) ids.push((await ask(ann.client, 'POST', '', tumblr(name))).body.id);
    await db.sql`
      insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
      values (${newId()}, ${ann.orgId}, 'tumblr', 'v1', 'blog', 'Blog', 'v2:')`;
    const remove = async (id: string) => (await ask(ann.client, 'DELETE', `/${id}`)).status;
    expect(await remove(ids[0])).toBe(200);
    expect(await remove(ids[1])).toBe(409);
    expect((await ask(ann.client, 'PUT', `/${ids[1]}`, { enabled: false })).status).toBe(200);
    expect(await remove(ids[1])).toBe(200);
    await db.sql`delete from channels where org_id = ${ann.orgId}`;
  });

  test('the last one of the default shortener is deleted once another is the default [S157]', async () => {
    const { id } = (await ask(ann.client, 'POST', '', own())).body;
    const spare = (await ask(ann.client, 'POST', '', own({ enabled: false }))).body;
    const remove = (path: string) => ask(ann.client, 'DELETE', `/${path}`);
    const named = async (defaultShortlinkProviderId: string | null) =>
      expect((await ann.client.put('/settings', { defaultShortlinkProviderId })).status).toBe(200);
    await named('dub');
    const refused = await remove(id);
    expect([refused.status, refused.body.code, refused.body.message]).toEqual([
      409,
      'conflict',
      'The default shortener uses this setting: choose another defaultShortlinkProviderId first',
    ]);
    const shared = (await create(own())).body;
    expect((await remove(id)).status).toBe(200); // that of the instance takes its place
    await client.delete(`/admin/providers/settings/${shared.id}`);
    expect((await remove(spare.id)).status).toBe(409);
    await named(null);
    expect((await remove(spare.id)).status).toBe(200);
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
