import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sha256 } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
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
