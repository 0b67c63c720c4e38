import { z } from 'zod';
import type { Context } from '../../src/context.ts';
import { AppError, equalSecrets } from '../../src/platform/kernel/index.ts';
import { consoleOrigins } from './cors.ts';
import type { Exchange } from './exchange.ts';
import type { AnyRoute } from './route.ts';

/** 64 hexadecimal characters. */
export const isCsrfToken = (text: string | undefined): text is string =>
  text !== undefined && /^[0-9a-fA-F]{64}$/.test(text);

const WithParams = z.object({ params: z.string() });
const WithRefreshToken = z.object({ refreshToken: z.string() });

/** A request that changes something by cookie must repeat `csrf_token` in the header `x-csrf-token` (S10). */
export async function checkCsrf(
  exchange: Exchange,
  route: AnyRoute,
  context: Context,
  readBody: () => Promise<unknown>,
): Promise<void> {
  if (context.config.notSecured) return;
  const { headers, cookies } = exchange.request;
  const applies = route.csrf === 'refresh-cookie' ? cookies['refresh'] !== undefined : exchange.byCookie;
  if (!applies) return;
  if (route.csrf === 'origin') return checkOrigin(exchange, context);
  const [sent, kept] = [headers['x-csrf-token'], cookies['csrf_token']];
  if (isCsrfToken(sent) && isCsrfToken(kept) && equalSecrets(sent, kept)) return;
  if (route.csrf === 'refresh-cookie' && WithRefreshToken.safeParse(await readBody().catch(() => undefined)).success)
    return; // the cookie is not what it acts on
  if (route.csrf === 'params' && (await isVouchedFor(exchange, context, readBody))) return;
  throw new AppError('csrf_failed', 'The header x-csrf-token must equal the cookie csrf_token');
}

/**
 * Refuses what a page of another origin sends: browsers say where it comes from in one of three headers; who says
 * nothing is no browser of today.
 */
function checkOrigin({ request: { headers } }: Exchange, { config }: Context): void {
  const from =
    headers['origin'] ??
    (headers['referer'] === undefined ? undefined : (URL.parse(headers['referer'])?.origin ?? 'null'));
  const known = new Set([...consoleOrigins(config.http), new URL(config.http.backendUrl).origin]);
  const isForeign =
    from === undefined
      ? headers['sec-fetch-site'] === 'cross-site'
      : !known.has(from) && URL.parse(from)?.host !== headers['host'];
  if (isForeign)
    throw new AppError('csrf_failed', 'Only pages of the console may send this with the cookie of a session');
}

/**
 * The extension's own token stands in for the header when it verifies and names the same user, org and provider (S11).
 */
async function isVouchedFor(
  { principal, params }: Exchange,
  { auth }: Context,
  readBody: () => Promise<unknown>,
): Promise<boolean> {
  const body = WithParams.safeParse(await readBody().catch(() => undefined));
  const claims = body.success ? await auth.tokens.verifyExtension(body.data.params) : undefined;
  return (
    claims !== undefined &&
    claims.sub === principal?.userId &&
    claims.org === principal.orgId &&
    claims.provider === params['provider']
  );
}
