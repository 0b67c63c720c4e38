import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sha256 } from '../../../src/platform/kernel/index.ts';
import { Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import {
  approval,
  approve,
  CALLBACK,
  exchange,
  makeApp,
  type OrgApp,
  pkce,
  register,
  tokensFor,
} from '../../support/worlds/oauth.ts';

const ISSUER = 'https://api.example.com';
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let bob: SignedUp;
let client: OrgApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({
    sql: db.sql,
    env: { NEXT_PUBLIC_BACKEND_URL: ISSUER, FRONTEND_URL: 'https://app.example.com' },
  });
  await app.signUp();
  ann = await app.signUp();
  bob = await app.signUp();
  client = await makeApp(ann);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
const authorize = (query: Record<string, string>, headers: Record<string, string> = {}) =>
  app.client().get(`/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, ...query })}`, headers);

describe('GET /oauth/authorize', () => {
  test('answers the data of the consent screen and the given state, without a login [OA24, S85]', async () => {
    const { challenge } = pkce();
    const answer = await authorize({
      redirect_uri: CALLBACK,
      response_type: 'code',
      state: 'a b&c',
      scope: 'mcp:read',
      ...challenge,
    });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        app: {
          name: 'Scheduler',
          description: 'Plans things',
          picture: null,
          clientId: client.clientId,
          clientHost: null,
          redirectUrl: CALLBACK,
        },
        state: 'a b&c',
        scope: 'mcp:read',
        scopes: ['mcp:read'],
      },
    ]);
    expect((await authorize({})).body).toMatchObject({
      state: null,
      scope: 'mcp:read mcp:posts:write',
      scopes: ['mcp:read', 'mcp:posts:write'],
    });
  });

  test('limits scopes to those requested that the app may have and always includes mcp:read [S89, MC9]', async () => {
    const narrow = await register(app, { scope: 'mcp:read', token_endpoint_auth_method: 'client_secret_post' });
    const agent = await register(app, { scope: 'mcp:read' });
    const { challenge } = pkce();
    const ask = async (clientId: string, scope: string) =>
      (await app.client().get(`/oauth/authorize?${new URLSearchParams({ client_id: clientId, scope, ...challenge })}`))
        .body.scope;
    expect(await ask(client.clientId, 'mcp:posts:write')).toBe('mcp:read mcp:posts:write');
    expect(await ask(client.clientId, ' mcp:read  mcp:read ')).toBe('mcp:read');
    expect(await ask(client.clientId, '')).toBe('mcp:read mcp:posts:write');
    expect(await ask(narrow.client_id, 'mcp:posts:write')).toBe('mcp:read');
    expect(await ask(agent.client_id, '')).toBe('mcp:read');
    expect(await ask(agent.client_id, 'mcp:posts:write')).toBe('mcp:read mcp:posts:write'); // after a 403 that named it
  });

  test('answers faults with 400 and an OAuth body; those of client and address come first [OA25, OA32, S85, S88, S252, MC7]', async () => {
    const { challenge } = pkce();
    const wrong: [Record<string, string>, string][] = [
      [{ client_id: 'pca_unknown' }, 'invalid_client'],
      [{ client_id: '' }, 'invalid_client'],
      [{ redirect_uri: 'https://evil.example/', response_type: 'token' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: 'code id_token' }, 'unsupported_response_type'],
      [{ code_challenge: challenge.code_challenge }, 'invalid_request'],
      [{ ...challenge, code_challenge_method: 'plain' }, 'invalid_request'],
      [{ ...challenge, code_challenge_method: 's256' }, 'invalid_request'],
      [{ code_challenge_method: 'S256' }, 'invalid_request'],
      [{ ...challenge, code_challenge: `${challenge.code_challenge}=` }, 'invalid_request'],
      [{ scope: 'mcp:admin' }, 'invalid_scope'],
      [{ scope: 'mcp:read openid' }, 'invalid_scope'],
      [{ resource: 'https://elsewhere.example/mcp' }, 'invalid_target'],
      [{ state: 'x'.repeat(5_000) }, 'invalid_request'],
    ];
    for (const [query, error] of wrong) {
      const { status, body, headers } = await authorize(query);
      expect([query, status, body]).toEqual([query, 400, { error, error_description: expect.any(String) }]);
      expect(headers.get('cache-control')).toBe('no-store');
    }
    const twice = await app.client().get(`/oauth/authorize?client_id=${client.clientId}&client_id=${client.clientId}`);
    expect([twice.status, twice.body.error]).toEqual([400, 'invalid_request']);
  });

  test('redirects a browser to the consent page with the same query, and faults only to a registered address of the client [S85, S252]', async () => {
    const browser = { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' };
    const query = { redirect_uri: CALLBACK, state: 'a b', scope: 'mcp:read' };
    const there = await authorize(query, browser);
    expect([there.status, there.headers.get('location')]).toEqual([
      302,
      `https://app.example.com/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, ...query })}`,
    ]);
    const back = await authorize({ ...query, scope: 'mcp:admin' }, browser);
    const to = new URL(back.headers.get('location')!);
    expect([back.status, to.origin + to.pathname, Object.fromEntries(to.searchParams)]).toEqual([
      302,
      CALLBACK,
      { error: 'invalid_scope', error_description: expect.any(String), state: 'a b', iss: ISSUER },
    ]);
    // what is longer than an answer may be cannot come back as it was (RFC 6749 4.1.2.1)
    for (const fault of [{}, { scope: 'mcp:admin' }, { response_type: 'token' }]) {
      const long = await authorize({ ...query, ...fault, state: `${'s'.repeat(4_095)}👍` }, browser);
      expect([long.status, long.headers.get('location'), long.body]).toEqual([
        400,
        null,
        { error: 'invalid_request', error_description: 'state: at most 4096 characters' },
      ]);
    }
    for (const foreign of [
      { ...query, redirect_uri: 'https://evil.example/' },
      { ...query, client_id: 'pca_x' },
    ]) {
      const refused = await authorize(foreign, browser);
      expect([refused.status, refused.headers.get('location'), typeof refused.body.error]).toEqual([
        400,
        null,
        'string',
      ]);
    }
  });
});

