import { randomUUID } from 'node:crypto';
import type { IncomingMessage, OutgoingHttpHeader, ServerResponse } from 'node:http';
import type { JsonBody } from './body.ts';
import { clientIp } from './client-ip.ts';
import type { Config } from '../../src/platform/config/index.ts';
import { cookiePrefix, parseCookies } from './cookies.ts';
import { securityHeaders } from './headers.ts';
import type { AnyRoute, Principal, Request } from './route.ts';

const ID = /^[A-Za-z0-9_-]{1,255}$/;
const USER_AGENT_LENGTH = 500;
/** Milliseconds in which a request must have arrived. */
export const REQUEST_MS = 600_000;

/** One request on its way up the ladder, and what the rungs have found out about it. */
export interface Exchange {
  readonly request: Request;
  readonly response: ServerResponse;
  readonly params: Readonly<Record<string, string>>;
  /** Behind the question mark. */
  readonly search: string;
  /** The headers of the answer, names in lower case; written together with its status. */
  readonly headers: Record<string, OutgoingHttpHeader>;
  readonly cookiesToSet: Map<string, string>;
  route: AnyRoute | undefined;
  status: number | undefined;
  principal: Principal | undefined;
  /** The cookie authenticated it, so that CSRF applies. */
  byCookie: boolean;
  /** Read when a rung first asks. */
  body: Promise<JsonBody> | undefined;
}

/** The path as routes know it: without the prefix `/api`, without a slash at its end (S1). */
export function routePath(pathname: string): string {
  const bare = pathname === '/api' || pathname.startsWith('/api/') ? pathname.slice(4) : pathname;
  return bare.length > 1 && bare.endsWith('/') ? bare.slice(0, -1) : bare || '/';
}

interface Opening {
  /** Proxies in front of us. */
  hops: number;
  /** What names of our cookies begin with. */
  cookies: { prefix: string };
  /** The headers of every answer. */
  headers: Readonly<Record<string, OutgoingHttpHeader>>;
  /** Aborted when this process listens no longer. */
  ending: AbortSignal;
}

/** What every exchange of this process begins with. */
export const exchangeOpening = (config: Config, ending: AbortSignal): Opening => ({
  hops: config.http.trustProxyHops,
  cookies: { prefix: cookiePrefix(config.http) },
  headers: securityHeaders(config),
  ending,
});

export function openExchange(
  raw: IncomingMessage,
  response: ServerResponse,
  { hops, cookies, headers, ending }: Opening,
  params: Readonly<Record<string, string>> = {},
): Exchange {
  // a router below a prefix cuts the prefix off `url`
  const url = (raw as { originalUrl?: string }).originalUrl ?? raw.url ?? '/';
  const at = url.indexOf('?');
  const asked = raw.headers['x-request-id'];
  const request: Request = {
    id: typeof asked === 'string' && ID.test(asked) ? asked : randomUUID(),
    method: raw.method ?? 'GET',
    url,
    path: routePath(at < 0 ? url : url.slice(0, at)),
    ip: clientIp(raw, hops),
    userAgent: (raw.headers['user-agent'] ?? '').slice(0, USER_AGENT_LENGTH),
    headers: raw.headers as Readonly<Record<string, string | undefined>>,
    cookies: parseCookies(raw.headers.cookie, cookies.prefix),
    ending,
    stream: raw,
  };
  return {
    request,
    response,
    params,
    search: at < 0 ? '' : url.slice(at + 1),
    headers: { ...headers, 'x-request-id': request.id },
    cookiesToSet: new Map(),
    route: undefined,
    status: undefined,
    principal: undefined,
    byCookie: false,
    body: undefined,
  };
}
