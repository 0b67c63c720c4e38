import type { Config } from '../../src/platform/config/index.ts';
import type { Exchange } from './exchange.ts';

const ALLOWED =
  'authorization, auth, content-type, x-csrf-token, idempotency-key, showorg, impersonate, if-match, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id';
const EXPOSED =
  'x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, idempotency-replayed, www-authenticate, mcp-session-id, etag, deprecation, sunset, x-request-id, x-storage-warning';
const PUBLIC = /^\/(public\/v1|mcp|media-mcp|sse|message|oauth\/(token|register|revoke)|\.well-known)(\/|$)/;

/** The origins that may use the console's cookies (S20). */
export const consoleOrigins = ({ frontendUrl, mainUrl, adminUrl }: Config['http']): ReadonlySet<string> =>
  new Set([frontendUrl, mainUrl, adminUrl].flatMap((url) => (url === undefined ? [] : new URL(url).origin)));

/** Console routes answer to the console's origins, with credentials; public ones to everybody, without. */
export function setCorsHeaders({ request, headers }: Exchange, origins: ReadonlySet<string>): void {
  headers['vary'] = 'Origin';
  const { origin, cookie } = request.headers;
  if (origin === undefined) return;
  if (origins.has(origin)) {
    headers['access-control-allow-origin'] = origin;
    headers['access-control-allow-credentials'] = 'true';
  } else if (cookie === undefined && PUBLIC.test(request.path)) headers['access-control-allow-origin'] = '*';
  else return;
  headers['access-control-expose-headers'] = EXPOSED;
  if (request.method !== 'OPTIONS') return;
  headers['access-control-allow-headers'] = ALLOWED;
  headers['access-control-allow-methods'] = 'GET, POST, PUT, PATCH, DELETE';
  headers['access-control-max-age'] = '600';
}
