import { expect } from '@jest/globals';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { type Outbound, OutboundError, type OutboundRequest } from '../../../src/platform/outbound/index.ts';

/**
 * One request as the facts have it: what is named must be there, and nothing else may be. Values may be matchers of
 * `expect`.
 */
export interface Asks {
  method: string;
  /** Whole, with scheme, host and query; of the query the order is free. */
  url: string;
  /**
   * All but what every request has: those of the transport unless they are named, `accept: application/json` and the
   * content type that follows from the body.
   */
  headers?: Readonly<Record<string, unknown>>;
  json?: unknown;
  form?: Readonly<Record<string, unknown>>;
  multipart?: Readonly<Record<string, unknown>>;
  /** A body that is none of these, with its content type among the headers. */
  text?: unknown;
}
/** Default: status 200 with JSON when there is some. */
export interface Says {
  status?: number;
  json?: unknown;
  text?: string;
  /** A body that is no text. */
  bytes?: Uint8Array;
  headers?: Readonly<Record<string, string>>;
}
export interface Exchange {
  asks: Asks;
  says: Says;
  /** Makes something at the provider: without an answer it is `lost`, and is not sent again. */
  creates?: true;
  /** What it says is not looked at, beyond the status. */
  unread?: true;
  /** A failure here is not one of the operation. */
  optional?: true;
  /** What is asked after it was refused, to know why. */
  judgedBy?: Asks;
}
/** `unsent`: the connection is not made. `cut`: it ends before the body of the request is read. `half`: the answer is cut. */
export type Instead = Says | 'hang-up' | 'silence' | 'redirect' | 'unsent' | 'cut' | 'half';

/** A provider on the wire that takes the exchanges in their order and refuses everything else. */
export interface Wire extends AsyncDisposable {
  /**
   * The way out of the product, which ends here whatever the address; the guard is the real one. The time of a request
   * that is met with silence is over as soon as it has been heard, so that no slow machine can let it be over before.
   */
  outbound: Outbound;
  /** What is to be asked next, with an answer instead of the usual one `at` an exchange, and from then on. */
  plays(exchanges: readonly Exchange[], instead?: { at: number; answer: Instead }): void;
  /** Requests as they came. */
  asked: string[];
  /** Exchanges that nobody asked for yet. */
  readonly left: number;
  /** What was refused, and why. */
  faults: string[];
}

const ORIGIN = 'x-test-origin';
const CALL = 'x-test-call';
const TRANSPORT = new Set([
  'host',
  'connection',
  'content-length',
  'transfer-encoding',
  'accept-encoding',
  'accept-language',
  'user-agent',
  'sec-fetch-mode',
  ORIGIN,
  CALL,
]);
const ELSEWHERE = 'https://elsewhere.example/stolen';

