import type { Config } from '../../src/platform/config/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import { protectedResource } from '../../src/oauth-server/index.ts';
import type { Exchange } from './exchange.ts';
import type { Request } from './route.ts';

// What is special about the requests of the MCP surfaces before their message is read (S96, S196, S197).

type Addresses = Config['http'];
type Asked = Pick<Exchange, 'route' | 'params'>;

/** The beginning of an API key: a path that holds one needs no header. */
const KEY = 'pm_live_';
const LOOPBACK = /^(localhost|.+\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/;

/** The API key that stands in the path of a surface. */
export function keyInPath({ route, params }: Asked): string | undefined {
  const id = route?.surface && params['id'];
  return id?.startsWith(KEY) ? id : undefined;
}

/** The organization that the path of a surface names. */
export function orgInPath({ route, params }: Asked): string | undefined {
  const id = route?.surface && params['id'];
  return id === undefined || id.startsWith(KEY) ? undefined : id;
}

const nameOf = (url: string | undefined): string | undefined => URL.parse(url ?? '')?.hostname;
const isOurs = (name: string | undefined, known: ReadonlySet<string | undefined>): boolean =>
  name !== undefined && (known.has(name) || LOOPBACK.test(name));

/**
 * Refuses with 403 a `Host` that is no public or loopback name of this service: a page whose name was led here must not
 * use the credentials of a program on this machine. Where only this machine is listened to, the same holds for `Origin`.
 */
export function checkSurfaceHost({ headers }: Pick<Request, 'headers'>, http: Addresses): void {
  const known = new Set([http.frontendUrl, http.mainUrl, http.adminUrl, http.backendUrl, http.internalUrl].map(nameOf));
  if (!isOurs(nameOf(`http://${headers['host'] ?? ''}`), known))
    throw new AppError(
      'forbidden',
      'The host is not one of this service: use that of NEXT_PUBLIC_BACKEND_URL or FRONTEND_URL',
    );
  const { origin } = headers;
  const isLocal = http.host !== undefined && LOOPBACK.test(http.host === '::1' ? '[::1]' : http.host);
  if (isLocal && origin !== undefined && !isOurs(nameOf(origin), known))
    throw new AppError('origin_not_allowed', 'This service listens on this machine only, and not to pages of others');
}

/** `WWW-Authenticate` of a 401: where a client learns how to get a token. None where the key is in the path (S96). */
export function challengeOf(
  { route, params, request }: Asked & Pick<Exchange, 'request'>,
  { backendUrl }: Pick<Addresses, 'backendUrl'>,
): string | undefined {
  if (!route?.surface || params['id'] !== undefined) return undefined;
  const inApi = request.url.startsWith('/api/');
  const { origin, pathname } = new URL(protectedResource(backendUrl, route.surface, inApi).resource);
  return `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource${pathname}", scope="mcp:read"`;
}
