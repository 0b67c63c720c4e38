import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sha256 } from '../../../src/platform/kernel/index.ts';
import { Client, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase } from '../../support/wire/database.ts';
import {
  approval,
  approve,
  CALLBACK,
  exchange,
  makeApp,
  opens,
  type OrgApp,
  pkce,
  refresh,
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
    const narrow = await register(app, { scope: 'mcp:read' });
    const { challenge } = pkce();
    const ask = async (clientId: string, scope: string) =>
      (await app.client().get(`/oauth/authorize?${new URLSearchParams({ client_id: clientId, scope, ...challenge })}`))
        .body.scope;
    expect(await ask(client.clientId, 'mcp:posts:write')).toBe('mcp:read mcp:posts:write');
    expect(await ask(client.clientId, ' mcp:read  mcp:read ')).toBe('mcp:read');
    expect(await ask(client.clientId, '')).toBe('mcp:read mcp:posts:write');
    expect(await ask(narrow.client_id, 'mcp:posts:write')).toBe('mcp:read');
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

describe('POST /oauth/token', () => {
  test('exchanges a code for tokens with exactly these keys, of which only hashes are stored [OA10, OA11, OA15, OA16, OA17, OA27, OA28, OA31, S91]', async () => {
    const { verifier, challenge } = pkce();
    const { code } = await approve(bob, client.clientId, { ...challenge, redirect_uri: CALLBACK });
    const answer = await exchange(app, client, {
      code,
      code_verifier: verifier,
      redirect_uri: CALLBACK,
      scope: 'ignored',
      audience: 'ignored',
    });
    expect([answer.status, answer.body]).toEqual([
      200,
      {
        id: bob.orgId,
        cus: null,
        access_token: expect.stringMatching(/^pos_[0-9A-Za-z]{43}$/),
        token_type: 'bearer',
        expires_in: 3600,
        refresh_token: expect.stringMatching(/^posr_[0-9A-Za-z]{43}$/),
        scope: 'mcp:read mcp:posts:write',
      },
    ]);
    expect([answer.headers.get('cache-control'), answer.headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
    const [row] = await db.sql`
      select t.*, extract(epoch from access_expires_at - created_at)::int as access,
        extract(epoch from refresh_expires_at - created_at)::int as refresh, c.challenge
      from oauth_tokens t
      join oauth_codes c
      using (code_hash)
      where access_hash = ${sha256(answer.body.access_token)} and refresh_hash = ${sha256(answer.body.refresh_token)}`;
    expect(row).toMatchObject({
      access: 3600,
      refresh: 2_592_000,
      scope: ['mcp:read', 'mcp:posts:write'],
      challenge: challenge.code_challenge,
    });
    for (const secret of [answer.body.access_token, answer.body.refresh_token, code, verifier])
      expect(JSON.stringify(row)).not.toContain(secret);
  });

  test('sets cus to the payment customer of the org with billing, and to null while there is none [OA27, S91]', async () => {
    await using paid = await testApp({ sql: db.sql, env: WITH_BILLING });
    const cid = await paid.signUp();
    expect((await tokensFor(paid, cid, client)).body.cus).toBeNull();
    await db.sql`insert into payment_customers (org_id, customer_id) values (${cid.orgId}, 'cus_123')`;
    expect((await tokensFor(paid, cid, client)).body.cus).toBe('cus_123');
    expect((await tokensFor(app, cid, client)).body.cus).toBeNull();
  });

  test('accepts a form like JSON, and client credentials by Basic [S90]', async () => {
    const send = (body: Record<string, string>, headers: Record<string, string> = {}) =>
      app.client().post('/oauth/token', new URLSearchParams(body).toString(), {
        'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
        ...headers,
      });
    const basic = {
      authorization: `Basic ${Buffer.from(`${client.clientId}:${client.clientSecret}`).toString('base64')}`,
    };
    const code = async () => (await approve(bob, client.clientId)).code;
    const secret = { client_id: client.clientId, client_secret: client.clientSecret };
    expect((await send({ grant_type: 'authorization_code', code: await code(), ...secret })).status).toBe(200);
    expect((await send({ grant_type: 'authorization_code', code: await code() }, basic)).status).toBe(200);
    expect(
      (await app.client().post('/oauth/token', { grant_type: 'authorization_code', code: await code() }, basic)).status,
    ).toBe(200);
    const both = await send({ grant_type: 'authorization_code', code: await code(), ...secret }, basic);
    expect([both.status, both.body.error]).toEqual([400, 'invalid_request']);
    const twice = await app.client().post('/oauth/token', 'grant_type=authorization_code&code=a&code=b', {
      'content-type': 'application/x-www-form-urlencoded',
    });
    expect([twice.status, twice.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'code: sent twice' },
    ]);
    const wrong = await send(
      { grant_type: 'authorization_code', code: 'x' },
      { authorization: `Basic ${Buffer.from(`${client.clientId}:no`).toString('base64')}` },
    );
    expect([wrong.status, wrong.body.error, wrong.headers.get('www-authenticate')]).toEqual([
      401,
      'invalid_client',
      'Basic realm="oauth"',
    ]);
  });

  test('authenticates a public client by PKCE alone and refuses a secret from it [S88, S90, S94, S253]', async () => {
    const agent = await register(app);
    const { verifier, challenge } = pkce();
    expect((await bob.client.post('/oauth/authorize', approval(agent.client_id))).body.error).toBe('invalid_request');
    const { code } = await approve(bob, agent.client_id, challenge);
    const public_ = { clientId: agent.client_id };
    expect((await exchange(app, { ...public_, clientSecret: 'x' }, { code, code_verifier: verifier })).body.error).toBe(
      'invalid_client',
    );
    const { status, body } = await exchange(app, public_, { code, code_verifier: verifier });
    expect([status, await opens(app, body.access_token)]).toEqual([200, 200]);
    expect((await refresh(app, public_, body.refresh_token)).status).toBe(200);
  });

  test('lets a confidential client omit PKCE [S88]', async () => {
    const { code } = await approve(bob, client.clientId);
    expect((await exchange(app, client, { code })).status).toBe(200);
  });

  test('answers the errors of RFC 6749 5.2 and no further detail [OA30, S92, S253]', async () => {
    const { verifier, challenge } = pkce();
    const fresh = async () => ({
      code: (await approve(bob, client.clientId, { ...challenge, redirect_uri: CALLBACK })).code,
      code_verifier: verifier,
      redirect_uri: CALLBACK,
    });
    const wrong: [Record<string, unknown>, number, string][] = [
      [{ grant_type: undefined }, 400, 'invalid_request'],
      [{ grant_type: 'password', username: 'a', password: 'b' }, 400, 'unsupported_grant_type'],
      [{ grant_type: 'client_credentials' }, 400, 'unsupported_grant_type'],
      [{ code: '' }, 400, 'invalid_request'],
      [{ code: undefined }, 400, 'invalid_request'],
      [{ code: 7 }, 400, 'invalid_request'],
      [{ code_verifier: 'short' }, 400, 'invalid_request'],
      [{ code_verifier: `${'x'.repeat(42)} ` }, 400, 'invalid_request'],
      [{ code_verifier: 'x'.repeat(129) }, 400, 'invalid_request'],
      [{ code_verifier: 'x'.repeat(43) }, 400, 'invalid_grant'],
      [{ code_verifier: undefined }, 400, 'invalid_grant'],
      [{ redirect_uri: undefined }, 400, 'invalid_grant'],
      [{ redirect_uri: `${CALLBACK}?` }, 400, 'invalid_grant'],
      [{ code: 'x'.repeat(43) }, 400, 'invalid_grant'],
      [{ resource: 'https://elsewhere.example/' }, 400, 'invalid_target'],
      [{ client_secret: 'pcs_wrong' }, 401, 'invalid_client'],
      [{ client_secret: undefined }, 401, 'invalid_client'],
      [{ client_id: undefined }, 401, 'invalid_client'],
      [{ client_id: 'pca_unknown' }, 401, 'invalid_client'],
    ];
    for (const [more, status, error] of wrong) {
      const answer = await exchange(app, client, { ...(await fresh()), ...more });
      expect([more, answer.status, answer.body]).toEqual([
        more,
        status,
        { error, error_description: expect.stringMatching(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/) },
      ]);
      expect([answer.headers.get('cache-control'), answer.headers.get('pragma')]).toEqual(['no-store', 'no-cache']);
    }
    for (const [text, type, status] of [
      ['{', 'application/json', 400],
      ['x', 'text/plain', 415],
      ['[]', 'application/json', 400],
    ] as const) {
      const answer = await app.client().post('/oauth/token', text, { 'content-type': type });
      expect([answer.status, Object.keys(answer.body)]).toEqual([status, ['error', 'error_description']]);
    }
  });

  test('refuses a code after ten minutes and accepts a younger one [OA14, OA11]', async () => {
    const lives = async (code: string) => {
      const [row] = await db.sql`
        select extract(epoch from c.expires_at - l.at)::float8 as seconds from oauth_codes c
          join audit_log l on l.resource_id = c.authorization_id::text and l.action = 'oauth_authorization.approved'
        where c.code_hash = ${sha256(code)} order by l.id desc limit 1`; // both are of one commit, so of one instant
      return row!['seconds'];
    };
    for (const [seconds, status] of [
      [600, 400],
      [540, 200],
    ] as const) {
      const { code } = await approve(bob, client.clientId);
      expect(await lives(code)).toBe(600);
      await db.sql`
        update oauth_codes
        set expires_at = expires_at - ${seconds}::int * interval '1 s'
        where code_hash = ${sha256(code)}`;
      expect([seconds, (await exchange(app, client, { code })).status]).toEqual([seconds, status]);
    }
  });

  test('requires the same redirect_uri character for character; without one at authorize only the registered one [OA33, S90]', async () => {
    const named = await approve(bob, client.clientId, { redirect_uri: CALLBACK });
    expect((await exchange(app, client, { code: named.code, redirect_uri: CALLBACK })).status).toBe(200);
    const exchanged = async (redirectUri: string) =>
      (await exchange(app, client, { code: (await approve(bob, client.clientId)).code, redirect_uri: redirectUri }))
        .status;
    expect([await exchanged(CALLBACK), await exchanged(`${CALLBACK}2`)]).toEqual([200, 400]);
  });

  test('answers 429 slow_down with Retry-After after twenty requests a minute [OA29, S17, S92]', async () => {
    await using slow = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' } });
    const answers = [];
    for (let n = 0; n < 21; n += 1) answers.push(await slow.client().post('/oauth/token', {}));
    expect(answers.slice(0, 20).map(({ status }) => status)).toEqual(Array(20).fill(400));
    const last = answers[20]!;
    expect([last.status, last.body]).toEqual([429, { error: 'slow_down', error_description: expect.any(String) }]);
    expect(Number(last.headers.get('retry-after'))).toBeGreaterThan(0);
  });
});

describe('refresh', () => {
  test('rotates both tokens; the old refresh token is invalid, the old access token stays valid [OA28, S93, S254]', async () => {
    const first = await tokensFor(app, bob, client);
    const answer = await refresh(app, client, first.refresh);
    expect([answer.status, answer.body]).toEqual([
      200,
      { ...first.body, access_token: expect.stringMatching(/^pos_/), refresh_token: expect.stringMatching(/^posr_/) },
    ]);
    expect(new Set([first.access, first.refresh, answer.body.access_token, answer.body.refresh_token]).size).toBe(4);
    expect([await opens(app, first.access), await opens(app, answer.body.access_token)]).toEqual([200, 200]);
  });

  test('narrows scope and never widens it; a refused request does not use up the token [S93, S253]', async () => {
    const { refresh: token } = await tokensFor(app, bob, client, { scope: 'mcp:read' });
    expect((await refresh(app, client, token, { scope: 'mcp:read mcp:posts:write' })).body.error).toBe('invalid_scope');
    expect((await refresh(app, client, token, { scope: 'mcp:admin' })).body.error).toBe('invalid_scope');
    expect((await refresh(app, client, token)).body.scope).toBe('mcp:read');

    const wide = await tokensFor(app, bob, client);
    const narrow = await refresh(app, client, wide.refresh, { scope: 'mcp:read' });
    expect(narrow.body.scope).toBe('mcp:read');
    const write = (access: string) => app.client().post('/public/v1/webhooks', {}, { authorization: access });
    expect((await write(narrow.body.access_token)).body.code).toBe('insufficient_scope');
    // the grant itself is as it was (RFC 6749 6)
    expect((await refresh(app, client, narrow.body.refresh_token)).body.scope).toBe('mcp:read mcp:posts:write');
  });

  test('rejects a refresh token thirty days after its issue and leaves others valid [OA17]', async () => {
    const { refresh: token, access } = await tokensFor(app, bob, client);
    await db.sql`update oauth_tokens set refresh_expires_at = now() where refresh_hash = ${sha256(token)}`;
    expect((await refresh(app, client, token)).body.error).toBe('invalid_grant');
    expect(await opens(app, access)).toBe(200);
  });
});

describe('resource', () => {
  const bound = async (resource: string, at: 'authorize' | 'token') => {
    const { verifier, challenge } = pkce();
    const { code } = await approve(bob, client.clientId, { ...challenge, ...(at === 'authorize' && { resource }) });
    return exchange(app, client, { code, code_verifier: verifier, ...(at === 'token' && { resource }) });
  };
  test.each(['authorize', 'token'] as const)(
    'a token bound by %s is accepted by its surface only [S97, X23]',
    async (at) => {
      const { body } = await bound(`${ISSUER}/mcp`, at);
      expect(await opens(app, body.access_token)).toBe(401);
      const { access } = app.context.oauth;
      expect((await access.authenticate(body.access_token, 'mcp')).orgId).toBe(bob.orgId);
      await expect(access.authenticate(body.access_token, 'media-mcp')).rejects.toMatchObject({
        code: 'invalid_token',
      });
      const again = await refresh(app, client, body.refresh_token, { resource: `${ISSUER}/media-mcp` });
      expect(again.body.error).toBe('invalid_target');
      const next = await refresh(app, client, body.refresh_token);
      expect(await opens(app, next.body.access_token)).toBe(401);
    },
  );
  test('an approval for one surface is not exchanged for another; aliases of a surface are equal [S97]', async () => {
    const { code } = await approve(bob, client.clientId, { resource: `${ISSUER}/mcp` });
    expect((await exchange(app, client, { code, resource: `${ISSUER}/media-mcp` })).body.error).toBe('invalid_target');
    for (const name of [`${ISSUER}/mcp/`, `${ISSUER}/api/mcp`, 'HTTPS://API.example.com:443/mcp'])
      expect((await bound(name, 'token')).status).toBe(200);
    for (const name of [
      `${ISSUER}/mcp/x`,
      `${ISSUER}/mcp?x`,
      `${ISSUER}/mcp#x`,
      ISSUER,
      'mcp',
      'https://api.example.com.evil.example/mcp',
    ])
      expect([name, (await bound(name, 'token')).body.error]).toEqual([name, 'invalid_target']);
  });
});

describe('POST /oauth/revoke', () => {
  const revoke = (token: string, more: Record<string, unknown> = {}) =>
    app
      .client()
      .post('/oauth/revoke', { token, client_id: client.clientId, client_secret: client.clientSecret, ...more });

  test('revokes all tokens of the code with a refresh token, only itself with an access token, and always answers 200 {} [S95]', async () => {
    const first = await tokensFor(app, bob, client);
    const second = await refresh(app, client, first.refresh);
    const other = await tokensFor(app, bob, client);
    expect(await revoke(other.access)).toMatchObject({ status: 200, text: '{}' });
    expect([await opens(app, other.access), (await refresh(app, client, other.refresh)).status]).toEqual([401, 200]);
    expect((await revoke(second.body.refresh_token, { token_type_hint: 'access_token' })).text).toBe('{}');
    for (const access of [first.access, second.body.access_token]) expect(await opens(app, access)).toBe(401);
    expect((await refresh(app, client, second.body.refresh_token)).body.error).toBe('invalid_grant');
    for (const token of ['unknown', first.access, `pos_${'x'.repeat(43)}`])
      expect(await revoke(token)).toMatchObject({ status: 200, text: '{}' });
    const form = await app
      .client()
      .post('/oauth/revoke', `token=${other.access}`, { 'content-type': 'application/x-www-form-urlencoded' });
    expect([form.status, form.text]).toEqual([200, '{}']);
  });

  test('leaves the token of another client valid and answers wrong credentials with invalid_client [S95]', async () => {
    const stranger = await makeApp(await app.signUp());
    const { access } = await tokensFor(app, bob, client);
    expect((await revoke(access, { client_id: stranger.clientId, client_secret: stranger.clientSecret })).text).toBe(
      '{}',
    );
    expect((await revoke(access, { client_secret: 'pcs_wrong' })).body.error).toBe('invalid_client');
    expect((await revoke('')).body.error).toBe('invalid_request');
    expect(await opens(app, access)).toBe(200);
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

test('sweeps expired tokens, codes and device requests', async () => {
  const { access } = await tokensFor(app, bob, client);
  const count = async () =>
    (
      await db.sql`
        select (select count(*) from oauth_tokens)::int as tokens, (select count(*) from oauth_codes)::int as codes,
          (select count(*) from oauth_devices)::int as devices`
    )[0];
  await app.client().post('/device/code', {});
  await app.context.oauth.sweep(500);
  expect(await opens(app, access)).toBe(200);
  const before = await count();
  expect(before!['tokens'] > 1 && before!['codes'] > 1 && before!['devices'] > 0).toBe(true);
  await db.sql`update oauth_tokens set refresh_expires_at = now() where access_hash <> ${sha256(access)}`;
  await db.sql`
    update oauth_codes
    set expires_at = now() - interval '32 days'
    where code_hash <> (select code_hash from oauth_tokens where access_hash = ${sha256(access)})`;
  await db.sql`update oauth_devices set expires_at = now() - interval '2 hours'`;
  expect(await app.context.oauth.sweep(2)).toBe(2);
  await app.context.oauth.sweep(500);
  expect([await count(), await opens(app, access)]).toEqual([{ tokens: 1, codes: 1, devices: 0 }, 200]);
});
