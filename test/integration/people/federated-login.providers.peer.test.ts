import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testDatabase } from '../../support/wire/database.ts';
import {
  comeBack,
  FRONTEND,
  genericByAddresses,
  type LoginApp,
  loginApp,
  LoginPeer,
  MAIN,
  registerBy,
  SECRET,
} from '../../support/worlds/login-world.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';

// Against a certified OpenID provider (oidc-provider) and doubles of Google and GitHub (emulate), each in its own
// process.

await describePeer(
  'login',
  () => npmPeer('login'),
  ({ start }) => {
    let peer: Peer;
    let told: LoginPeer;
    let db: Awaited<ReturnType<typeof testDatabase>>;
    let app: LoginApp;
    let admin: Awaited<ReturnType<LoginApp['signUp']>>['client'];
    beforeAll(async () => {
      peer = await start();
      told = LoginPeer.parse(peer.env);
      db = await testDatabase();
      app = await loginApp({ sql: db.sql, env: genericByAddresses(peer.url), google: told.google });
      admin = (await app.signUp()).client; // the first: a super-admin
    }, 120_000);
    afterAll(async () => {
      await app[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
      await peer[Symbol.asyncDispose]();
    });
    const set = async (body: object) => {
      const { status, body: made, text } = await admin.post('/admin/providers/settings', { domain: 'auth', ...body });
      expect([status, status === 201 || text]).toEqual([201, true]);
      return made;
    };
    const drop = (id: string) => admin.delete(`/admin/providers/settings/${id}`);

    test('generic OIDC from the environment uses state, nonce and PKCE at the three addresses, registers once and logs in later [S30, S36, DE15, DE16, DE17, DE18, DE19, DE20, DE21]', async () => {
      const client = app.client();
      const { url, code, state } = await comeBack(client, 'generic', 'ann');
      expect(url.origin + url.pathname).toBe(`${peer.url}/auth`);
      expect(Object.fromEntries(url.searchParams)).toMatchObject({
        client_id: 'rookery',
        scope: 'openid profile email',
        redirect_uri: `${FRONTEND}/auth/callback/generic`,
        code_challenge_method: 'S256',
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
        state,
      });
      const known = await client.post('/auth/oauth/generic/exists', { code, state });
      expect([known.status, Object.keys(known.body), client.cookies.has('auth')]).toEqual([200, ['token'], false]);
      const registered = await client.post('/auth/register', {
        provider: 'GENERIC',
        providerToken: known.body.token,
        company: 'Ann & Co',
      });
      expect([registered.status, registered.body]).toEqual([200, { register: true }]);
      const { body: self } = await client.get('/user/self');
      expect(self).toMatchObject({
        email: 'ann@example.test',
        name: 'Ann Example',
        providerName: 'generic',
        activated: true,
        orgName: 'Ann & Co',
        isSuperAdmin: false,
      });

      const again = app.client();
      const second = await comeBack(again, 'generic', 'ann');
      expect((await again.post('/auth/oauth/generic/exists', { code: second.code, state: second.state })).body).toEqual(
        { login: true },
      );
      expect((await again.get('/user/self')).body.id).toBe(self.id);
    });

    test('settings in the database override the environment: the issuer gives addresses and keys; a disabled one is not offered [US5, S163]', async () => {
      const setting = await set({
        providerId: 'generic',
        name: 'Work account',
        credentials: { issuer: peer.url, clientId: 'rookery-basic', clientSecret: 'the:secret+of/basic' },
      });
      const listed = async () => (await app.client().get('/auth/providers')).body;
      expect(await listed()).toEqual([
        { identifier: 'local', name: 'Email and password', type: 'password' },
        { identifier: 'generic', name: 'Work account', type: 'oauth2' },
      ]);
      const client = app.client();
      const { url, back, code, state } = await comeBack(client, 'generic', 'newcomer-1');
      expect(url.searchParams.get('client_id')).toBe('rookery-basic');
      const iss = back.searchParams.get('iss')!;
      expect(iss).toBe(peer.url);
      expect((await client.post('/auth/oauth/generic/exists', { code, state, iss })).body).toEqual({
        token: expect.any(String),
      });

      await admin.put(`/admin/providers/settings/${setting.id}`, { enabled: false });
      expect((await listed()).map(({ identifier }: { identifier: string }) => identifier)).toEqual(['local']);
      expect((await app.client().get('/auth/oauth/generic')).status).toBe(404);
      await drop(setting.id);
      expect(await listed()).toContainEqual({ identifier: 'generic', name: 'OpenID Connect', type: 'oauth2' });
    });

    test('a code in the name of another issuer is refused', async () => {
      const setting = await set({
        providerId: 'generic',
        credentials: { issuer: peer.url, clientId: 'rookery', clientSecret: SECRET },
      });
      const client = app.client();
      const { code, state } = await comeBack(client, 'generic', 'ann');
      expect(
        (await client.post('/auth/oauth/generic/exists', { code, state, iss: 'https://evil.example' })).status,
      ).toBe(400);
      await drop(setting.id);
    });

    test('Google by a signed id_token and GitHub by its API register and log in [S36, US5]', async () => {
      const settings = [
        await set({ providerId: 'google', credentials: { clientId: 'the-client', clientSecret: SECRET } }),
        await set({
          providerId: 'github',
          credentials: { clientId: 'the-client', clientSecret: SECRET },
          options: { server: told.github, api: told.github },
        }),
      ];
      for (const [provider, as, email] of [
        ['google', 'gwen@example.test', 'gwen@example.test'],
        ['github', 'gil', 'gil@example.test'],
      ] as const) {
        const self = await registerBy(app.client(), provider, as);
        expect(self).toMatchObject({ providerName: provider, email });
        const again = app.client();
        const { code, state } = await comeBack(again, provider, as);
        expect([provider, (await again.post(`/auth/oauth/${provider}/exists`, { code, state })).body]).toEqual([
          provider,
          { login: true },
        ]);
        expect((await again.get('/user/self')).body.id).toBe(self.id);
      }
      const accounts = await db.sql`select provider_id from users where provider_name = 'github'`;
      expect(accounts[0]!['provider_id']).toMatch(/^\d+$/); // the number, not the login name
      for (const { id } of settings) await drop(id);
    });

    test('a code is valid once and only with its own verifier', async () => {
      const [ann, eve] = [app.client(), app.client()];
      const hers = await comeBack(ann, 'generic', 'newcomer-2');
      const other = await comeBack(eve, 'generic', 'newcomer-3');
      const swapped = await eve.post('/auth/oauth/generic/exists', { code: hers.code, state: other.state });
      expect([swapped.status, swapped.body.code]).toEqual([400, 'invalid_request']);
      const third = await comeBack(ann, 'generic', 'newcomer-2');
      expect((await ann.post('/auth/oauth/generic/exists', { code: 'garbage', state: third.state })).status).toBe(400);
    });

    test('users are found by the provider account alone: the same address at another provider is another user [S38]', async () => {
      const local = await app.signUp({ email: 'shared-1@example.test' });
      const self = await registerBy(app.client(), 'generic', 'shared-1');
      expect(self).toMatchObject({ email: 'shared-1@example.test', providerName: 'generic' });
      expect([self.id === local.userId, self.orgId === local.orgId]).toEqual([false, false]);
    });

    test('an unverified, missing or invalid address registers nobody, and the error names the claim', async () => {
      for (const person of ['bob', 'eve', 'odd']) {
        const client = app.client();
        const { code, state } = await comeBack(client, 'generic', person);
        const { status, body } = await client.post('/auth/oauth/generic/exists', { code, state });
        expect([person, status, body.message]).toEqual([person, 400, expect.stringContaining('email')]);
      }
    });

    test('generic OIDC registers a new user while registration is disabled, and GitHub does not [DE13, S31]', async () => {
      await using closed = await loginApp({
        sql: db.sql,
        env: { ...genericByAddresses(peer.url), DISABLE_REGISTRATION: 'true' },
      });
      await set({
        providerId: 'github',
        credentials: { clientId: 'the-client', clientSecret: SECRET },
        options: { server: told.github, api: told.github },
      });
      expect(await registerBy(closed.client(), 'generic', 'newcomer-4')).toMatchObject({ providerName: 'generic' });
      const client = closed.client();
      const { code, state } = await comeBack(client, 'github', 'gus');
      const { body } = await client.post('/auth/oauth/github/exists', { code, state });
      const refused = await client.post('/auth/register', {
        provider: 'github',
        providerToken: body.token,
        company: 'Acme Ltd',
      });
      expect([refused.status, refused.body.message]).toEqual([400, 'Registration is disabled']);
    });

    test('a page of MAIN_URL is accepted as redirect as well [S36]', async () => {
      const client = app.client();
      const { code, state, back } = await comeBack(client, 'generic', 'ann', `${MAIN}/welcome`);
      expect(back.pathname).toBe('/welcome');
      const wrong = await client.post('/auth/oauth/generic/exists', { code, state, redirect_uri: `${MAIN}/other` });
      expect([wrong.status, wrong.body.errors[0].field]).toEqual([400, 'redirect_uri']);
    });

    test('one of a hundred concurrent uses of a state gets a token, and one of a hundred uses of a token registers [S36]', async () => {
      const client = app.client();
      const { code, state } = await comeBack(client, 'generic', 'newcomer-5');
      const answers = await Promise.all(
        Array.from({ length: 100 }, () => client.post('/auth/oauth/generic/exists', { code, state })),
      );
      const tokens = answers.filter(({ status }) => status === 200);
      expect([tokens.length, answers.filter(({ status }) => status === 400).length]).toEqual([1, 99]);
      const register = { provider: 'generic', providerToken: tokens[0]!.body.token, company: 'Acme Ltd' };
      const made = await Promise.all(Array.from({ length: 100 }, () => client.post('/auth/register', register)));
      expect([
        made.filter(({ status }) => status === 200).length,
        made.filter(({ status }) => status === 400).length,
      ]).toEqual([1, 99]);
      expect(await db.sql`select 1 from users where provider_id = 'newcomer-5'`).toHaveLength(1);
    });

    test('the settings test reports values that the provider rejects', async () => {
      const ask = async (providerId: string, credentials: object, options: object = {}) =>
        (await admin.post('/admin/providers/settings/test', { domain: 'auth', providerId, credentials, options })).body;
      const good = { clientId: 'rookery', clientSecret: SECRET };
      const addresses = { authUrl: `${peer.url}/auth`, tokenUrl: `${peer.url}/token`, userInfoUrl: `${peer.url}/me` };
      expect(await ask('generic', { ...good, issuer: peer.url })).toMatchObject({ ok: true });
      expect(await ask('generic', { ...good, ...addresses })).toMatchObject({ ok: true });
      expect(await ask('google', { clientId: 'the-client', clientSecret: SECRET })).toMatchObject({ ok: true });
      expect(await ask('wallet', { rpcUrl: `${told.web3}/rpc/1` })).toMatchObject({ ok: true });
      expect(await ask('farcaster', { rpcUrl: `${told.web3}/rpc/10` })).toMatchObject({ ok: true });
      for (const [providerId, credentials] of [
        ['generic', { ...good, clientSecret: 'wrong', issuer: peer.url }],
        ['generic', { ...good, clientSecret: 'wrong', ...addresses }],
        ['generic', { ...good, issuer: `${peer.url}/elsewhere` }],
        ['google', { clientId: 'the-client', clientSecret: 'wrong' }],
        ['wallet', { rpcUrl: `${told.web3}/rpc/10` }],
        ['farcaster', { rpcUrl: `${told.web3}/rpc/1` }],
      ] as const) {
        const answer = await ask(providerId, credentials);
        expect([providerId, answer.ok, JSON.stringify(answer).includes('wrong')]).toEqual([providerId, false, false]);
      }
    });
  },
);
