import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as strict from 'openid-client';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { closes, makeApp, opens, type OrgApp, pkce, register } from '../../support/worlds/oauth.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { freePort } from '../../support/wire/ports.ts';

// Programs of others that log in by our server: each follows the standards in its own way.

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
let client: OrgApp;
beforeAll(async () => {
  db = await testDatabase();
  const port = await freePort(); // the server names its own address
  app = await testApp({ sql: db.sql, env: { PORT: String(port) } });
  await app.signUp();
  ann = await app.signUp();
  client = await makeApp(ann, 'http://127.0.0.1/callback');
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

/**
 * What a browser does with an authorization address: the consent page reads the request, the person approves, the
 * browser goes where it is told.
 */
async function consent(authorization: string): Promise<URL> {
  const url = new URL(authorization);
  expect(url.origin + url.pathname).toBe(`${app.address}/oauth/authorize`);
  const shown = await ann.client.get(url.pathname + url.search, { accept: 'application/json' });
  expect([shown.status, shown.body.app?.name]).toEqual([200, expect.any(String)]);
  const { status, body } = await ann.client.post('/oauth/authorize', {
    ...Object.fromEntries(url.searchParams),
    action: 'approve',
  });
  expect([status, typeof body.redirect]).toEqual([200, 'string']);
  return new URL(body.redirect);
}

describe('openid-client, which is strict about every RFC', () => {
  const insecure = { execute: [strict.allowInsecureRequests] };
  const redirectUri = 'http://127.0.0.1:45678/callback';

  test.each([
    ['client_secret_post', strict.ClientSecretPost],
    ['client_secret_basic', strict.ClientSecretBasic],
  ])(
    'discovers, logs in with PKCE, iss and state, refreshes and revokes by %s [OA34, S90, S91, S93, S95]',
    async (_, method) => {
      const config = await strict.discovery(
        new URL(app.address),
        client.clientId,
        undefined,
        method(client.clientSecret),
        { algorithm: 'oauth2', ...insecure },
      );
      const verifier = strict.randomPKCECodeVerifier();
      const state = strict.randomState();
      const to = strict.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'mcp:read',
        state,
        code_challenge: await strict.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
      const back = await consent(to.href);
      const tokens = await strict.authorizationCodeGrant(config, back, {
        pkceCodeVerifier: verifier,
        expectedState: state,
      });
      expect([tokens.expires_in, tokens.scope, await opens(app, tokens.access_token)]).toEqual([3600, 'mcp:read', 200]);
      const next = await strict.refreshTokenGrant(config, tokens.refresh_token!);
      expect(await opens(app, next.access_token)).toBe(200);
      await strict.tokenRevocation(config, next.refresh_token!);
      expect(await closes(app, next.access_token)).toBe(true);
      await expect(strict.refreshTokenGrant(config, next.refresh_token!)).rejects.toMatchObject({
        error: 'invalid_grant',
        status: 400,
      });
      await expect(
        strict.authorizationCodeGrant(config, back, { pkceCodeVerifier: verifier, expectedState: state }),
      ).rejects.toMatchObject({
        error: 'invalid_grant',
      });
    },
  );

  test('registers itself as a public client and handles a denial [S94, OA13]', async () => {
    const config = await strict.dynamicClientRegistration(
      new URL(app.address),
      { redirect_uris: [redirectUri], token_endpoint_auth_method: 'none' },
      strict.None(),
      {
        algorithm: 'oauth2',
        ...insecure,
      },
    );
    const verifier = strict.randomPKCECodeVerifier();
    const challenge = {
      code_challenge: await strict.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    };
    const request = { redirect_uri: redirectUri, state: 'first', ...challenge };
    const tokens = await strict.authorizationCodeGrant(
      config,
      await consent(strict.buildAuthorizationUrl(config, request).href),
      {
        pkceCodeVerifier: verifier,
        expectedState: 'first',
      },
    );
    expect(await opens(app, tokens.access_token)).toBe(200);
    const { body } = await ann.client.post('/oauth/authorize', {
      client_id: config.clientMetadata().client_id,
      ...request,
      action: 'deny',
    });
    await expect(
      strict.authorizationCodeGrant(config, new URL(body.redirect), {
        pkceCodeVerifier: verifier,
        expectedState: 'first',
      }),
    ).rejects.toMatchObject({
      error: 'access_denied',
    });
  });
});

describe('hand-written clients', () => {
  test('a naive client works with JSON, the secret in the body, no PKCE and no redirect_uri [S88, S90]', async () => {
    const back = await consent(`${app.address}/oauth/authorize?client_id=${client.clientId}&state=1`);
    const answer = await fetch(`${app.address}/oauth/token`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({
        grant_type: 'authorization_code',
        code: back.searchParams.get('code'),
        client_id: client.clientId,
        client_secret: client.clientSecret,
      }),
    });
    expect([answer.status, await opens(app, ((await answer.json()) as { access_token: string }).access_token)]).toEqual(
      [200, 200],
    );
  });

  test('a native client works with a form, PKCE, no secret and an ephemeral loopback port [S86, S88]', async () => {
    const agent = await register(app, { redirect_uris: ['http://127.0.0.1/cb'] });
    const { verifier, challenge } = pkce();
    const redirectUri = 'http://127.0.0.1:51234/cb';
    const request = { response_type: 'code', client_id: agent.client_id, redirect_uri: redirectUri, ...challenge };
    const back = await consent(`${app.address}/oauth/authorize?${new URLSearchParams(request)}`);
    const answer = await fetch(`${app.address}/oauth/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        code: back.searchParams.get('code')!,
        client_id: agent.client_id,
        redirect_uri: redirectUri,
        code_verifier: verifier,
      }),
    });
    expect([back.port, answer.status]).toEqual(['51234', 200]);
  });
});

await describePeer(
  'oauth',
  () => npmPeer('oauth'),
  ({ start }) => {
    let peer: Peer;
    beforeAll(async () => {
      peer = await start();
    }, 120_000);
    afterAll(async () => peer.stop());

    async function logIn(library: string, query: Record<string, string>) {
      const going = await fetch(`${peer.url}/${library}/login?${new URLSearchParams(query)}`, { redirect: 'manual' });
      if (going.status !== 302) throw new Error(await going.text());
      const answer = await fetch(await consent(going.headers.get('location')!));
      const text = await answer.text();
      if (answer.status !== 200) throw new Error(text);
      return JSON.parse(text) as { first: Record<string, string>; second?: Record<string, string> };
    }

    test('simple-oauth2 works with a form, the secret in the body and PKCE; it refreshes and revokes [S88, S90, S93, S95]', async () => {
      await ann.client.put('/user/oauth-app', { redirectUrl: 'http://127.0.0.1/simple/callback' });
      const { first, second } = await logIn('simple', {
        server: app.address,
        id: client.clientId,
        secret: client.clientSecret,
      });
      // it has revoked all of it
      expect([first['token_type'], await opens(app, first['access_token']!)]).toEqual(['bearer', 401]);
      expect(second!['refresh_token']).not.toBe(first['refresh_token']);
      expect(await opens(app, second!['access_token']!)).toBe(401);
    });

    test('passport-oauth2 works with its own state and PKCE [S88, S90]', async () => {
      await ann.client.put('/user/oauth-app', { redirectUrl: 'http://127.0.0.1/passport/callback' });
      const { first } = await logIn('passport', {
        server: app.address,
        id: client.clientId,
        secret: client.clientSecret,
      });
      expect([first['id'], await opens(app, first['access_token']!)]).toEqual([ann.orgId, 200]);
    });

    test.each(['/mcp', '/api/mcp', '/media-mcp'])(
      'the MCP SDK at %s discovers, registers and refreshes, its tokens bound to the surface [S94, S96, S97]',
      async (at) => {
        const { first, second } = await logIn('mcp', { server: app.address, at });
        expect([first['scope'], second!['access_token'] === first['access_token']]).toEqual([
          'mcp:read mcp:posts:write',
          false,
        ]);
        const { access } = app.context.oauth;
        const surface = at.endsWith('media-mcp') ? 'media-mcp' : 'mcp';
        expect((await access.authenticate(second!['access_token']!, surface)).userId).toBe(ann.userId);
        expect(await opens(app, second!['access_token']!)).toBe(401);
      },
    );
  },
);