describe('POST /oauth/authorize', () => {
  test('answers an approval with a redirect with code, state and iss; only the hash of the code is stored [OA9, OA12, OA26, S87]', async () => {
    const { status, body } = await bob.client.post(
      '/oauth/authorize',
      approval(client.clientId, { redirect_uri: CALLBACK, response_type: 'code' }),
    );
    expect([status, Object.keys(body)]).toEqual([200, ['redirect']]);
    const redirect = new URL(body.redirect);
    expect([redirect.origin + redirect.pathname, Object.fromEntries(redirect.searchParams)]).toEqual([
      CALLBACK,
      { code: expect.stringMatching(/^[0-9A-Za-z]{43}$/), state: 's 1&2', iss: ISSUER },
    ]);
    const code = redirect.searchParams.get('code')!;
    const [row] = await db.sql`select * from oauth_codes where code_hash = ${sha256(code)}`;
    expect([row!['org_id'], JSON.stringify(row).includes(code)]).toEqual([bob.orgId, false]);
  });

  test('answers a denial with error=access_denied and no code [OA13]', async () => {
    const count = async () => (await db.sql`select count(*)::int as n from oauth_codes`)[0]!['n'];
    const before = await count();
    const { status, body } = await bob.client.post('/oauth/authorize', {
      ...approval(client.clientId),
      action: 'deny',
    });
    const { searchParams } = new URL(body.redirect);
    expect([
      status,
      searchParams.get('error'),
      searchParams.get('code'),
      searchParams.get('state'),
      searchParams.get('iss'),
    ]).toEqual([200, 'access_denied', null, 's 1&2', ISSUER]);
    expect(await count()).toBe(before);
  });

  test('returns a wrong scope to the client, answers other faults with 400 and an OAuth body, and ignores unknown fields [S252, S7]', async () => {
    const { error } = await approve(bob, client.clientId, { scope: 'mcp:admin' });
    expect(error).toBe('invalid_scope');
    for (const [more, name] of [
      [{ redirect_uri: 'https://evil.example/' }, 'invalid_request'],
      [{ client_id: 'pca_x' }, 'invalid_client'],
      [{ code_challenge: 'x', code_challenge_method: 'plain' }, 'invalid_request'],
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ resource: 'https://api.example.com/posts' }, 'invalid_target'],
    ] as const) {
      const { status, body } = await bob.client.post('/oauth/authorize', approval(client.clientId, more));
      expect([status, body]).toEqual([400, { error: name, error_description: expect.any(String) }]);
    }
    expect((await approve(bob, client.clientId, { prompt: 'consent', nonce: 'x' })).code).toEqual(expect.any(String));
  });

  test('issues the code for the org of the session [S87]', async () => {
    const cid = await app.signUp();
    const made = await cid.client.post('/orgs', { name: 'Second' });
    const there = new Client(app.address);
    for (const [name, value] of cid.client.cookies) there.cookies.set(name, value);
    there.headers = { showorg: made.body.id };
    const { body } = await tokensFor(app, { client: there }, client);
    expect(body.id).toBe(made.body.id);
  });
});

