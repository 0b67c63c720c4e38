import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Outbound } from '../../../src/platform/outbound/index.ts';
import { led, ORIGIN } from './led.ts';
import { answer, type Exchange, type Says, whole } from './wire.ts';

/** A request as it came, at the address that was called. */
export interface Sent {
  method: string;
  url: URL;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** A server that keeps every request, of the product and of others, and judges none. */
export interface Recorder extends AsyncDisposable {
  address: string;
  /** The way out of the product, which ends here whatever the address. */
  outbound: Outbound;
  /** Does the work, and answers what it sent. Requests are answered by method and address, else by address, in their order. */
  record(exchanges: readonly Exchange[], work: () => Promise<void>): Promise<readonly Sent[]>;
}

const addressOf = ({ origin, pathname }: URL) => origin + pathname.replace(/\/$/, '');

export async function startRecorder(real: Outbound): Promise<Recorder> {
  let sent: Sent[] = [];
  let answers = new Map<string, Says[]>();

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', headers } = request;
    const url = new URL(String(headers[ORIGIN]) + request.url!);
    sent.push({ method, url, headers, body: await whole(request) });
    const name = addressOf(url);
    const said = answers.get(`${method} ${name}`) ?? answers.get(name);
    if (!said) return answer(response, { status: 404, json: { error: `${method} ${name} is not recorded` } });
    answer(response, said.length > 1 ? said.shift()! : said[0]!);
  }

  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
  server.keepAliveTimeout = 0; // whoever asks closes the connection, so that none is closed under a request
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    address,
    outbound: led(real, () => address),
    async record(exchanges, work) {
      sent = [];
      answers = new Map();
      for (const { asks, says } of exchanges) {
        const name = addressOf(new URL(asks.url));
        for (const key of [`${asks.method} ${name}`, name]) answers.set(key, [...(answers.get(key) ?? []), says]);
      }
      await work();
      return sent;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
