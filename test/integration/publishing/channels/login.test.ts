// oxlint-disable max-lines -- one product and one network serve all cases
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../../sandbox/index.ts';
import { newId, sha256 } from '../../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { type Publisher, startPublisher } from '../../../support/worlds/publishing/world.ts';
import { startReceiver } from '../../../support/wire/receiver.ts';
import { type SocialServer, startSocialServer } from '../../../support/peers/social-server.ts';

const FRONTEND = 'https://app.example';
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let publisher: Publisher;
let network: SocialServer;
let ann: SignedUp;
let ben: SignedUp;

const env = { FRONTEND_URL: FRONTEND, INTEGRATION_RETURN_URL_ALLOWLIST: 'https://partner.example' };

beforeAll(async () => {
  db = await testDatabase();
  sandbox = await startSandbox({ sql: db.sql });
  publisher = await startPublisher({ url: db.url, env, servers: { 'social/sandbox': sandbox.url } });
  app = await testApp({ sql: db.sql, env, ...publisher.beside });
  [ann, ben] = [await app.signUp(), await app.signUp()];
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await publisher?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  network = await startSocialServer();
});
afterEach(async () => {
  await network[Symbol.asyncDispose]();
  await db.sql`truncate channels, connect_states, provider_apps, outbox, customers cascade`;
});

const begin = async (who: { get: Client['get'] } = ann.client, more = '') => {
  const { status, body } = await who.get(
    `/integrations/social/mastodon?externalUrl=${encodeURIComponent(network.url)}${more}`,
  );
  if (status !== 200) throw new Error(`begin: ${status} ${JSON.stringify(body)}`);
  return body.url as string;
};
const finish = (sent: Record<string, unknown>, who: SignedUp = ann, provider = 'mastodon') =>
  who.client.post(`/integrations/social-connect/${provider}`, sent);
const consentAndFinish = async (who: SignedUp = ann, more = '') => {
  const { code, state } = network.consent(await begin(who.client, more));
  return finish({ code, state }, who);
};
const sandboxChannel = (name: string, who: SignedUp = ann) =>
  who.client.post('/integrations/social-connect/sandbox', { fields: { name }, allowPreview: true });

const CHANNEL_KEYS = [
  'additionalSettings',
  'changeNickName',
  'changeProfilePicture',
  'createdAt',
  'customFields',
  'customer',
  'disabled',
  'display',
  'editor',
  'id',
  'identifier',
  'inBetweenSteps',
  'internalId',
  'isCustomFields',
  'name',
  'picture',
  'postingTimes',
  'profile',
  'providerIdentifier',
  'providerVersion',
  'refreshNeeded',
  'stripLinks',
  'time',
  'tokenDaysLeft',
  'tokenExpiration',
  'type',
];

