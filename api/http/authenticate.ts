import { permissionsOf, scopesOfToken } from '../../src/people/access/index.ts';
import { type Holder, unauthenticated } from '../../src/people/auth/index.ts';
import type { Context } from '../../src/context.ts';
import { AppError, fieldError, notFound, randomHex } from '../../src/platform/kernel/index.ts';
import type { CookieWriter } from './cookies.ts';
import { isCsrfToken } from './csrf.ts';
import type { Exchange } from './exchange.ts';
import { type AnyRoute, impersonationOf, type Principal } from './route.ts';
import { keyInPath, orgInPath } from './surface.ts';
import { failedAuthentication } from './throttle.ts';

/** The exact sentences that clients match (S12), with what to send where for whoever writes a client. */
const wants = (field: string, sentence: string, rule = 'required') => ({
  errors: [fieldError(field, sentence, rule)],
});
const noKey = () =>
  new AppError(
    'unauthenticated',
    'No API Key found',
    wants('Authorization', 'send an API key or an access token in this header, raw or as `Bearer <key>`'),
  );
const noSession = () =>
  new AppError(
    'unauthenticated',
    'Log in first',
    wants('auth', 'send the session of POST /auth/login in this cookie, or in the header `auth`'),
  );
const notForKeys = () => {
  const what = 'API keys and access tokens open /public/v1 only';
  return new AppError(
    'unauthenticated',
    `Log in first: ${what}`,
    wants('Authorization', `${what}; send a session in the cookie or the header \`auth\``, 'session'),
  );
};
/** The organizations that a request names, the first choice first (S45). */
const wantedOrgs = ({ headers, cookies }: Exchange['request']): string[] =>
  [headers['showorg'], cookies['showorg']].filter((id) => id !== undefined);
const bare = (header: string): string => header.replace(/^bearer +/i, '').trim();
/** A holder of a credential as the ladder knows callers. */
export const principalOf = (
  kind: Principal['kind'],
  { userId, orgId, roleKey, granted, isSuperAdmin }: Holder,
  more: Partial<Principal>,
): Principal => ({
  kind,
  userId,
  orgId,
  roleKey,
  isSuperAdmin,
  permissions: permissionsOf(roleKey, isSuperAdmin, granted),
  ...more,
});

/** The part of a route that says who may ask. */
type Authenticated = Pick<AnyRoute, 'auth' | 'method' | 'impersonation' | 'surface'>;

/**
 * Finds who asks: by an API key or an access token in `Authorization`, a session in the header `auth`, a session in the
 * cookie, in this order; a header that fails is never made good by a cookie (S13, S14). Of a client whose organization
 * has no subscription the principal is known as well when `no_subscription` is thrown.
 */
export async function authenticate(
  exchange: Exchange,
  route: Authenticated,
  context: Context,
  writeCookie: CookieWriter,
): Promise<void> {
  if (route.auth.includes('none')) return;
  try {
    await identify(exchange, route, context, writeCookie);
    if (exchange.principal?.sessionId !== undefined) await actAs(exchange, route, context, writeCookie);
  } catch (error) {
    if (error instanceof AppError && error.status === 401 && error.code !== 'no_subscription')
      await failedAuthentication(exchange, context);
    throw error;
  }
}

async function identify(
  exchange: Exchange,
  { auth, surface }: Authenticated,
  { auth: credentials, oauth, billing, clock }: Context,
  writeCookie: CookieWriter,
): Promise<void> {
  const { headers, cookies } = exchange.request;
  const authorization = keyInPath(exchange) ?? headers['authorization'];
  const clients = auth.includes('api-key') || auth.includes('oauth');
  const people = auth.includes('session') || auth.includes('super-admin');

  if (authorization !== undefined) {
    const credential = bare(authorization);
    if (!clients) throw notForKeys();
    if (credential === '') throw noKey();
    if (credential.startsWith('pos_')) {
      if (!auth.includes('oauth')) throw new AppError('invalid_token', 'Invalid OAuth token');
      const holder = await oauth.access.authenticate(credential, surface);
      const named = orgInPath(exchange);
      if (named !== undefined && named !== holder.orgId) throw notFound();
      exchange.principal = principalOf('oauth', holder, {
        tokenId: holder.tokenId,
        authorizationId: holder.authorizationId,
        program: holder.program,
        scopes: scopesOfToken(holder.scope),
        limits: holder.limits,
      });
      exchange.principal.plan = billing.planOf(holder, clock.now());
      return;
    }
    if (!auth.includes('api-key')) throw unauthenticated();
    const own = await credentials.apiKeys.authenticate(credential);
    const holder = await credentials.apiKeys.holderIn(own, orgInPath(exchange) ?? own.orgId);
    exchange.principal = principalOf('api-key', holder, {
      apiKeyId: holder.apiKeyId,
      program: holder.program,
      limits: holder.limits,
    });
    exchange.principal.plan = billing.planOf(holder, clock.now());
    return;
  }
  if (!people) throw noKey();

  const wanted = wantedOrgs(exchange.request);
  if (headers['auth'] !== undefined) {
    const holder = await credentials.sessions.authenticate(bare(headers['auth']), wanted);
    exchange.principal = principalOf('session', holder, { sessionId: holder.sessionId });
    return;
  }
  const token = cookies['auth'];
  if (!token) throw clients ? noKey() : noSession();
  const holder = await credentials.sessions.authenticate(token, wanted);
  exchange.principal = principalOf('session', holder, { sessionId: holder.sessionId });
  exchange.byCookie = true;
  // The session slides, and what belongs to it slides with it.
  const csrf = cookies['csrf_token'];
  exchange.cookiesToSet.set('auth', writeCookie('auth', await credentials.sessions.renew(holder)));
  exchange.cookiesToSet.set(
    'csrf_token',
    writeCookie('csrf_token', isCsrfToken(csrf) ? csrf : randomHex(32), { httpOnly: false }),
  );
}

/**
 * A super-admin who brings an impersonation acts as that user on every route but those for super-admins (S212). One
 * that does not hold is refused, and its cookie taken away: nobody who believes to act as somebody else acts as
 * themselves.
 */
async function actAs(
  exchange: Exchange,
  route: Authenticated,
  { admin }: Context,
  writeCookie: CookieWriter,
): Promise<void> {
  const { request, principal: self } = exchange;
  const token = request.headers['impersonate'] ?? request.cookies['impersonate'];
  if (!token || self?.sessionId === undefined || impersonationOf(route) === 'ignored') return;
  try {
    const user = await admin.impersonations.authenticate(
      token,
      { userId: self.userId, sessionId: self.sessionId },
      wantedOrgs(request),
    );
    exchange.principal = principalOf('session', { ...user, isSuperAdmin: false }, { impersonatorId: self.userId });
  } catch (error) {
    exchange.cookiesToSet.set('impersonate', writeCookie('impersonate', null));
    throw error;
  }
}
