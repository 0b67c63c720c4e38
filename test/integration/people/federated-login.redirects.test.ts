// oxlint-disable max-lines -- one product with its login providers serves all cases
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId, sha256 } from '../../../src/platform/kernel/index.ts';
import { type Client, WITH_MAIL } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { FRONTEND, type LoginApp, loginApp, MAIN } from '../../support/worlds/login-world.ts';

// GitHub by its environment: its consent page needs no question to it, so everything up to there is seen here.

const APPS = {
  GITHUB_CLIENT_ID: 'gh-client',
  GITHUB_CLIENT_SECRET: 'gh-secret',
  YOUTUBE_CLIENT_ID: 'yt-client',
  YOUTUBE_CLIENT_SECRET: 'yt-secret',
};
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: LoginApp;
let admin: Client;
beforeAll(async () => {
  db = await testDatabase();
  app = await loginApp({ sql: db.sql, env: APPS });
  admin = (await app.signUp()).client;
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const begin = (redirectUri: string, client = app.client()) =>
  client.get(`/auth/oauth/github?redirect_uri=${encodeURIComponent(redirectUri)}`);
const states = async () => Number((await db.sql`select count(*)::int as n from login_states`)[0]!['n']);

describe('login providers', () => {
  test('are offered when the environment or a setting configures them, email and password first [US5, S36]', async () => {
    await using bare = await loginApp({ sql: db.sql });
    expect((await bare.client().get('/auth/providers')).body).toEqual([
      { identifier: 'local', name: 'Email and password', type: 'password' },
    ]);
    expect((await app.client().get('/auth/providers')).body).toEqual([
      { identifier: 'local', name: 'Email and password', type: 'password' },
      { identifier: 'github', name: 'GitHub', type: 'oauth2' },
      { identifier: 'google', name: 'Google', type: 'oauth2' },
    ]);
  });
  test('take a database setting over the environment until it is deleted; a change applies at once [US5, VE22]', async () => {
    const clientOf = async () => new URL((await begin(`${FRONTEND}/login`)).text).searchParams.get('client_id');
    expect(await clientOf()).toBe('gh-client');
    const { body } = await admin.post('/admin/providers/settings', {
      domain: 'auth',
      providerId: 'github',
      credentials: { clientId: 'db-client', clientSecret: 'db-secret' },
    });
    expect(await clientOf()).toBe('db-client');
    await admin.put(`/admin/providers/settings/${body.id}`, { credentials: { clientId: 'db-client-2' } });
    expect(await clientOf()).toBe('db-client-2');
    await admin.delete(`/admin/providers/settings/${body.id}`);
    expect(await clientOf()).toBe('gh-client');
  });
  test('include generic OIDC only when SERVICE_GENERIC_OAUTH enables it and its settings are complete [DE15]', async () => {
    const whole = {
      SERVICE_OAUTH_AUTH_URL: 'https://login.example/auth',
      SERVICE_OAUTH_TOKEN_URL: 'https://login.example/token',
      SERVICE_OAUTH_USERINFO_URL: 'https://login.example/me',
      SERVICE_OAUTH_CLIENT_ID: 'c',
      SERVICE_OAUTH_CLIENT_SECRET: 'a-long-secret',
    };
    const offered = async (env: Record<string, string>) => {
      await using one = await loginApp({ sql: db.sql, env });
      return (await one.client().get('/auth/providers')).body.some(
        ({ identifier }: { identifier: string }) => identifier === 'generic',
      );
    };
    expect(await offered(whole)).toBe(false);
    expect(await offered({ ...whole, SERVICE_GENERIC_OAUTH: 'true' })).toBe(true);
    for (const name of Object.keys(whole))
      expect([name, await offered({ ...whole, SERVICE_GENERIC_OAUTH: 'true', [name]: '' })]).toEqual([name, false]);
  });
  test.each([
    ['facebook', 'Facebook', 'FACEBOOK_SSO_ENABLED', 'FACEBOOK_APP', 'https://www.facebook.com/v25.0/dialog/oauth'],
    ['x', 'X', 'X_SSO_ENABLED', 'X_CLIENT', 'https://x.com/i/oauth2/authorize'],
    [
      'linkedin',
      'LinkedIn',
      'LINKEDIN_SSO_ENABLED',
      'LINKEDIN_CLIENT',
      'https://www.linkedin.com/oauth/v2/authorization',
    ],
  ])(
    'include %s only when it is enabled and its app is set [DE22, DE23, DE24, S36]',
    async (identifier, name, flag, app_, page) => {
      const credentials = { [`${app_}_ID`]: 'network-client', [`${app_}_SECRET`]: 'network-secret' };
      const offered = async (env: Record<string, string>) => {
        await using one = await loginApp({ sql: db.sql, env });
        const begun = await one.client().get(`/auth/oauth/${identifier}`);
        return { listed: (await one.client().get('/auth/providers')).body, begun };
      };
      const on = await offered({ ...credentials, [flag]: 'true' });
      expect(on.listed).toContainEqual({ identifier, name, type: 'oauth2' });
      const url = new URL(on.begun.text);
      expect([url.origin + url.pathname, url.searchParams.get('client_id')]).toEqual([page, 'network-client']);
      for (const env of [credentials, { [flag]: 'true' }]) {
        const off = await offered(env as Record<string, string>);
        expect([off.listed.map((one: { identifier: string }) => one.identifier), off.begun.status]).toEqual([
          ['local'],
          404,
        ]);
      }
    },
  );
  test('always include email and password; an unconfigured one is unknown [US6]', async () => {
    for (const provider of ['generic', 'wallet', 'farcaster', 'local', 'facebook', 'nobody', '__proto__'])
      for (const answer of [
        await app.client().get(`/auth/oauth/${provider}`),
        await app.client().get(`/auth/nonce/${provider}`),
        await app.client().post(`/auth/oauth/${provider}/exists`, { code: 'x', state: 'y' }),
        await app.client().post('/auth/register', {
          provider: provider === 'local' ? 'nobody' : provider,
          providerToken: 'x',
          company: 'Acme Ltd',
        }),
      ])
        expect([provider, answer.status, answer.body.code]).toEqual([provider, 404, 'not_found']);
  });
});

describe('the begin of a login', () => {
  test('answers the address as text, or as JSON on request, with a state for this browser for ten minutes [S36]', async () => {
    const client = app.client();
    const answer = await client.get('/auth/oauth/GitHub');
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'text/plain; charset=utf-8']);
    const url = new URL(answer.text);
    expect(url.origin + url.pathname).toBe('https://github.com/login/oauth/authorize');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: 'gh-client',
      redirect_uri: `${FRONTEND}/auth/callback/github`,
      scope: 'read:user user:email',
      state: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      code_challenge_method: 'S256',
    });
    const cookie = answer.headers.getSetCookie().find((line) => line.startsWith('login='))!;
    expect(cookie).toMatch(/^login=[\w-]{43}; Max-Age=600; .*HttpOnly/);
    const json = await client.get('/auth/oauth/github', { accept: 'application/json' });
    expect([json.headers.get('content-type'), json.body]).toEqual([
      'application/json; charset=utf-8',
      { url: expect.stringContaining('https://github.com/') },
    ]);
    expect(client.cookies.get('login')).toBe(cookie.slice(6, 49)); // two tabs of one browser

    const hash = sha256(url.searchParams.get('state')!);
    const [row] = await db.sql`
        select *, extract(epoch from expires_at - now())::float8 as seconds from login_states where hash = ${hash}`;
    expect(Math.abs(row!['seconds'] - 600)).toBeLessThan(60);
    expect(row!['sealed']).toMatch(/^v2:/);
    expect(row!['browser_hash']).toEqual(sha256(client.cookies.get('login')!));
  });

  test.each([
    ['a page of the application', `${FRONTEND}/settings/login`],
    ['its other address', `${MAIN}/auth/back`],
    ['the mobile application', 'service://auth/callback'],
    ['the page that leads to the mobile application', `${FRONTEND}/api/auth/oauth-mobile-callback`],
  ])('accepts %s as redirect [S36]', async (_, address) => {
    const { status, text } = await begin(address);
    expect([status, new URL(text).searchParams.get('redirect_uri')]).toEqual([200, address]);
  });

  const host = new URL(FRONTEND).host;
  test.each([
    ['another site', 'https://evil.example/'],
    ['our name in front of another', `https://${host}.evil.example/login`],
    ['our name behind another', `https://evil${host}/login`],
    ['a name below ours', `https://x.${host}/login`],
    ['the name above ours', 'https://example.test/login'],
    ['our name as the user', `https://${host}@evil.example/login`],
    ['a user at our name', `https://evil@${host}/login`],
    ['our name as the password', `https://a:${host}@evil.example/`],
    ['a fragment', `${FRONTEND}/login#https://evil.example`],
    ['an empty fragment', `${FRONTEND}/login#`],
    ['a query', `${FRONTEND}/login?next=https://evil.example`],
    ['an empty query', `${FRONTEND}/login?`],
    ['another scheme', `http://${host}/login`],
    ['the scheme in capitals', `HTTPS://${host}/login`],
    ['the name in capitals', `https://${host.toUpperCase()}/login`],
    ['another port', `${FRONTEND}:8443/login`],
    ['the usual port written out', `${FRONTEND}:443/login`],
    ['a dot behind the name', `https://${host}./login`],
    ['a backslash', `https://${host}\\@evil.example/`],
    ['a backslash in the path', `${FRONTEND}/\\evil.example`],
    ['a path that leaves the site', `${FRONTEND}//evil.example/login`],
    ['dots in the path', `${FRONTEND}/login/../..//evil.example`],
    ['an encoded path', `${FRONTEND}/%2f%2fevil.example`],
    ['a tab in the name', `https://app.exa\tmple.test/login`],
    ['a blank in front', ` ${FRONTEND}/login`],
    ['a line break', `${FRONTEND}/login\r\nLocation: https://evil.example`],
    ['no scheme', `//${host}/login`],
    ['a path alone', '/login'],
    ['script', 'javascript:alert(1)'],
    ['data', 'data:text/html,x'],
    ['the application with another path', 'service://auth/callback/evil'],
    ['the application with a query', 'service://auth/callback?code=x'],
    ['another application', 'servicex://auth/callback'],
    ['the application in capitals', 'SERVICE://auth/callback'],
    ['the mobile page of another address', `${MAIN}/api/auth/oauth-mobile-callback?x=1`],
    ['look-alike letters', 'https://app.exаmple.test/login'],
    ['nothing', ''],
  ])('refuses %s as redirect [X18, S36]', async (_, address) => {
    const before = await states();
    const { status, body, headers } = await begin(address);
    expect([status, body.errors[0].field, headers.get('set-cookie')]).toEqual([400, 'redirect_uri', null]);
    expect(await states()).toBe(before);
  });
});

