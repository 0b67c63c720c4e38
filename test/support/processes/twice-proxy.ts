import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { Agent, createServer, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { freePort } from '../wire/ports.ts';
import type { Link } from './service.ts';

// Stands between daprd and a host: the host hears two times of each call, each reminder and each message.

/** As the host has it: daprd keeps idle connections for 90 s. */
const KEEP_ALIVE_MS = 95_000;
const REPEATED = /^\/(actors|events)\//;
/** By this a host knows the repeat of a call, and does not run it again. */
const COMMAND = 'x-command-id';

interface Answered {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

export interface TwiceProxy extends Link {
  /** How many requests were made once more. */
  readonly repeats: number;
}

/** A way to the host on a port of 127.0.0.1. Daprd is answered what the first request was answered. */
export async function startTwiceProxy(target: number): Promise<TwiceProxy> {
  const agent = new Agent({ keepAlive: true });
  let repeats = 0;

  async function ask({ method, url }: IncomingMessage, headers: IncomingHttpHeaders, body: Buffer): Promise<Answered> {
    const asked = request({ host: '127.0.0.1', port: target, agent, method, path: url, headers });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return { status: response.statusCode ?? 0, headers: response.headers, body: await buffer(response) };
  }
  async function pass(given: IncomingMessage): Promise<Answered> {
    const body = await buffer(given);
    const headers = { ...given.headers };
    delete headers.connection;
    const first = await ask(given, headers, body);
    if (!REPEATED.test(given.url ?? '')) return first;
    const again = headers[COMMAND] === undefined ? headers : { ...headers, [COMMAND]: randomUUID() };
    await ask(given, again, body);
    repeats += 1;
    return first;
  }

  const server = createServer((given, response) => {
    pass(given).then(
      ({ status, headers, body }) => {
        delete headers.connection;
        delete headers['keep-alive'];
        response.writeHead(status, headers).end(body);
      },
      () => response.destroy(), // as where nobody listens
    );
  });
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  server.headersTimeout = KEEP_ALIVE_MS + 5_000;
  const port = await freePort();
  await once(server.listen(port, '127.0.0.1'), 'listening');
  return {
    port,
    get repeats() {
      return repeats;
    },
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      agent.destroy();
      await closed;
    },
  };
}