export async function startWire(real: Outbound): Promise<Wire> {
  let exchanges: readonly Exchange[] = [];
  let instead: { at: number; answer: Instead } | undefined;
  let next = 0;
  const asked: string[] = [];
  const faults: string[] = [];
  const calls: AbortController[] = [];
  let begun = 0;

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (instead?.answer === 'cut' && next >= instead.at) {
      asked.push(`${request.method} ${String(request.headers[ORIGIN])}${request.url}`);
      return void request.socket.destroy();
    }
    const body = await whole(request);
    // of what was played before: nobody waits for it any more
    if (Number(request.headers[CALL]) < begun) return void request.socket.destroy();
    const url = request.headers[ORIGIN] + request.url!;
    asked.push(`${request.method} ${url}`);
    const at = instead && next > instead.at ? instead.at : next; // a repeated request gets the same once more
    const exchange = exchanges[at];
    try {
      if (!exchange) throw new Error('nothing more was to be asked');
      const { asks, judgedBy } = exchange;
      const isJudging = judgedBy !== undefined && next > at && request.method === judgedBy.method;
      await judge(isJudging ? judgedBy : asks, request, url, body);
    } catch (error) {
      faults.push(`${request.method} ${url}: ${error instanceof Error ? error.message : String(error)}`);
      return answer(response, { status: 501, json: { error: 'not as documented' } });
    }
    next = at + 1;
    const other = instead?.at === at ? instead.answer : undefined;
    const told = other === undefined || other === 'unsent' || other === 'cut' ? exchange.says : other;
    if (told === 'silence') return calls[Number(request.headers[CALL])]!.abort();
    if (told === 'hang-up') return void request.socket.destroy();
    if (told === 'half') {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      return void response.write('{"id":"', () => request.socket.destroy());
    }
    answer(response, told === 'redirect' ? { status: 307, headers: { location: ELSEWHERE } } : told);
  }

  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const here = (given: string) => {
    const url = new URL(given);
    return { url: address + url.pathname + url.search, origin: url.origin };
  };
  const turned =
    <R extends { url: string }>(send: (url: string, request: OutboundRequest) => Promise<R>) =>
    async (given: string, request: OutboundRequest = {}): Promise<R> => {
      const { url, origin } = here(given);
      if (instead?.answer === 'unsent' && next >= instead.at) throw new OutboundError('unreachable', 'unreachable');
      const over = new AbortController();
      const headers = { ...request.headers, [ORIGIN]: origin, [CALL]: String(calls.push(over) - 1) };
      try {
        const told = await send(url, {
          ...request,
          headers,
          signal: request.signal ? AbortSignal.any([over.signal, request.signal]) : over.signal,
        });
        return Object.defineProperty(told, 'url', { value: told.url.replace(address, origin) });
      } catch (error) {
        throw over.signal.aborted ? new OutboundError('timeout', 'timeout', { cause: error, sent: true }) : error;
      }
    };

  return {
    outbound: { ...real, fetch: turned(real.fetch), stream: turned(real.stream) },
    plays(given, other) {
      [exchanges, instead, next] = [given, other, 0];
      asked.length = faults.length = 0;
      begun = calls.length;
    },
    asked,
    faults,
    get left() {
      return exchanges.length - next;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

async function judge(asks: Asks, request: IncomingMessage, url: string, body: Buffer): Promise<void> {
  for (const { given, wanted } of await partsOf(asks, request, url, body))
    // asked of most requests, and an `expect` costs more than the rest of this
    if (!isDeepStrictEqual(given, wanted)) expect(given).toEqual(wanted);
}

/** What is compared of a request with what is asked, part by part: address, headers, type and body. */
export async function partsOf(
  asks: Asks,
  request: IncomingMessage,
  url: string,
  body: Buffer,
): Promise<{ given: unknown; wanted: unknown }[]> {
  const lineOf = (method: string | undefined, { origin, pathname, searchParams }: URL) => ({
    method,
    address: origin + pathname,
    query: [...searchParams].toSorted(([a, b], [c, d]) => (a + b < c + d ? -1 : 1)),
  });
  const type = request.headers['content-type'] ?? '';
  const kind =
    asks.json !== undefined
      ? 'application/json'
      : asks.form
        ? 'application/x-www-form-urlencoded'
        : asks.multipart
          ? 'multipart/form-data'
          : undefined;
  const headers = Object.entries(request.headers).filter(
    ([name, value]) =>
      !(TRANSPORT.has(name) && asks.headers?.[name] === undefined) &&
      !(name === 'content-type' && kind) &&
      !(name === 'accept' && value === 'application/json' && !asks.headers?.['accept']),
  );
  const parts: { given: unknown; wanted: unknown }[] = [
    { given: lineOf(request.method, new URL(url)), wanted: lineOf(asks.method, new URL(asks.url)) },
    { given: Object.fromEntries(headers), wanted: { ...asks.headers } },
  ];
  const [given] = type.split(';');
  if (kind) parts.push({ given, wanted: kind });
  if (kind && given !== kind) return parts;
  if (asks.json !== undefined) parts.push({ given: JSON.parse(body.toString()), wanted: asks.json });
  else if (asks.form) parts.push({ given: byName(new URLSearchParams(body.toString())), wanted: asks.form });
  else if (asks.multipart) parts.push({ given: await fieldsOf(body, type), wanted: asks.multipart });
  else parts.push({ given: body.toString(), wanted: asks.text ?? '' });
  return parts;
}

async function fieldsOf(body: Buffer, type: string): Promise<Record<string, string>> {
  const form = await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  return byName(
    await Promise.all(
      [...form].map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()] as const),
    ),
  );
}

/** Fields of a form by name; no fact asks for one twice. */
function byName(pairs: Iterable<readonly [string, string]>): Record<string, string> {
  const all = [...pairs];
  const names = all.map(([name]) => name);
  if (new Set(names).size < names.length) expect(names).toEqual([...new Set(names)]);
  return Object.fromEntries(all);
}

/** Sends what a provider says. */
export function answer(response: ServerResponse, { status = 200, json, text, bytes, headers = {} }: Says): void {
  const type = json !== undefined ? 'application/json' : 'text/plain';
  response.writeHead(status, { 'content-type': type, ...headers });
  response.end(bytes ?? text ?? (json === undefined ? '' : JSON.stringify(json)));
}

/** The whole body of a request. */
export async function whole(request: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return Buffer.concat(parts);
}