describe('the end of a login', () => {
  const begun = async (client: Client) =>
    new URL((await client.get('/auth/oauth/github')).text).searchParams.get('state')!;
  const end = (client: Client, body: object, provider = 'github') =>
    client.post(`/auth/oauth/${provider}/exists`, { code: 'a-code', ...body });

  test.each<[string, (client: Client, state: string) => Promise<unknown>]>([
    ['without the cookie', (_, state) => end(app.client(), { state })],
    [
      'in another browser that has begun a login of its own',
      async (_, state) => {
        const eve = app.client();
        await begun(eve);
        return end(eve, { state });
      },
    ],
    ['for another provider', (client, state) => end(client, { state }, 'google')],
    ['with a state that is cut', (client, state) => end(client, { state: state.slice(0, -1) })],
    ['with a state of nobody', (client) => end(client, { state: 'A'.repeat(43) })],
    [
      'after ten minutes',
      async (client, state) => {
        await db.sql`update login_states set expires_at = now() - interval '1 second' where hash = ${sha256(state)}`;
        return end(client, { state });
      },
    ],
    [
      'with a cookie of two',
      (client, state) =>
        end(app.client(), { state }).then(() =>
          end(
            Object.assign(app.client(), {
              headers: { cookie: `login=${'x'.repeat(43)}; login=${client.cookies.get('login')}` },
            }),
            { state },
          ),
        ),
    ],
  ])('does not complete %s [S36, X7]', async (_, attempt) => {
    const client = app.client();
    const answer = (await attempt(client, await begun(client))) as Awaited<ReturnType<typeof end>>;
    expect([answer.status, answer.body.message]).toEqual([400, expect.stringContaining('begin again')]);
  });
  test('registers nobody with an invented token or with the state', async () => {
    const client = app.client();
    const state = await begun(client);
    for (const providerToken of [state, 'x', 'A'.repeat(43), '{"message":"x","signature":"0x"}']) {
      const refused = await client.post('/auth/register', { provider: 'github', providerToken, company: 'Acme Ltd' });
      expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request']);
      expect((await client.post('/auth/login', { provider: 'github', providerToken })).status).toBe(400);
    }
  });
  test('requires the token of a provider other than email and password [S30]', async () => {
    const faults = async (body: object) =>
      (await app.client().post('/auth/register', { company: 'Acme Ltd', ...body })).body.errors.map(
        ({ field, rule }: Record<string, string>) => `${field} ${rule}`,
      );
    expect(await faults({ provider: 'github' })).toEqual(['providerToken required']);
    expect(await faults({ provider: 'LOCAL' })).toEqual(['email required', 'password required']);
    expect(await faults({ provider: 'LOCAL', providerToken: 'x' })).toEqual(['email required', 'password required']);
  });
  test('refuses a user locked out by a super-admin at every provider [S211]', async () => {
    const known = { providerId: '4711', email: 'gil@example.test', name: 'Gil', avatarUrl: null };
    const client = app.client();
    /** What GitHub says of Gil, kept for this browser under a fresh token. */
    const token = async () => {
      await begun(client);
      const [text, browser] = [newId(), client.cookies.get('login')!];
      await db.sql`
        insert into login_states (hash, kind, browser_hash, provider_id, sealed, expires_at)
        values (${sha256(text)}, 'account', ${sha256(browser)}, 'github',
          ${app.context.vault.seal(JSON.stringify(known))}, now() + interval '1 minute')`;
      return text;
    };
    expect(
      (await client.post('/auth/register', { provider: 'github', providerToken: await token(), company: 'Acme Ltd' }))
        .status,
    ).toBe(200);
    const { id } = (await client.get('/user/self')).body;
    await admin.send('PATCH', `/admin/users/${id}`, { activated: false });
    const logIn = async () => client.post('/auth/login', { provider: 'github', providerToken: await token() });
    const refused = await logIn();
    expect([refused.status, refused.body.message, refused.headers.getSetCookie()]).toEqual([
      400,
      expect.stringContaining('locked'),
      [],
    ]);
    await admin.send('PATCH', `/admin/users/${id}`, { activated: true });
    expect((await logIn()).status).toBe(200);
  });
  test('sweeps unfinished logins', async () => {
    await begun(app.client());
    await db.sql`update login_states set expires_at = now() - interval '1 second'`;
    const before = await states();
    expect(before).toBeGreaterThan(0);
    expect(await app.context.login.dropOld(1)).toBe(1);
    expect(await app.context.login.dropOld(500)).toBe(before - 1);
    expect(await states()).toBe(0);
  });
});

