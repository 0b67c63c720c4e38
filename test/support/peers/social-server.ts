import { createHash, randomBytes } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface App {
  clientId: string;
  clientSecret: string;
  redirectUri: string;
  scopes: string;
}
interface Code {
  clientId: string;
  redirectUri: string;
  challenge: string;
  account: string;
  scopes: string;
}
interface Token {
  account: string;
  expiresAt: number;
}
type Reply = { status: number; body: unknown } | 'hang up';

const secretOf = () => randomBytes(24).toString('base64url');
const parse = (body: string, type = '') =>
  type.includes('json')
    ? (JSON.parse(body || '{}') as Record<string, string>)
    : (Object.fromEntries(new URLSearchParams(body)) as Record<string, string>);

/**
 * A network with consent: apps are registered, codes are single use and bound to app, redirect address and PKCE
 * challenge, refresh tokens rotate. It speaks as much of Mastodon's API as a login and a text need, and is strict in
 * what it takes.
 */
export async function startSocialServer() {
  const apps = new Map<string, App>();
  const codes = new Map<string, Code>();
  const tokens = new Map<string, Token>();
  const refreshTokens = new Map<string, string>();
  /** Requests to the token endpoint, by grant type. */
  const grants: string[] = [];
  const statuses: { account: string; text: string; key: string | undefined }[] = [];
  const server = {
    url: '',
    apps,
    tokens,
    refreshTokens,
    grants,
    statuses,
    /** Who consents. */
    account: '1',
    name: 'Ann',
    /** Seconds a token is good for; undefined: for ever, and there is no refresh token. */
    expiresIn: undefined as number | undefined,
    /**
     * Milliseconds that it takes a token for longer than it says, so that none is refused because a machine is slow.
     */
    graceMs: 0,
    /** What a person leaves ticked on the consent page; undefined: everything that is asked. */
    granted: undefined as string | undefined,
    /** Tokens that were ended by the client that they belong to. */
    revoked: [] as string[],
    /** Asked before a token is given: an answer instead, or nothing. */
    beforeGrant: async (_grant: string): Promise<Reply | undefined> => undefined,
    /** What it says of itself, as it goes out; undefined: it says nothing. */
    instance: undefined as string | undefined,
    /** How often it was asked. */
    instanceAsked: 0,
    beforeStatus: async (_token: string): Promise<Reply | undefined> => undefined,
    refuseAll: false,
    /** What a browser does on the consent page: the query that the network sends it back with. */
    consent,
    revoke: () => tokens.clear(),
    [Symbol.asyncDispose]: async () => {},
  };

  function consent(address: string): { code: string; state: string; redirect: string } {
    const url = new URL(address);
    const query = url.searchParams;
    const app = apps.get(query.get('client_id') ?? '');
    const wrong = [
      url.origin + url.pathname !== `${server.url}/oauth/authorize` && 'address',
      !app && 'client_id',
      app?.redirectUri !== query.get('redirect_uri') && 'redirect_uri',
      query.get('response_type') !== 'code' && 'response_type',
      app?.scopes !== query.get('scope') && 'scope',
      (query.get('state') ?? '').length < 22 && 'state',
      query.get('code_challenge_method') !== 'S256' && 'code_challenge_method',
      !/^[A-Za-z0-9_-]{43}$/.test(query.get('code_challenge') ?? '') && 'code_challenge',
    ].filter(Boolean);
    if (wrong.length > 0) throw new Error(`The consent page refuses: ${wrong.join()}`);
    const code = secretOf();
    codes.set(code, {
      clientId: app!.clientId,
      redirectUri: app!.redirectUri,
      challenge: query.get('code_challenge')!,
      account: server.account,
      scopes: app!.scopes,
    });
    return { code, state: query.get('state')!, redirect: app!.redirectUri };
  }

  function give(account: string, scopes: string) {
    const token = secretOf();
    tokens.set(token, { account, expiresAt: Date.now() + (server.expiresIn ?? 1e9) * 1_000 });
    if (server.expiresIn === undefined)
      return { status: 200, body: { access_token: token, token_type: 'Bearer', scope: server.granted ?? scopes } };
    const refresh = secretOf();
    refreshTokens.set(refresh, account);
    return {
      status: 200,
      body: { access_token: token, token_type: 'Bearer', refresh_token: refresh, expires_in: server.expiresIn },
    };
  }

  async function grant(form: Record<string, string>): Promise<Reply> {
    grants.push(form['grant_type'] ?? '');
    const special = await server.beforeGrant(form['grant_type'] ?? '');
    if (special) return special;
    const app = apps.get(form['client_id'] ?? '');
    if (!app || app.clientSecret !== form['client_secret']) return { status: 401, body: { error: 'invalid_client' } };
    const refused = { status: 400, body: { error: 'invalid_grant', error_description: 'The grant is invalid' } };
    if (form['grant_type'] === 'refresh_token') {
      const account = refreshTokens.get(form['refresh_token'] ?? '');
      refreshTokens.delete(form['refresh_token'] ?? '');
      return account === undefined ? refused : give(account, app.scopes);
    }
    const code = codes.get(form['code'] ?? '');
    codes.delete(form['code'] ?? '');
    const challenge = createHash('sha256')
      .update(form['code_verifier'] ?? '')
      .digest('base64url');
    if (
      !code ||
      code.clientId !== app.clientId ||
      code.redirectUri !== form['redirect_uri'] ||
      code.challenge !== challenge
    )
      return refused;
    return give(code.account, code.scopes);
  }

  async function answer(request: IncomingMessage, body: string): Promise<Reply> {
    const { pathname } = new URL(request.url!, 'http://x');
    if (pathname === '/api/v1/apps') {
      const form = parse(body, request.headers['content-type']);
      const app = {
        clientId: secretOf(),
        clientSecret: secretOf(),
        redirectUri: form['redirect_uris']!,
        scopes: form['scopes']!,
      };
      apps.set(app.clientId, app);
      return { status: 200, body: { client_id: app.clientId, client_secret: app.clientSecret } };
    }
    if (pathname === '/api/v2/instance') {
      server.instanceAsked += 1;
      return server.instance === undefined
        ? { status: 404, body: { error: 'Record not found' } }
        : { status: 200, body: server.instance };
    }
    if (pathname === '/oauth/token') return grant(parse(body, request.headers['content-type']));
    if (pathname === '/oauth/revoke') {
      const form = parse(body, request.headers['content-type']);
      if (apps.get(form['client_id'] ?? '')?.clientSecret !== form['client_secret'])
        return { status: 403, body: { error: 'unauthorized_client' } };
      tokens.delete(form['token']!);
      server.revoked.push(form['token']!);
      return { status: 200, body: {} };
    }
    const token = /^Bearer (.+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const known = tokens.get(token);
    if (server.refuseAll || !known || known.expiresAt + server.graceMs <= Date.now())
      return { status: 401, body: { error: 'The access token is invalid' } };
    if (pathname === '/api/v1/accounts/verify_credentials')
      return {
        status: 200,
        body: {
          id: known.account,
          username: server.name.toLowerCase(),
          acct: server.name,
          display_name: server.name,
          avatar: null,
        },
      };
    if (pathname === '/api/v1/statuses') {
      const special = await server.beforeStatus(token);
      if (special) return special;
      statuses.push({
        account: known.account,
        text: parse(body, request.headers['content-type'])['status']!,
        key: request.headers['idempotency-key'] as string | undefined,
      });
      return {
        status: 200,
        body: { id: String(statuses.length), url: `${server.url}/@${server.name}/${statuses.length}` },
      };
    }
    return { status: 404, body: { error: 'Record not found' } };
  }

  const listener = createServer((request: IncomingMessage, response: ServerResponse) => {
    const pieces: Buffer[] = [];
    request
      .on('data', (piece: Buffer) => pieces.push(piece))
      .on('end', () => {
        void answer(request, Buffer.concat(pieces).toString()).then((reply) => {
          if (reply === 'hang up') request.socket.destroy();
          else
            response
              .writeHead(reply.status, { 'content-type': 'application/json' })
              .end(typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body));
        });
      });
  });
  await new Promise<void>((done) => listener.listen(0, '127.0.0.1', done));
  server.url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  server[Symbol.asyncDispose] = async () => {
    listener.closeAllConnections();
    await new Promise((done) => listener.close(done));
  };
  return server;
}
export type SocialServer = Awaited<ReturnType<typeof startSocialServer>>;
