// Programs that log people in by OAuth, each with another client library, on 127.0.0.1. Prints its address; ends when its input does.
// GET /<library>/login?server=…&id=…&secret=…  goes to the server; GET /<library>/callback answers the tokens it got, as JSON.
import { auth } from '@modelcontextprotocol/sdk/client/auth.js';
import { createHash, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import OAuth2Strategy from 'passport-oauth2';
import simple from 'simple-oauth2';

const logins = new Map(); // state → what its login needs

/** simple-oauth2: form-encoded, secret in the body, PKCE handed through. */
const simpleOAuth2 = {
  login({ server, id, secret }, redirect) {
    const client = new simple.AuthorizationCode({
      client: { id, secret },
      auth: { tokenHost: server, tokenPath: '/oauth/token', authorizePath: '/oauth/authorize', revokePath: '/oauth/revoke' },
      options: { authorizationMethod: 'body' },
    });
    const [state, verifier] = [randomBytes(16).toString('hex'), randomBytes(32).toString('base64url')];
    logins.set(state, { client, verifier });
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    return client.authorizeURL({ redirect_uri: redirect, scope: 'mcp:read mcp:posts:write', state, code_challenge: challenge, code_challenge_method: 'S256' });
  },
  async callback({ code, state }, redirect) {
    const { client, verifier } = logins.get(state);
    const first = await client.getToken({ code, redirect_uri: redirect, code_verifier: verifier });
    const second = await first.refresh();
    return { first: first.token, second: second.token, revoke: () => second.revoke('refresh_token') };
  },
};

/** passport-oauth2: an Express client; here without Express, which it does not need. */
const passport = {
  async login(query, redirect) {
    const session = {};
    const to = await this.authenticate(query, redirect, { query: {} }, session);
    logins.set(new URL(to.redirect).searchParams.get('state'), { query, session });
    return to.redirect;
  },
  async callback(answer, redirect) {
    const { query, session } = logins.get(answer.state);
    return (await this.authenticate(query, redirect, { query: answer }, session)).tokens;
  },
  authenticate({ server, id, secret }, redirect, request, session) {
    return new Promise((resolve, reject) => {
      const strategy = new OAuth2Strategy(
        { authorizationURL: `${server}/oauth/authorize`, tokenURL: `${server}/oauth/token`, clientID: id, clientSecret: secret, callbackURL: redirect, scope: ['mcp:read'], pkce: true, state: true },
        (accessToken, refreshToken, params, _profile, done) => done(null, { first: { access_token: accessToken, refresh_token: refreshToken, ...params } }),
      );
      strategy.userProfile = (_token, done) => done(null, {});
      Object.assign(strategy, { redirect: (url) => resolve({ redirect: url }), success: (tokens) => resolve({ tokens }), fail: (info) => reject(new Error(JSON.stringify(info))), error: reject });
      strategy.authenticate(Object.assign(request, { session, headers: {}, connection: {} }), {});
    });
  },
};

/** The client of the MCP SDK: discovery, registration and PKCE, all by what the server says of itself. */
const mcp = {
  provider(redirect, state) {
    const kept = {};
    return Object.assign(kept, {
      redirectUrl: redirect,
      clientMetadata: { redirect_uris: [redirect], client_name: 'MCP SDK', grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'], token_endpoint_auth_method: 'none' },
      state: () => state,
      clientInformation: () => kept.client,
      saveClientInformation: (client) => void (kept.client = client),
      tokens: () => kept.saved,
      saveTokens: (tokens) => void (kept.saved = tokens),
      redirectToAuthorization: (url) => void (kept.to = url.href),
      saveCodeVerifier: (verifier) => void (kept.verifier = verifier),
      codeVerifier: () => kept.verifier,
    });
  },
  async login({ server, at }, redirect) {
    const state = randomBytes(16).toString('hex');
    const provider = this.provider(redirect, state);
    await auth(provider, { serverUrl: `${server}${at}`, scope: 'mcp:read mcp:posts:write' });
    logins.set(state, { provider, serverUrl: `${server}${at}` });
    return provider.to;
  },
  async callback({ code, state }) {
    const { provider, serverUrl } = logins.get(state);
    await auth(provider, { serverUrl, authorizationCode: code });
    const first = provider.saved;
    await auth(provider, { serverUrl }); // it holds a refresh token, so it refreshes
    return { first, second: provider.saved };
  },
};

const libraries = { simple: simpleOAuth2, passport, mcp };
const server = createServer(async (request, response) => {
  const url = new URL(request.url, own);
  const [, name, step] = url.pathname.split('/');
  const query = Object.fromEntries(url.searchParams);
  try {
    const redirect = `${own}/${name}/callback`;
    if (step === 'login') return response.writeHead(302, { location: await libraries[name].login(query, redirect) }).end();
    const { revoke, ...tokens } = await libraries[name].callback(query, redirect);
    if (revoke) await revoke();
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify(tokens));
  } catch (error) {
    response.writeHead(500).end(String(error.stack ?? error));
  }
});
let own;
server.listen(0, '127.0.0.1', () => {
  own = `http://127.0.0.1:${server.address().port}`;
  process.stdout.write(`${JSON.stringify({ url: own })}\n`);
});
process.stdin.resume().on('end', () => process.exit(0));