describe('the mobile application', () => {
  test('gets the callback as a deep link with exactly the five parameters, encoded again [S37, SE8, SE9, X18]', async () => {
    const told = {
      code: 'a+b/c=&d',
      state: 's#1',
      error: 'access_denied',
      error_description: 'No & no\r\nLocation: x',
      provider: 'google',
    };
    const { status, headers, text } = await app
      .client()
      .get(
        `/auth/oauth-mobile-callback?${new URLSearchParams({ ...told, next: 'https://evil.example', redirect_uri: 'https://evil.example' })}`,
      );
    expect([status, text]).toEqual([302, '']);
    const location = headers.get('location')!;
    expect(location.startsWith('service://auth/callback?')).toBe(true);
    expect(Object.fromEntries(new URL(location).searchParams)).toEqual(told);
    expect((await app.client().get('/auth/oauth-mobile-callback')).headers.get('location')).toBe(
      'service://auth/callback',
    );
  });
  test('has the scheme of MOBILE_APP_SCHEME [SE8]', async () => {
    await using other = await loginApp({ sql: db.sql, env: { ...APPS, MOBILE_APP_SCHEME: 'acme://login?from=web' } });
    expect((await other.client().get('/auth/oauth-mobile-callback?code=x')).headers.get('location')).toBe(
      'acme://login?from=web&code=x',
    );
    expect(
      (await other.client().get(`/auth/oauth/github?redirect_uri=${encodeURIComponent('service://auth/callback')}`))
        .status,
    ).toBe(400);
  });
});

