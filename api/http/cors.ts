import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Config } from '../../src/config/config.ts';

const ALLOWED =
  'authorization, auth, content-type, x-csrf-token, idempotency-key, showorg, impersonate, if-match, mcp-protocol-version, mcp-session-id, mcp-method, mcp-name, last-event-id';
const EXPOSED =
  'x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, idempotency-replayed, www-authenticate, mcp-session-id, etag, deprecation, sunset, x-request-id';
const PUBLIC = /^\/(public\/v1|mcp|media-mcp|sse|oauth\/(token|register|revoke)|\.well-known)(\/|$)/;

/** The origins that may use the console's cookies (S20). */
export const consoleOrigins = ({ frontendUrl, mainUrl }: Config['http']): ReadonlySet<string> =>
  new Set([frontendUrl, mainUrl].map((url) => new URL(url).origin));

/** Console routes answer to the console's origins, with credentials; public ones to everybody, without. */
export function setCorsHeaders(request: IncomingMessage, response: ServerResponse, path: string, origins: ReadonlySet<string>): void {
  const isPublic = PUBLIC.test(path);
  response.setHeader('Vary', 'Origin');
  const origin = request.headers.origin;
  if (origin === undefined) return;
  if (origins.has(origin)) {
    response.setHeader('Access-Control-Allow-Origin', origin);
    response.setHeader('Access-Control-Allow-Credentials', 'true');
  } else if (isPublic && request.headers.cookie === undefined) response.setHeader('Access-Control-Allow-Origin', '*');
  else return;
  response.setHeader('Access-Control-Expose-Headers', EXPOSED);
  if (request.method !== 'OPTIONS') return;
  response.setHeader('Access-Control-Allow-Headers', ALLOWED);
  response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, PATCH, DELETE');
  response.setHeader('Access-Control-Max-Age', '600');
}
