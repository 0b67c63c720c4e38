// oxlint-disable max-lines -- one product is attacked, and the cases are counted together
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { sha256 } from '../../../src/platform/kernel/index.ts';
import { type Answer, type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import {
  approval,
  approve,
  CALLBACK,
  closes,
  exchange,
  makeApp,
  opens,
  type OrgApp,
  pkce,
  refresh,
  register,
  tokensFor,
} from '../../support/worlds/oauth.ts';

// RFC 9700 by classes. Each case is an attack; `counted` sees that none was accepted and that there are enough of them.
let attacks = 0;
let accepted = 0;
/** An answer that must be a refusal, and must give nothing. */
function refused(answer: Answer, ...errors: string[]): void {
  attacks += 1;
  if (answer.status < 400 || /pos_|posr_|pcs_|pm_live_/.test(answer.text)) accepted += 1;
  expect([answer.status >= 400, answer.status < 500, answer.body?.error]).toEqual([
    true,
    true,
    errors.length === 1 ? errors[0] : expect.any(String),
  ]);
}

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let bob: SignedUp;
let eve: SignedUp;
let client: OrgApp;
let evil: OrgApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  await app.signUp();
  [ann, bob, eve] = [await app.signUp(), await app.signUp(), await app.signUp()];
  client = await makeApp(ann);
  evil = await makeApp(eve, 'https://evil.example/callback', 'Evil');
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/** A code of Bob's, with what its rightful exchange needs. */
async function codeOf(more: Record<string, unknown> = {}) {
  const { verifier, challenge } = pkce();
  const { code } = await approve(bob, client.clientId, { ...challenge, redirect_uri: CALLBACK, ...more });
  return { code, code_verifier: verifier, redirect_uri: CALLBACK };
}

describe('PKCE', () => {
  const verifiers: [string, (right: string) => Record<string, unknown>][] = [
    ['wrong', () => ({ code_verifier: pkce().verifier })],
    ['missing', () => ({ code_verifier: undefined })],
    ['empty', () => ({ code_verifier: '' })],
    [
      'the challenge itself, as with the method plain',
      (right) => ({ code_verifier: pkce(right).challenge.code_challenge }),
    ],
    [
      'in other case',
      (right) => ({ code_verifier: right.toLowerCase() === right ? right.toUpperCase() : right.toLowerCase() }),
    ],
    ['cut', (right) => ({ code_verifier: right.slice(0, -1) })],
    ['longer', (right) => ({ code_verifier: `${right}A` })],
    ['in a list', (right) => ({ code_verifier: [right] })],
  ];
  test.each(verifiers)('a verifier that is %s is refused [OA15, OA31, S253]', async (_, change) => {
    const right = await codeOf();
    refused(await exchange(app, client, { ...right, ...change(right.code_verifier) }));
  });
  test('the verifier of another code is refused [OA15]', async () => {
    const [mine, other] = [await codeOf(), await codeOf()];
    refused(await exchange(app, client, { ...mine, code_verifier: other.code_verifier }), 'invalid_grant');
  });
  test('a verifier given twice in a form is refused [S253]', async () => {
    const { code, code_verifier: verifier } = await codeOf();
    const form = new URLSearchParams({
      grant_type: 'authorization_code',
      client_id: client.clientId,
      client_secret: client.clientSecret,
      code,
      redirect_uri: CALLBACK,
      code_verifier: 'x'.repeat(43),
    });
    form.append('code_verifier', verifier);
    refused(
      await app.client().post('/oauth/token', form.toString(), { 'content-type': 'application/x-www-form-urlencoded' }),
      'invalid_request',
    );
  });
  test.each([
    { code_challenge_method: 'plain' },
    { code_challenge_method: undefined },
    { code_challenge: undefined },
    { code_challenge: '' },
    { code_challenge: 'x'.repeat(42) },
  ])('a public client with %j [OA32, S88]', async (change) => {
    const agent = await register(app);
    refused(
      await bob.client.post('/oauth/authorize', approval(agent.client_id, { ...pkce().challenge, ...change })),
      'invalid_request',
    );
  });
  test('a verifier for a code whose challenge was removed on the way is refused [S88]', async () => {
    const { code } = await approve(bob, client.clientId);
    refused(await exchange(app, client, { code, code_verifier: pkce().verifier }), 'invalid_grant');
  });
  test('a failed exchange burns the code: the right verifier afterwards is refused [S254]', async () => {
    const right = await codeOf();
    refused(await exchange(app, client, { ...right, code_verifier: 'x'.repeat(43) }), 'invalid_grant');
    refused(await exchange(app, client, right), 'invalid_grant');
  });
});

describe('codes', () => {
  test('a code used twice is refused the second time and everything it produced is revoked, refreshed tokens included [S92, S254, X16]', async () => {
    const right = await codeOf();
    const { body } = await exchange(app, client, right);
    const next = await refresh(app, client, body.refresh_token);
    const apart = await tokensFor(app, bob, client);
    refused(await exchange(app, client, right), 'invalid_grant');
    for (const token of [body.access_token, next.body.access_token]) expect(await opens(app, token)).toBe(401);
    refused(await refresh(app, client, next.body.refresh_token), 'invalid_grant');
    expect(await opens(app, apart.access)).toBe(200); // of another approval
    const notes = await db.sql`
        select detail from audit_log where action = 'oauth_authorization.tokens_revoked' and org_id = ${bob.orgId}`;
    expect(notes.map((note) => note['detail'])).toContainEqual({ reused: 'code' });
  });
  test.each([10, 100])(
    '%i exchanges of one code at once: exactly one succeeds, and its tokens are revoked then [S254, X25]',
    async (many) => {
      const right = await codeOf();
      const answers = await Promise.all(Array.from({ length: many }, () => exchange(app, client, right)));
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      for (const answer of answers) if (answer !== won[0]) refused(answer, 'invalid_grant');
      expect(await closes(app, won[0]!.body.access_token)).toBe(true);
      refused(await refresh(app, client, won[0]!.body.refresh_token), 'invalid_grant');
    },
  );
  test('a code that is expired, of another app, of another redirect or invented is refused [OA14, OA33, S92]', async () => {
    const expired = await codeOf();
    await db.sql`update oauth_codes set expires_at = now() where code_hash = ${sha256(expired.code)}`;
    refused(await exchange(app, client, expired), 'invalid_grant');
    refused(await exchange(app, evil, await codeOf()), 'invalid_grant');
    refused(
      await exchange(app, client, { ...(await codeOf()), redirect_uri: 'https://evil.example/callback' }),
      'invalid_grant',
    );
    refused(await exchange(app, client, { ...(await codeOf()), redirect_uri: undefined }), 'invalid_grant');
    for (const code of ['', 'x', 'x'.repeat(43), '0', 'null', "' or 1=1 --", 'x'.repeat(10_000)])
      refused(await exchange(app, client, { code }));
  });
  test('a code of a removed or disabled member, or of a deleted org, is refused [S92]', async () => {
    for (const end of [
      (user: SignedUp) => db.sql`delete from memberships where user_id = ${user.userId}`,
      (user: SignedUp) => db.sql`update memberships set disabled = true where user_id = ${user.userId}`,
      (user: SignedUp) => db.sql`update organizations set deleted_at = now() where id = ${user.orgId}`,
      (user: SignedUp) => db.sql`update users set deleted_at = now() where id = ${user.userId}`,
    ]) {
      const cid = await app.signUp();
      const { code } = await approve(cid, client.clientId);
      await end(cid);
      refused(await exchange(app, client, { code }), 'invalid_grant');
    }
  });
  test('a code of an authorization revoked meanwhile is refused [OA38]', async () => {
    const cid = await app.signUp();
    const { code } = await approve(cid, client.clientId);
    const [{ id }] = (await cid.client.get('/user/approved-apps')).body;
    await cid.client.delete(`/user/approved-apps/${id}`);
    refused(await exchange(app, client, { code }), 'invalid_grant');
  });
});

const MUTATIONS: [string, string][] = [
  ['another host', 'https://evil.example/callback'],
  ['a subdomain', 'https://www.client.example/callback'],
  ['a longer host', 'https://client.example.evil.example/callback'],
  ['a host in front', 'https://evilclient.example/callback'],
  ['another case of the host', 'https://CLIENT.example/callback'],
  ['another case of the scheme', 'HTTPS://client.example/callback'],
  ['another case of the path', 'https://client.example/Callback'],
  ['plain http', 'http://client.example/callback'],
  ['another scheme', 'ftp://client.example/callback'],
  ['a port', 'https://client.example:8443/callback'],
  ['the port that is the default', 'https://client.example:443/callback'],
  ['a slash at the end', 'https://client.example/callback/'],
  ['a slash more', 'https://client.example//callback'],
  ['a path more', 'https://client.example/callback/evil'],
  ['a path climbed', 'https://client.example/x/../callback'],
  ['a path below', 'https://client.example/callback/../evil'],
  ['an encoded letter', 'https://client.example/%63allback'],
  ['an encoded slash', 'https://client.example/callback%2f'],
  ['a parameter', 'https://client.example/callback?next=https://evil.example'],
  ['an empty query', 'https://client.example/callback?'],
  ['a fragment', 'https://client.example/callback#evil'],
  ['an empty fragment', 'https://client.example/callback#'],
  ['a user', 'https://client.example@evil.example/callback'],
  ['a user in front', 'https://evil@client.example/callback'],
  ['a backslash', 'https://evil.example\\@client.example/callback'],
  ['a tab', 'https://client.example/\tcallback'],
  ['a line break', 'https://client.example/callback\r\nLocation: https://evil.example'],
  ['a space behind', 'https://client.example/callback '],
  ['a dot behind the host', 'https://client.example./callback'],
  ['no scheme', '//client.example/callback'],
  ['a path alone', '/callback'],
  ['a script', 'javascript:alert(1)//https://client.example/callback'],
  ['data', 'data:text/html,https://client.example/callback'],
  ['a prefix', 'https://client.example/call'],
];
describe('a changed redirect_uri', () => {
  test.each(MUTATIONS)(
    '%s is refused at authorize, approval and exchange, and nobody is redirected there [OA3, S86, X18]',
    async (_, uri) => {
      const query = new URLSearchParams({ client_id: client.clientId, redirect_uri: uri });
      refused(await app.client().get(`/oauth/authorize?${query}`), 'invalid_request');
      const browser = await app.client().get(`/oauth/authorize?${query}`, { accept: 'text/html' });
      refused(browser, 'invalid_request');
      expect(browser.headers.get('location')).toBeNull();
      refused(
        await bob.client.post('/oauth/authorize', approval(client.clientId, { redirect_uri: uri })),
        'invalid_request',
      );
      refused(
        await bob.client.post('/oauth/authorize', {
          ...approval(client.clientId, { redirect_uri: uri }),
          action: 'deny',
        }),
        'invalid_request',
      );
      refused(await exchange(app, client, { ...(await codeOf()), redirect_uri: uri }), 'invalid_grant');
    },
  );

  test('a loopback address may differ in its port only [S86, X18]', async () => {
    const agent = await register(app, {
      redirect_uris: ['http://127.0.0.1:3000/cb', 'http://localhost/cb', 'http://[::1]/cb?a=1'],
    });
    const ask = (uri: string) =>
      app
        .client()
        .get(
          `/oauth/authorize?${new URLSearchParams({ client_id: agent.client_id, redirect_uri: uri, ...pkce().challenge })}`,
        );
    for (const uri of [
      'http://127.0.0.1/cb',
      'http://127.0.0.1:49152/cb',
      'http://localhost:1/cb',
      'http://[::1]:65535/cb?a=1',
    ])
      expect([uri, (await ask(uri)).status]).toEqual([uri, 200]);
    for (const uri of [
      'http://127.0.0.2/cb',
      'http://127.0.0.1:99999/cb',
      'http://127.0.0.1:/cb',
      'http://127.0.0.1:3000@evil.example/cb',
      'http://127.0.0.1:3000/cb/',
      'http://127.0.0.1:3000/cb?x=1',
      'http://127.0.0.1:3000/cb#x',
      'http://127.0.0.1.evil.example:3000/cb',
      'https://127.0.0.1:3000/cb',
      'http://localhost.evil.example/cb',
      'http://LOCALHOST/cb',
      'http://[::1]/cb',
      'http://2130706433/cb',
      'http://[::ffff:127.0.0.1]/cb?a=1',
      'http://evil.example/cb',
    ])
      refused(await ask(uri), 'invalid_request');
  });
});

describe('scope and state', () => {
  test('state comes back unchanged, and no part of it becomes another parameter [OA12, OA24]', async () => {
    for (const state of [
      'a&code=stolen&iss=https://evil.example',
      '#x',
      '%26code=x',
      'ä 👩‍👧 "\'<>',
      '\u2028',
      ' ',
      'a+b',
    ])
      for (const action of ['approve', 'deny']) {
        const { body } = await bob.client.post('/oauth/authorize', { ...approval(client.clientId, { state }), action });
        const { searchParams, hash } = new URL(body.redirect);
        expect([
          searchParams.getAll('state'),
          searchParams.getAll('code').length + searchParams.getAll('error').length,
          hash,
        ]).toEqual([[state], 1, '']);
      }
    const { redirect } = await approve(bob, client.clientId, { state: undefined });
    expect(redirect.searchParams.has('state')).toBe(false);
  });
  test('scope is not widened at the exchange; unknown and reserved scopes are refused [S89, S90, MC7]', async () => {
    const narrow = await codeOf({ scope: 'mcp:read' });
    const { body } = await exchange(app, client, { ...narrow, scope: 'mcp:read mcp:posts:write mcp:admin' });
    expect(body.scope).toBe('mcp:read');
    refused({
      ...(await app.client().post('/public/v1/webhooks', {}, { authorization: body.access_token })),
      body: { error: 'insufficient_scope' },
    });
    for (const scope of [
      'mcp:admin',
      'mcp:read mcp:admin',
      'admin',
      'mcp:*',
      'MCP:READ',
      'openid',
      'mcp:posts',
      'mcp:read,mcp:posts:write',
    ]) {
      refused(
        await app.client().get(`/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, scope })}`),
        'invalid_scope',
      );
      attacks += 1;
      expect((await approve(bob, client.clientId, { scope })).code).toBeNull();
    }
  });
  test('a client gets at most the scopes that it registered for [S89]', async () => {
    const agent = await register(app, { scope: 'mcp:read', token_endpoint_auth_method: 'client_secret_post' });
    const { code } = await approve(bob, agent.client_id, { scope: 'mcp:posts:write' });
    expect(
      (await exchange(app, { clientId: agent.client_id, clientSecret: agent.client_secret! }, { code })).body.scope,
    ).toBe('mcp:read');
  });
});

describe('client authentication', () => {
  test('a secret that is wrong, rotated, foreign, empty, a hash or in a list is refused; the code stays valid [S92]', async () => {
    const right = await codeOf();
    for (const secret of [
      'pcs_wrong',
      evil.clientSecret,
      '',
      undefined,
      sha256(client.clientSecret).toString('hex'),
      client.clientSecret.toLowerCase(),
      `${client.clientSecret} `,
      [client.clientSecret],
      null,
    ])
      refused(await exchange(app, client, { ...right, client_secret: secret }));
    const { body } = await ann.client.post('/user/oauth-app/rotate-secret');
    refused(await exchange(app, client, right), 'invalid_client');
    client = { ...client, clientSecret: body.clientSecret };
    expect((await exchange(app, client, right)).status).toBe(200);
  });
  test('a confidential client is not accepted as a public one, nor the reverse [S90, S253]', async () => {
    refused(await exchange(app, { clientId: client.clientId }, await codeOf()), 'invalid_client');
    const agent = await register(app);
    const { verifier, challenge } = pkce();
    const { code } = await approve(bob, agent.client_id, challenge);
    refused(
      await exchange(
        app,
        { clientId: agent.client_id, clientSecret: client.clientSecret },
        { code, code_verifier: verifier },
      ),
      'invalid_client',
    );
  });
  const basic = (text: string) => ({ authorization: `Basic ${Buffer.from(text).toString('base64')}` });
  test.each([
    ['no colon', () => basic(client.clientId)],
    ['an empty name', () => basic(`:${client.clientSecret}`)],
    ['an empty secret', () => basic(`${client.clientId}:`)],
    ['odd encoding', () => basic(`${client.clientId}:%`)],
    ['no base64', () => ({ authorization: 'Basic ****' })],
    ['another scheme', () => ({ authorization: `Bearer ${client.clientSecret}` })],
    ['two ways at once', () => basic(`${client.clientId}:${client.clientSecret}`), true],
  ] as const)('Basic with %s is refused [S90]', async (_, headers, ...both) => {
    const right = await codeOf();
    const body = {
      grant_type: 'authorization_code',
      ...right,
      ...(both.length > 0 && { client_id: client.clientId, client_secret: client.clientSecret }),
    };
    refused(await app.client().post('/oauth/token', body, headers()));
  });
  test('an unknown client and a wrong secret get the same answer [S92]', async () => {
    const answers = [
      await exchange(app, { clientId: 'pca_unknown', clientSecret: 'x' }, { code: 'x' }),
      await exchange(app, { ...client, clientSecret: 'x' }, { code: 'x' }),
    ];
    for (const answer of answers) refused(answer, 'invalid_client');
    expect(answers[0]!.text).toBe(answers[1]!.text);
  });
});

describe('grants', () => {
  test.each([
    'password',
    'client_credentials',
    'implicit',
    'urn:ietf:params:oauth:grant-type:jwt-bearer',
    'urn:ietf:params:oauth:grant-type:saml2-bearer',
    'urn:ietf:params:oauth:grant-type:token-exchange',
    'urn:ietf:params:oauth:grant-type:device_code',
    'AUTHORIZATION_CODE',
    'authorization_code ',
    '__proto__',
    'constructor',
  ])('%s is not offered [OA30]', async (grantType) => {
    const body = { username: bob.email, password: bob.password, assertion: 'x.y.z', ...(await codeOf()) };
    refused(await exchange(app, client, { ...body, grant_type: grantType }), 'unsupported_grant_type');
  });
});

describe('tokens', () => {
  test('a used refresh token revokes everything of the authorization when it is used again [S93, X16]', async () => {
    const cid = await app.signUp();
    const first = await tokensFor(app, cid, client);
    const apart = await tokensFor(app, cid, client);
    const next = await refresh(app, client, first.refresh);
    refused(await refresh(app, client, first.refresh), 'invalid_grant');
    for (const token of [first.access, next.body.access_token, apart.access]) expect(await opens(app, token)).toBe(401);
    for (const token of [first.refresh, next.body.refresh_token, apart.refresh])
      refused(await refresh(app, client, token), 'invalid_grant');
    const notes = await db.sql`
        select detail, user_id
        from audit_log
        where action = 'oauth_authorization.tokens_revoked' and org_id = ${cid.orgId}`;
    expect(notes.map(({ ...note }) => note)).toEqual([{ detail: { reused: 'refresh token' }, user_id: null }]);
    expect((await tokensFor(app, cid, client)).access).toMatch(/^pos_/); // the person may approve again
  });
  test.each([10, 100])(
    '%i concurrent refreshes of one token: one succeeds, then everything is revoked as after a theft [S93, X25]',
    async (many) => {
      const cid = await app.signUp();
      const { refresh: token } = await tokensFor(app, cid, client);
      const answers = await Promise.all(Array.from({ length: many }, () => refresh(app, client, token)));
      const won = answers.filter(({ status }) => status === 200);
      expect(won).toHaveLength(1);
      for (const answer of answers) if (answer !== won[0]) refused(answer, 'invalid_grant');
      expect(await closes(app, won[0]!.body.access_token)).toBe(true);
      refused(await refresh(app, client, won[0]!.body.refresh_token), 'invalid_grant');
    },
  );
  test('the refresh token of another app, an access token in its place and the reverse are refused; valid tokens survive [S92]', async () => {
    const { access, refresh: token } = await tokensFor(app, bob, client);
    refused(await refresh(app, evil, token), 'invalid_grant');
    refused(await refresh(app, client, access), 'invalid_grant');
    for (const wrong of [
      token,
      token.replace('posr_', 'pos_'),
      `${access}x`,
      access.slice(0, -1),
      access.toUpperCase(),
      `pos_`,
      sha256(access).toString('hex'),
    ]) {
      attacks += 1;
      expect([wrong.slice(0, 5), await opens(app, wrong)]).toEqual([wrong.slice(0, 5), 401]);
    }
    expect([await opens(app, access), (await refresh(app, client, token)).status]).toEqual([200, 200]);
  });
  test('a wider scope at refresh is refused [S93, S253]', async () => {
    const { refresh: token } = await tokensFor(app, bob, client, { scope: 'mcp:read' });
    for (const scope of ['mcp:posts:write', 'mcp:read mcp:posts:write', 'mcp:admin'])
      refused(await refresh(app, client, token, { scope }), 'invalid_scope');
  });
  test('codes, secrets and keys are not accepted as access tokens, nor access tokens as sessions [S14, S28]', async () => {
    const { access } = await tokensFor(app, bob, client);
    const { code } = await approve(bob, client.clientId);
    for (const credential of [code, `pos_${code}`, client.clientSecret, client.clientId]) {
      attacks += 1;
      expect((await app.client().get('/public/v1/is-connected', { authorization: credential })).status).toBe(401);
    }
    for (const headers of [{ auth: access }, { cookie: `auth=${access}` }, { authorization: access }]) {
      attacks += 1;
      expect((await app.client().get('/user/self', headers)).status).toBe(401);
    }
  });
});

describe('registration', () => {
  test.each([
    ['none', []],
    ['eleven', Array.from({ length: 11 }, (_, n) => `https://client.example/${n}`)],
    ...[
      'http://client.example/',
      'javascript:alert(1)',
      'data:text/html,x',
      'file:///etc/passwd',
      'https://client.example/#x',
      'https://me:secret@client.example/',
      'vbscript:x',
      'blob:https://client.example/x',
      '/callback',
      '',
      'https://*.example/',
      'https://client.example/\\x',
      'http://127.0.0.1.evil.example/',
      'mailto:a@example.com',
      'http://0.0.0.0/',
    ].map((uri): [string, string[]] => [uri, [CALLBACK, uri]]),
  ])('redirect_uris %s are refused [S94, S255]', async (what, uris) => {
    const answer = await app.client().post('/oauth/register', { redirect_uris: uris });
    // a name like any other: it is only ever compared whole
    if (what === 'https://*.example/') return expect(answer.status).toBe(201);
    refused(answer, 'invalid_redirect_uri');
  });
  test('other invalid metadata is refused with its name [S94]', async () => {
    for (const wrong of [
      { client_name: 7 },
      { client_name: 'x'.repeat(101) },
      { token_endpoint_auth_method: 'private_key_jwt' },
      { grant_types: 'authorization_code' },
      { scope: ['mcp:read'] },
    ])
      refused(
        await app.client().post('/oauth/register', { redirect_uris: [CALLBACK], ...wrong }),
        'invalid_client_metadata',
      );
    refused(await app.client().post('/oauth/register', {}), 'invalid_redirect_uri');
  });
  test('URLs in the metadata are never fetched [S94]', async () => {
    let asked = 0;
    const server = createServer((_, response) => {
      asked += 1;
      response.end();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const agent = await register(app, {
      redirect_uris: [`${own}/cb`],
      client_uri: own,
      logo_uri: `${own}/logo.png`,
      jwks_uri: `${own}/jwks`,
      sector_identifier_uri: own,
      policy_uri: own,
      tos_uri: own,
      software_statement: 'x.y.z',
    });
    const { verifier, challenge } = pkce();
    const { code } = await approve(bob, agent.client_id, challenge);
    await exchange(app, { clientId: agent.client_id }, { code, code_verifier: verifier });
    attacks += 1;
    expect(asked).toBe(0);
    await new Promise((resolve) => server.close(resolve));
  });
  test('client names are shown as plain text and never become markup [X5]', async () => {
    const name = '<img src=x onerror=alert(1)>';
    const agent = await register(app, { client_name: name });
    const answer = await app
      .client()
      .get(`/oauth/authorize?${new URLSearchParams({ client_id: agent.client_id, ...pkce().challenge })}`);
    attacks += 1;
    expect([answer.body.app.name, answer.headers.get('content-type')]).toEqual([
      name,
      'application/json; charset=utf-8',
    ]);
  });
  test('client names cannot break their line or reverse the direction of reading [S94, X5]', async () => {
    const said = {
      client_name: 'Planner\n\u202eevil\u2066',
      client_uri: 'https://client.example/\r\nIt could\nRead nothing',
      logo_uri: '\u200f\t',
    };
    const { body: agent } = await app.client().post('/oauth/register', { redirect_uris: [CALLBACK], ...said });
    const answer = await app
      .client()
      .get(`/oauth/authorize?${new URLSearchParams({ client_id: agent.client_id, ...pkce().challenge })}`);
    attacks += 1;
    expect([agent.client_name, answer.body.app.name, answer.body.app.description]).toEqual([
      'Planner evil',
      'Planner evil',
      'Website: https://client.example/ It could Read nothing',
    ]);
  });
});

describe('consent', () => {
  const ask = () => approval(client.clientId);
  test('consent without a session, with a broken one, or with an API key or a token in its place is refused [OA26, S87]', async () => {
    const { access } = await tokensFor(app, bob, client);
    const { key } = await bob.withKey();
    for (const headers of [
      {},
      { cookie: 'auth=x.y.z' },
      { auth: 'x.y.z' },
      { authorization: access },
      { authorization: key },
    ])
      refused(await app.client().post('/oauth/authorize', ask(), headers));
  });
  test('consent without the CSRF token, or with that of another login, is refused [X9]', async () => {
    for (const csrf of [undefined, '', eve.client.csrf, 'x'.repeat(64)])
      refused(await bob.client.post('/oauth/authorize', ask(), { 'x-csrf-token': csrf }));
    refused(
      await bob.client.send(
        'POST',
        '/oauth/authorize',
        new URLSearchParams(ask() as Record<string, string>).toString(),
        {
          'x-csrf-token': undefined,
          'content-type': 'application/x-www-form-urlencoded',
        },
      ),
    );
  });
  test('an invalid decision, or one in the query string alone, is refused [OA26]', async () => {
    for (const action of [undefined, '', 'yes', 'APPROVE', ['approve'], true])
      refused(await bob.client.post('/oauth/authorize', { ...ask(), action }));
    attacks += 1;
    const answer = await bob.client.get(
      `/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, action: 'approve' })}`,
      {
        accept: 'application/json',
      },
    );
    expect(answer.text).not.toMatch(/code=/);
  });
});

test('the suite runs enough attacks, and none is accepted [X16, X18]', () => {
  expect(attacks).toBeGreaterThanOrEqual(60);
  expect(accepted).toBe(0);
  process.stderr.write(`OAuth: ${attacks} attacks, ${accepted} accepted\n`);
});
