import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from './exchange.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

function complete({ headers, cookiesToSet, principal }: Exchange): void {
  if (cookiesToSet.size > 0) headers['set-cookie'] = [...cookiesToSet.values()];
  if (principal || cookiesToSet.size > 0) headers['cache-control'] ??= 'no-store';
}

/** Sends a finished JSON text, byte for byte. */
export function sendJson(exchange: Exchange, status: number, text: string): void {
  const { response, headers } = exchange;
  complete(exchange);
  if (status === 304) return void response.writeHead(status, headers).end();
  headers['content-type'] = JSON_TYPE;
  headers['content-length'] = Buffer.byteLength(text);
  response.writeHead(status, headers).end(text);
}

/** Sends text, bytes or a stream; the handler's `content-type` counts. */
export async function sendRaw(exchange: Exchange, status: number, body: string | Uint8Array | Readable): Promise<void> {
  const { response, headers } = exchange;
  complete(exchange);
  headers['content-type'] ??= typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/octet-stream';
  response.writeHead(status, headers);
  if (typeof body === 'string' || body instanceof Uint8Array) return void response.end(body);
  if (exchange.request.method === 'HEAD') {
    body.destroy();
    return void response.end();
  }
  await pipeline(body, response).catch((error: unknown) => {
    // a stream of events has no end that its client would wait for
    if (!String(headers['content-type']).startsWith('text/event-stream') || !response.destroyed) throw error;
  });
}
