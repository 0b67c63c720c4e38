import { describe, expect } from '@jest/globals';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { codeTo } from '../../support/worlds/mail/links.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { type Visit } from '../../support/wire/outside.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import { type Env, newcomer, settingsWorld } from '../../support/worlds/settings/settings-world.ts';

// Settings given to the product as a user runs it, and seen from outside: registration and login.

const world = settingsWorld([
  'login.example',
  'github.com',
  'api.github.com',
  'api.x.com',
  'www.linkedin.com',
  'api.linkedin.com',
  'graph.facebook.com',
  'accounts.google.com',
]);
const { open } = world;
const effect = effectsOf('login');

describe('registration and login', () => {
  const OIDC = {
    SERVICE_GENERIC_OAUTH: 'true',
    SERVICE_OAUTH_AUTH_URL: 'https://login.example/auth',
    SERVICE_OAUTH_TOKEN_URL: 'https://login.example/token',
    SERVICE_OAUTH_USERINFO_URL: 'https://login.example/me',
    SERVICE_OAUTH_CLIENT_ID: 'the-client',
    SERVICE_OAUTH_CLIENT_SECRET: 'the-secret',
    SERVICE_OAUTH_SCOPE: 'openid email',
  };
  /** To the consent page and back; what the provider was asked for the token. */
  async function comeBack(app: TestApp, provider: string, host: string) {
    const client = app.client();
    const page = new URL((await client.get(`/auth/oauth/${provider}`)).text);
    const before = world.outside.to(host).length;
    const answer = await client.post(`/auth/oauth/${provider}/exists`, {
      code: 'the-code',
      state: page.searchParams.get('state'),
    });
    return { client, page, answer, asked: world.outside.to(host).slice(before) };
  }
  /** Id and secret of a client, wherever the request has them. */
  function credentials({ headers, body }: Visit): (string | null)[] {
    const [, basic] = /^Basic (.+)$/.exec(headers.authorization ?? '') ?? [];
    if (basic) return atob(basic).split(':').map(decodeURIComponent);
    const fields = body.startsWith('{')
      ? new Map(Object.entries(JSON.parse(body) as Record<string, string>))
      : new URLSearchParams(body);
    return [fields.get('client_id') ?? null, fields.get('client_secret') ?? null];
  }

  effect(['DISABLE_REGISTRATION'], 'nobody registers by themselves, but for the first user [DE11, DE12]', async () => {
    await using own = await testDatabase();
    await using app = await open({ DISABLE_REGISTRATION: 'true' }, { sql: own.sql });
    expect((await app.client().post('/auth/register', newcomer())).status).toBe(200);
    expect((await app.client().post('/auth/register', newcomer())).status).toBe(400);
    expect((await own.sql`select from users`).count).toBe(1);
  });
  effect(['ORGANIZATIONS_PER_OWNER'], 'who owns so many makes no further one', async () => {
    await using app = await open({ ORGANIZATIONS_PER_OWNER: '2' });
    const owner = await app.signUp();
    const statuses = [];
    for (let n = 0; n < 2; n += 1) statuses.push((await owner.client.post('/orgs', { name: 'One more' })).status);
    expect(statuses).toEqual([201, 400]);
  });
  effect(['REFUSED_PASSWORDS_FILE'], 'what it lists can be chosen nowhere, and still opens an account', async () => {
    const earlier = newcomer();
    expect((await world.base.client().post('/auth/register', { ...earlier, password: 'password1' })).status).toBe(200);
    const file = join(mkdtempSync(join(tmpdir(), 'rookery-passwords-')), 'refused.txt');
    writeFileSync(file, 'Password1\r\nhorse battery\n');
    await using app = await open({ ...WITH_MAIL, REFUSED_PASSWORDS_FILE: file });
    const client = app.client();
    const opened = await client.post('/auth/login', {
      provider: 'LOCAL',
      email: earlier.email,
      password: 'password1',
    });
    expect(opened.status).toBe(200);
    await client.post('/auth/forgot', { email: earlier.email });
    const token = await codeTo(app.context, earlier.email, 'password-reset');
    const chosen = { password: 'PASSWORD1', repeatPassword: 'PASSWORD1' };
    for (const refused of [
      await app.client().post('/auth/register', { ...newcomer(), password: chosen.password }),
      await client.post('/user/change-password', { oldPassword: 'password1', ...chosen }),
      await app.client().post('/auth/forgot-return', { token, ...chosen }),
    ])
      expect([refused.status, refused.body.errors]).toEqual([
        400,
        [expect.objectContaining({ field: 'password', message: expect.stringContaining('nobody may choose') })],
      ]);
    expect((await app.client().post('/auth/register', newcomer())).status).toBe(200);
  });
  effect(['DISALLOW_PLUS'], 'an address with a plus sign is refused [DE14]', async () => {
    await using app = await open({ DISALLOW_PLUS: 'true' });
    const plus = () => ({ ...newcomer(), email: `a+${newId()}@example.com` });
    expect((await app.client().post('/auth/register', plus())).status).toBe(400);
    expect((await world.base.client().post('/auth/register', plus())).status).toBe(200);
  });
  effect(
    Object.keys(OIDC) as (keyof typeof OIDC)[],
    'login by generic OIDC, where nobody may register otherwise too [DE13, DE15, DE16, DE17, DE18, DE19, DE20, DE21]',
    async () => {
      world.outside.on('POST login.example/token', () => ({
        json: { access_token: 'the-token', token_type: 'Bearer' },
      }));
      world.outside.on('GET login.example/me', () => ({
        json: { sub: newId(), email: `${newId()}@example.com`, email_verified: true, name: 'Ann' },
      }));
      await using app = await open({ ...OIDC, DISABLE_REGISTRATION: 'true' });
      const { client, page, answer, asked } = await comeBack(app, 'generic', 'login.example');
      expect([page.origin + page.pathname, page.searchParams.get('client_id'), page.searchParams.get('scope')]).toEqual(
        [OIDC.SERVICE_OAUTH_AUTH_URL, 'the-client', 'openid email'],
      );
      expect(asked.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /token', 'GET /me']);
      expect(credentials(asked[0]!)).toEqual(['the-client', 'the-secret']);
      const registered = await client.post('/auth/register', {
        provider: 'GENERIC',
        providerToken: answer.body.token,
        company: 'Acme',
      });
      expect(registered.status).toBe(200);
      await using off = await open({ ...OIDC, SERVICE_GENERIC_OAUTH: 'false' });
      expect((await off.client().get('/auth/oauth/generic')).status).toBe(404);
    },
  );
  const APPS = [
    ['github', 'github.com', ['GITHUB_CLIENT_ID', 'GITHUB_CLIENT_SECRET'], undefined, ''],
    ['google', 'accounts.google.com', ['YOUTUBE_CLIENT_ID', 'YOUTUBE_CLIENT_SECRET'], undefined, ''],
    ['facebook', 'graph.facebook.com', ['FACEBOOK_APP_ID', 'FACEBOOK_APP_SECRET'], 'FACEBOOK_SSO_ENABLED', ' [DE22]'],
    ['x', 'api.x.com', ['X_CLIENT_ID', 'X_CLIENT_SECRET'], 'X_SSO_ENABLED', ' [DE23]'],
    [
      'linkedin',
      'www.linkedin.com',
      ['LINKEDIN_CLIENT_ID', 'LINKEDIN_CLIENT_SECRET'],
      'LINKEDIN_SSO_ENABLED',
      ' [DE24]',
    ],
  ] as const;
  for (const [provider, host, [id, secret], flag, ids] of APPS)
    effect([id, secret, ...(flag ? [flag] : [])], `login by ${provider}${ids}`, async () => {
      const issuer = `https://${host}`;
      world.outside.on(`GET ${host}/.well-known/openid-configuration`, () => ({
        json: {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/keys`,
          response_types_supported: ['code'],
          subject_types_supported: ['public'],
          id_token_signing_alg_values_supported: ['RS256'],
        },
      }));
      world.outside.on(host, () => ({ status: 400, json: { error: 'invalid_grant' } }));
      const app = { [id]: 'the-client', [secret]: 'the-secret' };
      await using on = await open({ ...app, ...(flag && { [flag]: 'true' }) });
      const { page, asked } = await comeBack(on, provider, host);
      expect(page.searchParams.get('client_id')).toBe('the-client');
      expect(credentials(asked.findLast(({ path }) => !path.startsWith('/.well-known'))!)).toEqual([
        'the-client',
        'the-secret',
      ]);
      const without: Env[] = [{ [id]: 'the-client', ...(flag && { [flag]: 'true' }) }, ...(flag ? [app] : [])];
      for (const env of without) {
        await using off = await open(env);
        expect([env, (await off.client().get(`/auth/oauth/${provider}`)).status]).toEqual([env, 404]);
      }
    });
});