describe('connecting a channel by OAuth', () => {
  test('registers an app, checks PKCE and state, and stores sealed tokens [S127, S130, S131, CH1, CH2, SC1, SC2]', async () => {
    const url = await begin();
    const { code, state, redirect } = network.consent(url);
    expect(redirect).toBe(`${FRONTEND}/integrations/social/mastodon`);
    const { status, body } = await finish({ code, state, timezone: '-60' });
    expect(status).toBe(200);
    expect(Object.keys(body).toSorted()).toEqual(CHANNEL_KEYS);
    expect(body).toMatchObject({
      name: 'Ann',
      identifier: 'mastodon',
      providerIdentifier: 'mastodon',
      internalId: `1@${new URL(network.url).host}`,
      disabled: false,
      refreshNeeded: false,
      inBetweenSteps: false,
      postingTimes: [{ time: 120 }, { time: 400 }, { time: 700 }],
      providerVersion: 'v1',
    });
    const [row] = await db.sql`select credentials from channels`;
    expect(row!['credentials']).toMatch(/^v2:/);
    const token = [...network.tokens.keys()][0]!;
    const dump = JSON.stringify([
      await db.sql`select * from channels`,
      await db.sql`select * from provider_apps`,
      await db.sql`select * from connect_states`,
      await db.sql`select * from outbox`,
    ]);
    for (const secret of [token, [...network.apps.values()][0]!.clientSecret, state, code])
      expect(dump).not.toContain(secret);
    expect(JSON.stringify(body)).not.toContain(token);
    expect(app.context.vault.open(row!['credentials'] as string)).toContain(token);
  });

  test('keeps the name of an account in one line, without marks that turn what stands around it', async () => {
    network.name = 'An\u202En\n of\u0000 Acme';
    expect((await consentAndFinish()).body).toMatchObject({ name: 'Ann of Acme' });
  });

  test('stores the state as a hash and the verifier sealed, both for one hour [S130]', async () => {
    const state = new URL(await begin()).searchParams.get('state')!;
    const [row] = await db.sql`select *, expires_at - now() as left from connect_states`;
    expect(Buffer.from(row!['state_hash'] as Uint8Array)).toEqual(sha256(state));
    expect(row!['sealed']).toMatch(/^v2:/);
    const [left] =
      await db.sql`select extract(epoch from expires_at - now()) between 3500 and 3600 as ok from connect_states`;
    expect(left!['ok']).toBe(true);
  });

  test('uses one registered app per server, and registers it again before the server may forget it', async () => {
    await consentAndFinish();
    await begin();
    expect(network.apps.size).toBe(1);
    await db.sql`update provider_apps set created_at = now() - interval '13 hours'`;
    await consentAndFinish();
    expect(network.apps.size).toBe(2);
  });

  test('accepts a state once, for its user, organization, network and hour [S130, X7]', async () => {
    const fresh = async () => network.consent(await begin());
    const used = await fresh();
    expect((await finish(used)).status).toBe(400); // `redirect` is no field
    expect((await finish({ code: used.code, state: used.state })).status).toBe(200);
    expect((await finish({ code: used.code, state: used.state })).body.code).toBe('invalid_request');

    const { code, state } = await fresh();
    expect((await finish({ code, state }, ben)).status).toBe(400);
    expect((await finish({ code, state }, ann, 'pixelfed')).status).toBe(400);
    await db.sql`update connect_states set expires_at = now() - interval '1 second'`;
    expect((await finish({ code, state })).status).toBe(400);
    for (const forged of ['x', state.slice(1), `${state}x`, '\u0000', ''])
      expect((await finish({ code, state: forged })).status).toBe(400);
    expect(await db.sql`select 1 from channels where org_id = ${ben.orgId}`).toHaveLength(0);
  });

  test('of ten concurrent uses of one state exactly one succeeds [X25, S130]', async () => {
    const { code, state } = network.consent(await begin());
    const statuses = (await Promise.all(Array.from({ length: 10 }, () => finish({ code, state })))).map(
      ({ status }) => status,
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(9);
    expect(network.grants).toEqual(['authorization_code']);
  });

  test('answers 400 with the name of the network to a refused code, and 502 when the network is away [S131]', async () => {
    const wrong = network.consent(await begin());
    const refused = await finish({ code: 'made-up', state: wrong.state });
    expect([refused.status, refused.body.provider]).toEqual([400, 'mastodon']);
    expect(JSON.stringify(refused.body)).not.toContain('made-up');
    const other = network.consent(await begin());
    network.beforeGrant = async () => 'hang up';
    expect((await finish({ code: other.code, state: other.state })).status).toBe(502);
    const garbage = network.consent(await begin());
    network.beforeGrant = async () => ({ status: 200, body: ['nonsense'] });
    expect((await finish({ code: garbage.code, state: garbage.state })).status).toBe(502);
    expect(await db.sql`select 1 from channels`).toHaveLength(0);
  });

  test('connecting an account twice gives the same channel, and each organization its own [S246]', async () => {
    const first = await consentAndFinish();
    network.name = 'Ann B.';
    const second = await consentAndFinish();
    expect([second.status, second.body.id, second.body.name]).toEqual([200, first.body.id, 'Ann B.']);
    const other = await consentAndFinish(ben);
    expect(other.body.id).not.toBe(first.body.id);
    expect((await ann.client.get('/integrations/list')).body.integrations).toHaveLength(1);
  });

  test('ten people who connect one account at once get one channel [S246, X25]', async () => {
    const logins = [];
    for (let n = 0; n < 10; n++) logins.push(network.consent(await begin()));
    const answers = await Promise.all(logins.map(({ code, state }) => finish({ code, state })));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(1);
  });

  test('a reconnect keeps the channel; another account is 409; a foreign channel is unknown [S130, S135]', async () => {
    const { body: channel } = await consentAndFinish();
    await app.context.channels.needsLogin(ann.orgId, channel.id, 'revoked');
    expect((await ann.client.get(`/integrations/${channel.id}`)).body.refreshNeeded).toBe(true);
    network.account = '2';
    const other = await consentAndFinish(ann, `&refresh=${channel.id}`);
    expect([other.status, other.body.code]).toEqual([409, 'conflict']);
    expect(await db.sql`select 1 from channels`).toHaveLength(1);
    network.account = '1';
    const again = await consentAndFinish(ann, `&refresh=${channel.id}`);
    expect([again.status, again.body.id, again.body.refreshNeeded]).toEqual([200, channel.id, false]);
    for (const refresh of [newId(), 'x', '%00'])
      expect(
        (await ann.client.get(`/integrations/social/mastodon?externalUrl=${network.url}&refresh=${refresh}`)).status,
      ).toBe(refresh === '%00' ? 400 : 404);
    expect(
      (await ben.client.get(`/integrations/social/mastodon?externalUrl=${network.url}&refresh=${channel.id}`)).status,
    ).toBe(404);
    const { code, state } = network.consent(await begin(ben.client));
    expect(await finish({ code, state, refresh: channel.id }, ben)).toMatchObject({
      status: 400,
      body: { errors: [{ field: 'refresh' }] },
    });
  });

  test('a reconnect needs the permission to update channels, a new channel the one to create them [S130, S135]', async () => {
    const { body: channel } = await consentAndFinish();
    const { body: typed } = await sandboxChannel('studio');
    const cat = await app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${cat.userId}, 'editor')`;
    cat.client.headers = { showorg: ann.orgId };
    const granted = network.consent(await begin(cat.client, `&refresh=${channel.id}`));
    const again = await finish({ code: granted.code, state: granted.state }, cat);
    expect([again.status, again.body.id]).toEqual([200, channel.id]);
    const old = network.consent(await begin(cat.client, `&refresh=${channel.id}`));
    await db.sql`update connect_states set expires_at = now()`;
    // used before, and older than an hour
    for (const login of [granted, old])
      expect(await finish({ code: login.code, state: login.state }, cat)).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining('start again') },
      });
    const fields = { fields: { name: 'studio' }, allowPreview: true };
    expect((await finish({ ...fields, refresh: typed.id }, cat, 'sandbox')).body.id).toBe(typed.id);
    expect(await finish(fields, cat, 'sandbox')).toMatchObject({ status: 403, body: { code: 'forbidden' } });
    await expect(begin(cat.client)).rejects.toThrow('begin: 403');
    const { code, state } = network.consent(await begin()); // it is Ann's
    expect((await finish({ code, state }, cat)).status).toBe(400);
    // fields need no state: neither one that is not known nor one that is makes a reconnect of them
    expect((await finish({ ...fields, state }, cat, 'sandbox')).status).toBe(403);
    const { state: own } = network.consent(await begin(cat.client, `&refresh=${channel.id}`));
    await db.sql`update connect_states set provider_id = 'sandbox'`;
    expect((await finish({ ...fields, fields: { name: 'new' }, state: own }, cat, 'sandbox')).status).toBe(403);
  });

  test('requires a server address, and checks it before anything is sent [S130, X1]', async () => {
    const ask = async (externalUrl: string | undefined) =>
      await ann.client.get(
        `/integrations/social/mastodon${externalUrl === undefined ? '' : `?externalUrl=${encodeURIComponent(externalUrl)}`}`,
      );
    for (const externalUrl of [undefined, '', 'http://', 'ftp://a.example', 'x'.repeat(3_000), 'javascript:alert(1)'])
      expect([externalUrl, (await ask(externalUrl)).status]).toEqual([externalUrl, 400]);
    expect((await ask(undefined)).body).toMatchObject({ err: true, errors: [{ field: 'externalUrl' }] });
    for (const externalUrl of ['https://10.0.0.1', 'https://169.254.169.254', 'https://[::1]', 'http://0x0a000001'])
      expect((await ask(externalUrl)).body.code).toBe('blocked_url');
    const away = await ask('http://127.0.0.1:9');
    expect([away.status, away.body.err]).toEqual([400, true]);
    expect(await db.sql`select 1 from connect_states`).toHaveLength(0);
  });

  test('accepts only listed return addresses, and redirects to them at the end [S134, X18]', async () => {
    const good = await consentAndFinish(ann, `&returnUrl=${encodeURIComponent('https://partner.example/done?x=1')}`);
    expect(good.body.returnUrl).toBe('https://partner.example/done?x=1');
    for (const bad of [
      'https://partner.example.evil.test/',
      'http://partner.example/',
      'https://partner.example:8443/',
      'https://partner.example@evil.test/',
      'javascript:alert(1)',
      '//partner.example',
      'x',
    ])
      expect([
        bad,
        (
          await ann.client.get(
            `/integrations/social/mastodon?externalUrl=${network.url}&returnUrl=${encodeURIComponent(bad)}`,
          )
        ).status,
      ]).toEqual([bad, 400]);
  });

  test('refuses a login without a permission that the person unticked, and names it', async () => {
    network.granted = 'read:accounts read:statuses';
    const refused = await consentAndFinish();
    expect(refused).toMatchObject({
      status: 400,
      body: { provider: 'mastodon', missingScopes: ['read:search', 'write:statuses', 'write:media'] },
    });
    expect(await db.sql`select 1 from channels`).toHaveLength(0);
  });

  test('tells a person who gave no access so, and uses up the state [S131]', async () => {
    const { code, state } = network.consent(await begin());
    const refused = await finish({ state, callback: { error: 'access_denied' } });
    expect(refused).toMatchObject({ status: 400, body: { provider: 'mastodon' } });
    expect(JSON.stringify(refused.body)).toContain('access_denied');
    expect((await finish({ code, state })).status).toBe(400);
    expect(network.grants).toEqual([]);
  });

  test('ends the login of a deleted channel at the network', async () => {
    const { body: channel } = await consentAndFinish();
    const [token] = [...network.tokens.keys()];
    expect(await app.context.channels.remove(ann.orgId, channel.id)).toBe(true);
    await eventually('the token is revoked', () => network.revoked.length > 0);
    expect(network.revoked).toEqual([token]);
    expect(network.tokens.has(token!)).toBe(false);
  });

  test('deletes a channel although its network does not answer', async () => {
    const { body: channel } = await consentAndFinish();
    await network[Symbol.asyncDispose]();
    expect(await app.context.channels.remove(ann.orgId, channel.id)).toBe(true);
    expect((await ann.client.get(`/integrations/${channel.id}`)).status).toBe(404);
    network = await startSocialServer();
  });

  test('uses the app of an organization before any other, for that organization alone [DE42]', async () => {
    network.apps.set('theirs', {
      clientId: 'theirs',
      clientSecret: 'their-secret',
      redirectUri: `${FRONTEND}/integrations/social/mastodon`,
      scopes: 'read:accounts read:statuses read:search write:statuses write:media',
    });
    const credentials = { clientId: 'theirs', clientSecret: 'their-secret', server: network.url };
    const made = await ann.client.post('/providers/settings', {
      domain: 'social',
      providerId: 'mastodon',
      credentials,
    });
    expect([made.status, JSON.stringify(made.body).includes('their-secret')]).toEqual([201, false]);
    const { code, state } = network.consent(await begin());
    expect((await finish({ code, state })).status).toBe(200);
    expect([...network.apps.keys()]).toEqual(['theirs']);
    expect(new URL(await begin(ben.client)).searchParams.get('client_id')).not.toBe('theirs');
    await db.sql`delete from provider_settings`;
  });

  test('uses the app of the operator where there is one, else one registered with the server [S128]', async () => {
    network.apps.set('own', {
      clientId: 'own',
      clientSecret: 'sealed-by-operator',
      redirectUri: `${FRONTEND}/integrations/social/mastodon`,
      scopes: 'read:accounts read:statuses read:search write:statuses write:media',
    });
    const own = { MASTODON_URL: network.url, MASTODON_CLIENT_ID: 'own', MASTODON_CLIENT_SECRET: 'sealed-by-operator' };
    await using withApp = await testApp({ sql: db.sql, env: { ...env, ...own } });
    const room = withApp.context.channels;
    const { url } = await room.begin(ann, 'mastodon', { externalUrl: network.url });
    expect(new URL(url).searchParams.get('client_id')).toBe('own');
    const { code, state } = network.consent(url);
    expect((await room.complete({ ...ann, mayUpdate: true }, 'mastodon', { code, state })).created).toBe(true);
    expect(network.apps.size).toBe(1);
  });
});

describe('connecting a channel by fields', () => {
  const base64 = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64');

  test('accepts `fields` or `code`, without a state [S132, S243, S244]', async () => {
    const first = await sandboxChannel('studio');
    expect([first.status, first.body.name, first.body.identifier, first.body.isCustomFields]).toEqual([
      200,
      'studio',
      'sandbox',
      true,
    ]);
    const second = await ann.client.post('/integrations/social-connect/sandbox', {
      code: base64({ name: 'studio' }),
      allowPreview: true,
    });
    expect(second.body.id).toBe(first.body.id);
    const [row] = await db.sql`select credentials from channels`;
    expect(row!['credentials']).toMatch(/^v2:/);
    expect(Object.keys(first.body).toSorted()).toEqual(CHANNEL_KEYS);
  });

  test('a member who may create but not update channels cannot replace the login of one', async () => {
    const first = await sandboxChannel('studio');
    const [before] = await db.sql`select credentials from channels where id = ${first.body.id}`;
    const role = newId();
    await db.sql`
      insert into roles (id, org_id, name, permissions)
      values (${role}, ${ann.orgId}, 'Creator', '{channels:create,channels:read}')`;
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${ben.userId}, ${role})`;
    try {
      const creator = { showorg: ann.orgId };
      const connect = (name: string) =>
        ben.client.post('/integrations/social-connect/sandbox', { fields: { name }, allowPreview: true }, creator);
      expect(await connect('studio')).toMatchObject({ status: 403, body: { code: 'forbidden' } });
      expect((await connect('another')).status).toBe(200);
      expect(await db.sql`select credentials from channels where id = ${first.body.id}`).toEqual([before]);
    } finally {
      await db.sql`delete from memberships where org_id = ${ann.orgId} and user_id = ${ben.userId}`;
    }
  });

  test('returns a preview only with allowPreview [S243]', async () => {
    expect((await ann.client.post('/integrations/social-connect/sandbox', { fields: { name: 'a' } })).body.code).toBe(
      'preview_not_allowed',
    );
    expect(
      (await ann.client.post('/integrations/social-connect/sandbox', { fields: { name: 'a' }, allowPreview: false }))
        .body.code,
    ).toBe('preview_not_allowed');
  });

  test('names every invalid field and writes nothing [S6, S7, S132, X24]', async () => {
    const bad: [Record<string, unknown>, string][] = [
      [{}, 'fields'],
      [{ fields: {} }, 'fields.name'],
      [{ fields: { name: '' } }, 'fields.name'],
      [{ fields: { name: 5 } }, 'fields.name'],
      [{ fields: { name: 'x'.repeat(101) } }, 'fields.name'],
      [{ fields: { name: 'a', token: 'b' } }, 'fields.token'],
      [{ fields: [] }, 'fields'],
      [{ fields: 'a' }, 'fields'],
      [{ code: 'not base64 json' }, 'code'],
      [{ code: base64('text') }, 'code'],
      [{ code: 7 }, 'code'],
      [{ code: 'x'.repeat(20_000) }, 'code'],
      [{ fields: { name: 'a' }, state: 5 }, 'state'],
      [{ fields: { name: 'a' }, refresh: 5 }, 'refresh'],
      [{ fields: { name: 'a' }, refresh: newId() }, 'refresh'],
      [{ fields: { name: 'a' }, timezone: {} }, 'timezone'],
      [{ fields: { name: 'a' }, disabled: false }, 'disabled'],
      [{ fields: { name: 'a' }, orgId: ben.orgId }, 'orgId'],
    ];
    for (const [body, field] of bad) {
      const answer = await ann.client.post('/integrations/social-connect/sandbox', { allowPreview: true, ...body });
      expect([body, answer.status, answer.body.errors?.[0]?.field]).toEqual([body, 400, field]);
    }
    expect(
      (await ann.client.post('/integrations/social-connect/sandbox', { allowPreview: 'yes', fields: { name: 'a' } }))
        .status,
    ).toBe(400);
    expect(await db.sql`select 1 from channels`).toHaveLength(0);
  });

  test('wrong credentials are 400 with the name of the network, and so are unknown networks [S132]', async () => {
    await using pds = await startReceiver({
      answer: (response) =>
        void response
          .writeHead(401, { 'content-type': 'application/json' })
          .end('{"error":"AuthenticationRequired","message":"Invalid identifier or password"}'),
    });
    const answer = await ann.client.post('/integrations/social-connect/bluesky', {
      fields: { service: pds.url, identifier: 'ann.test', password: 'wrong-app-password' },
    });
    expect([answer.status, answer.body.provider]).toEqual([400, 'bluesky']);
    expect(answer.text).not.toContain('wrong-app-password');
    expect((await ann.client.post('/integrations/social-connect/myspace', { fields: {} })).body.code).toBe(
      'unknown_version',
    );
    expect((await ann.client.get('/integrations/social/sandbox?allowPreview=true')).status).toBe(400);
    expect((await ann.client.get('/integrations/social/myspace')).status).toBe(400);
  });
});
