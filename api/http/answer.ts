import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Exchange } from './exchange.ts';

const JSON_TYPE = 'application/json; charset=utf-8';

function begin({ response, cookiesToSet, principal }: Exchange, status: number): void {
  response.statusCode = status;
  if (cookiesToSet.size > 0) response.setHeader('Set-Cookie', [...cookiesToSet.values()]);
  if ((principal || cookiesToSet.size > 0) && !response.hasHeader('Cache-Control')) response.setHeader('Cache-Control', 'no-store');
}

/** Sends a finished JSON text, byte for byte. */
export function sendJson(exchange: Exchange, status: number, text: string): void {
  const { response } = exchange;
  begin(exchange, status);
  if (status === 304) return void response.end();
  response.setHeader('Content-Type', JSON_TYPE);
  response.setHeader('Content-Length', Buffer.byteLength(text));
  response.end(text);
}

/** Sends text, bytes or a stream; the handler's `content-type` counts. */
export async function sendRaw(exchange: Exchange, status: number, body: string | Uint8Array | Readable): Promise<void> {
  const { response } = exchange;
  begin(exchange, status);
  if (!response.hasHeader('Content-Type'))
    response.setHeader('Content-Type', typeof body === 'string' ? 'text/plain; charset=utf-8' : 'application/octet-stream');
  if (typeof body === 'string' || body instanceof Uint8Array) return void response.end(body);
  if (exchange.request.method === 'HEAD') {
    body.destroy();
    return void response.end();
  }
  await pipeline(body, response);
}
