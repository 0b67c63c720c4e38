import type { IncomingHttpHeaders, RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Network } from '../../../src/platform/outbound/index.ts';
import { socketConnector } from '../../../src/platform/outbound/pools.ts';
import { makeCertificate } from './certificate.ts';

/** One request as it arrived. `host` is the name that was called. */
export interface Visit {
  host: string;
  method: string;
  path: string;
  query: URLSearchParams;
  headers: IncomingHttpHeaders;
  body: string;
}
interface Reply {
  status?: number;
  json?: unknown;
}

/**
 * All of the Internet in one https server: each of these names leads to it, by `network`. Connections to any address
 * but loopback are refused, so that no test calls a real service.
 */
export async function startInternet(names: readonly string[], serve: RequestListener) {
  /** Names and addresses that were asked for and are none of these. */
  const refused: string[] = [];
  const refuse = (what: string, why: string) => {
    refused.push(what);
    return new Error(`${what} is ${why}`);
  };
  const tls = makeCertificate(names);
  const server = createServer(tls, serve);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const { port } = server.address() as AddressInfo;
  const sockets = socketConnector([tls.cert]);
  const network: Required<Network> = {
    authorities: [tls.cert],
    resolver: async (name) =>
      names.includes(name) || name === 'localhost'
        ? ['127.0.0.1']
        : Promise.reject(refuse(name, 'no name of this test')),
    connector(options, callback) {
      if (options.hostname !== '127.0.0.1') return callback(refuse(options.hostname, 'not this machine'), null);
      sockets(names.includes(options.servername ?? '') ? { ...options, port: String(port) } : options, callback);
    },
  };
  return {
    network,
    refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

/** The Internet with answers that a test sets. */
export async function startOutside(names: readonly string[]) {
  const visits: Visit[] = [];
  const answers = new Map<string, (visit: Visit) => Reply>();
  const internet = await startInternet(names, (request, response) => {
    let body = '';
    request.setEncoding('utf8');
    request.on('data', (text: string) => (body += text));
    request.on('end', () => {
      const { pathname: path, searchParams: query } = new URL(request.url!, 'https://outside');
      const visit = {
        host: request.headers.host ?? '',
        method: request.method ?? '',
        path,
        query,
        headers: request.headers,
        body,
      };
      visits.push(visit);
      const { status = 200, json = {} } = (
        answers.get(`${visit.method} ${visit.host}${path}`) ?? answers.get(visit.host)
      )?.(visit) ?? { status: 404 };
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json));
    });
  });
  return {
    network: internet.network,
    visits,
    /** What `host`, or one address of it (`GET host/path`), answers from now on. */
    on: (where: string, answer: (visit: Visit) => Reply) => void answers.set(where, answer),
    /** The visits of a host, oldest first. */
    to: (host: string) => visits.filter((visit) => visit.host === host),
    [Symbol.asyncDispose]: () => internet[Symbol.asyncDispose](),
  };
}
export type Outside = Awaited<ReturnType<typeof startOutside>>;
