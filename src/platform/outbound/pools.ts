import { isIP } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import { parseAddress } from '../kernel/index.ts';
import { OutboundError } from './contract.ts';
import { blocked, type Guard } from './guard.ts';

export type Connector = buildConnector.connector;

const MOST_POOLS = 1_000;
/** Connections to one address, and requests that wait for one of them. */
const MOST = { connections: 256, waiting: 2_000 };
const CONNECT_TIMEOUT = 5_000;

/** Opens the real sockets; tests put their own in its place. `authorities` (PEM) are trusted beside the usual ones. */
export const socketConnector = (authorities: readonly string[] = []): Connector =>
  buildConnector({
    timeout: CONNECT_TIMEOUT,
    allowH2: false,
    // read once: by `ca` each connection would read every certificate, which takes it longer than the handshake
    ...(authorities.length > 0 && {
      secureContext: createSecureContext({ ca: [...rootCertificates, ...authorities] }),
    }),
  });

const failures = new WeakSet<object>();
/** Tells whether the error comes from connecting, so that surely nothing was sent. */
export const isConnectFailure = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && failures.has(error);

/** Opens connections: `proxied` where they end at a proxy, and only what it was asked for can be judged. */
export interface Beneath {
  connector: Connector;
  proxied: boolean;
}

/** Connects to one address and to nothing else, whatever the name says meanwhile; the address is judged once more. */
export const pinnedConnector =
  (guard: Guard, name: string, address: string, { connector, proxied }: Beneath): Connector =>
  (options, callback) => {
    const fail = (error: Error) => {
      failures.add(error);
      callback(error, null);
    };
    const refused = guard.judgeAddress(address) === 'refused';
    if (refused) return fail(blocked());
    // A server name only for TLS, and only when it is a name: for plain connections it would be looked up again.
    const servername = options.protocol === 'https:' && isIP(name) === 0 ? { servername: name } : {};
    const { servername: _asked, ...rest } = options;
    connector({ ...rest, ...servername, host: address, hostname: address }, (error, socket) => {
      if (error || !socket) return fail(error ?? new Error('No connection'));
      if (proxied) return callback(null, socket);
      const reached = parseAddress(socket.remoteAddress ?? '');
      const meant = parseAddress(address);
      if (reached?.value === meant?.value && reached?.family === meant?.family) return callback(null, socket);
      socket.destroy();
      fail(reached ? blocked() : new Error('The connection was closed')); // without an address it is there no more
    });
  };

/** The connections to one address. `unanswered`: requests that wait for one, or for the head of their answer. */
interface Connections {
  readonly pool: Pool;
  unanswered: number;
}

/**
 * Keep-alive connections by origin and address: a name that now resolves elsewhere finds none of its old ones. Bounded;
 * the one not used for longest goes first.
 */
export function openPools(guard: Guard, beneath: Beneath, most = MOST) {
  const pools = new Map<string, Connections>();
  const drop = (key: string, { pool }: Connections) => {
    pools.delete(key);
    void pool.close().catch(() => undefined); // ends what is under way first
  };

  function connectionsTo(url: URL, address: string): Connections {
    const key = `${url.origin}|${address}`;
    const name = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
    const connections = pools.get(key) ?? {
      unanswered: 0,
      pool: new Pool(url.origin, {
        connect: pinnedConnector(guard, name, address, beneath),
        connections: most.connections,
        pipelining: 1,
        allowH2: false, // no `clientTtl`: with it each request reads the clock once for each connection
        keepAliveTimeout: 10_000,
        keepAliveMaxTimeout: 60_000,
        headersTimeout: 0,
        bodyTimeout: 0, // every request has a deadline of its own
      }),
    };
    pools.delete(key);
    pools.set(key, connections);
    if (pools.size > MOST_POOLS) {
      const [oldest] = pools;
      if (oldest) drop(...oldest);
    }
    return connections;
  }

  return {
    /**
     * Sends a request to one judged address of a URL; answers with the head of what comes back.
     * @throws OutboundError `busy` where too many have no answer yet
     */
    async request(url: URL, address: string, request: Omit<Dispatcher.RequestOptions, 'origin' | 'path'>) {
      const connections = connectionsTo(url, address);
      if (connections.unanswered >= most.connections + most.waiting)
        throw new OutboundError('busy', `Too many requests wait for ${url.hostname}, try again shortly`);
      connections.unanswered += 1;
      try {
        return await connections.pool.request({ origin: url.origin, path: url.pathname + url.search, ...request });
      } finally {
        connections.unanswered -= 1;
      }
    },
    /** Ends each connection when what is under way on it has ended. */
    close() {
      for (const [key, connections] of pools) drop(key, connections);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([...pools.values()].map(({ pool }) => pool.destroy()));
      pools.clear();
    },
  };
}