describe('dynamic registration', () => {
  test('answers the accepted metadata; unsupported values are replaced [S94, S255]', async () => {
    const { status, body, headers } = await app.client().post('/oauth/register', {
      redirect_uris: [CALLBACK, 'http://localhost:3334/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'],
      client_name: 'Inspector',
      client_uri: 'https://client.example/',
      logo_uri: 'https://client.example/logo.png',
      grant_types: ['authorization_code', 'implicit'],
      response_types: ['token'],
      contacts: ['me@client.example'],
      software_id: 'x',
    });
    expect([status, body]).toEqual([
      201,
      {
        client_id: expect.stringMatching(/^pcd_[0-9A-Za-z]{24}$/),
        client_id_issued_at: expect.any(Number),
        client_name: 'Inspector',
        redirect_uris: [CALLBACK, 'http://localhost:3334/cb', 'cursor://anysphere.cursor-mcp/oauth/callback'],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        scope: 'mcp:read mcp:posts:write',
        client_uri: 'https://client.example/',
        logo_uri: 'https://client.example/logo.png',
        client_secret_expires_at: 0,
      },
    ]);
    expect(headers.get('cache-control')).toBe('no-store');
    const { challenge } = pkce();
    const shown = await app
      .client()
      .get(
        `/oauth/authorize?${new URLSearchParams({ client_id: body.client_id, redirect_uri: CALLBACK, ...challenge })}`,
      );
    expect(shown.body.app).toMatchObject({
      name: 'Inspector',
      description: 'Website: https://client.example/\nLogo: https://client.example/logo.png',
      picture: null,
    });
    const unnamed = await app
      .client()
      .get(`/oauth/authorize?${new URLSearchParams({ client_id: body.client_id, ...challenge })}`);
    expect(unnamed.body.error).toBe('invalid_request'); // it has three
  });

  test.each(['client_secret_post', 'client_secret_basic'])(
    '%s gets a secret, stored as a hash, and works with it [S94, OA7]',
    async (method) => {
      const made = await register(app, { token_endpoint_auth_method: method });
      expect(made.client_secret).toMatch(/^pcs_[0-9A-Za-z]{43}$/);
      const [row] = await db.sql`select secret_hash from oauth_clients where client_id = ${made.client_id}`;
      expect((row!['secret_hash'] as Buffer).equals(sha256(made.client_secret!))).toBe(true);
      const { code } = await approve(bob, made.client_id);
      expect((await exchange(app, { clientId: made.client_id }, { code })).status).toBe(401);
      expect(
        (await exchange(app, { clientId: made.client_id, clientSecret: made.client_secret! }, { code })).status,
      ).toBe(200);
    },
  );

  test('does not count as the one app of the org and is deleted after 30 days without use [S94]', async () => {
    const [unused, used, young] = [
      await register(app),
      await register(app, { token_endpoint_auth_method: 'client_secret_post' }),
      await register(app),
    ];
    await approve(bob, used.client_id);
    await db.sql`
      update oauth_clients
      set created_at = now() - interval '31 days'
      where client_id in (${unused.client_id}, ${used.client_id})`;
    await app.context.oauth.sweep(500);
    const left = await db.sql<{ id: string }[]>`
      select client_id as id
      from oauth_clients
      where client_id in (${unused.client_id}, ${used.client_id}, ${young.client_id})`;
    expect(left.map(({ id }) => id).toSorted()).toEqual([used.client_id, young.client_id].toSorted());
    expect((await ann.client.get('/user/oauth-app')).body.clientId).toBe(client.clientId);
  });

  test('keeps the newest 5,000 unused clients and every used one [S94]', async () => {
    const used = await register(app, { token_endpoint_auth_method: 'client_secret_post' });
    await approve(bob, used.client_id);
    await db.sql`update oauth_clients set created_at = now() - interval '2 days' where client_id = ${used.client_id}`;
    await db.sql`
      insert into oauth_clients (id, client_id, name, redirect_uris, scope, created_at)
      select gen_random_uuid(), 'flood-' || n, 'x', array['https://client.example/'], array['mcp:read'],
        now() - interval '1 day' + n * interval '1 second'
      from generate_series(1, 5000) n`;
    const fresh = await register(app);
    const [{ unused } = {}] = await db.sql`
      select count(*)::int as unused from oauth_clients c
      where org_id is null and not exists (select from oauth_authorizations a where a.app_id = c.id)`;
    expect(unused).toBe(5_000);
    const left = await db.sql<{ id: string }[]>`
      select client_id as id from oauth_clients where client_id in ('flood-1', ${used.client_id}, ${fresh.client_id})`;
    expect(left.map(({ id }) => id).toSorted()).toEqual([used.client_id, fresh.client_id].toSorted());
  });
});