test('no mail is written to users of a provider without addresses', async () => {
  await using mailing = await loginApp({ sql: db.sql, env: WITH_MAIL });
  const content = { template: 'password-changed' as const, data: { name: 'Ann' } };
  for (const to of ['wallet_eip155-1-0xabc@no-address.invalid', 'ann@example.test'])
    await mailing.context.email.queue(db.sql, { to, orgId: null, content: content });
  const rows = await db.sql`select to_address from emails where template = 'password-changed'`;
  expect(rows.map((row) => row['to_address'])).toEqual(['ann@example.test']);
});

describe('unusual texts', () => {
  const ODD = [
    '',
    ' ',
    '\u0000',
    '\r\nSet-Cookie: a=b',
    '\ud800',
    '👩‍👩‍👧‍👦',
    "' or 1=1 --",
    '%00',
    '%ff',
    '__proto__',
    'constructor',
    '{}',
    '[]',
    'null',
    'a'.repeat(20_000),
    'e30=',
    '{"message":"Nonce: aaaaaaaa","signature":"0x"}',
    'javascript:alert(1)',
    'file:///etc/passwd',
  ];
  beforeAll(() => admin.post('/admin/providers/settings', { domain: 'auth', providerId: 'wallet', credentials: {} }));

  test.each(ODD)('text number %# in any place of a login is refused and breaks nothing', async (odd) => {
    const text = encodeURIComponent(odd.toWellFormed());
    const client = app.client();
    const answers = await Promise.all([
      ...['github', 'wallet'].flatMap((provider) => [
        client.get(`/auth/oauth/${provider}?redirect_uri=${text}`),
        client.get(`/auth/nonce/${provider}?address=${text}`),
        client.post(`/auth/oauth/${provider}/exists`, { code: odd, state: 'x' }),
        client.post(`/auth/oauth/${provider}/exists`, { code: 'x', state: odd }),
        client.post(`/auth/oauth/${provider}/exists`, { code: 'x', state: 'x', iss: odd, redirect_uri: odd }),
        client.post('/auth/register', { provider, providerToken: odd, company: 'Acme Ltd' }),
        client.post('/auth/login', { provider, providerToken: odd }),
        client.get(`/auth/oauth/${provider}`, { cookie: `login=${text}` }),
      ]),
      ...(odd === ''
        ? []
        : [
            client.get(`/auth/oauth/${text}`),
            client.get(`/auth/nonce/${text}`),
            client.post(`/auth/oauth/${text}/exists`, { code: 'x', state: 'x' }),
          ]),
      client.get(`/auth/oauth-mobile-callback?code=${text.slice(0, 9_000)}&error_description=${text.slice(0, 90)}`),
    ]);
    expect(answers.filter(({ status }) => status >= 500).map((one) => one.text)).toEqual([]);
    expect(
      answers.some(
        ({ headers }) => headers.has('auth') || headers.getSetCookie().some((line) => line.startsWith('auth=')),
      ),
    ).toBe(false);
    expect(answers.filter(({ status }) => ![200, 302, 400, 404, 413, 414, 431].includes(status))).toEqual([]);
  });
});
