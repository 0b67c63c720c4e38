import { request } from 'node:http';
import type { Socket } from 'node:net';
import type { OutboundProxy } from './contract.ts';
import type { Connector } from './pools.ts';
import { ProxyFailure } from './proxy-failure.ts';
import { askSocks } from './socks.ts';

/** An open connection to the proxy itself; its address was judged, and its certificate where it has one. */
export type Dial = (proxy: OutboundProxy) => Promise<Socket>;

/**
 * Connects over a proxy, to the address that was judged here and never to a name: what the proxy would make of a name
 * nobody could judge. TLS begins here and ends at the provider, so that the proxy sees addresses, and of a call over
 * https nothing else.
 */
export function proxyConnector(proxy: OutboundProxy, dial: Dial, secure: Connector, handshakeMs: number): Connector {
  return (options, callback) => {
    const port = Number(options.port) || (options.protocol === 'https:' ? 443 : 80);
    tunnel(proxy, dial, options.hostname, port, handshakeMs).then(
      (socket) =>
        options.protocol === 'https:' ? secure({ ...options, httpSocket: socket }, callback) : callback(null, socket),
      (error: Error) => callback(error, null),
    );
  };
}

async function tunnel(
  proxy: OutboundProxy,
  dial: Dial,
  address: string,
  port: number,
  handshakeMs: number,
): Promise<Socket> {
  const socket = await dial(proxy);
  const tooLate = setTimeout(
    () => socket.destroy(new ProxyFailure(proxy, 'down', 'did not answer in time')),
    handshakeMs,
  ).unref();
  try {
    return await (proxy.protocol === 'socks5'
      ? askSocks(proxy, socket, address, port)
      : askConnect(proxy, socket, address, port));
  } catch (cause) {
    socket.on('error', () => undefined).destroy();
    if (cause instanceof ProxyFailure) throw cause;
    throw new ProxyFailure(proxy, 'down', 'broke off before it was connected', { cause });
  } finally {
    clearTimeout(tooLate);
  }
}

/** HTTP CONNECT (RFC 9110 9.3.6), with a login by Basic where there is one. */
function askConnect(proxy: OutboundProxy, socket: Socket, address: string, port: number): Promise<Socket> {
  const target = `${address.includes(':') ? `[${address}]` : address}:${port}`;
  const login =
    proxy.username === undefined
      ? undefined
      : Buffer.from(`${proxy.username}:${proxy.password ?? ''}`).toString('base64');
  return new Promise((resolve, reject) => {
    const asked = request({
      method: 'CONNECT',
      path: target,
      headers: { host: target, ...(login !== undefined && { 'proxy-authorization': `Basic ${login}` }) },
      createConnection: () => socket,
    });
    asked.once('error', reject);
    asked.once('response', () => reject(new ProxyFailure(proxy, 'down', 'is no proxy')));
    asked.once('connect', ({ statusCode = 0 }, connected: Socket, head: Buffer) => {
      if (statusCode < 200 || statusCode > 299) return reject(refusal(proxy, statusCode));
      if (head.length > 0) connected.unshift(head);
      resolve(connected);
    });
    asked.end();
  });
}

function refusal(proxy: OutboundProxy, status: number): ProxyFailure {
  if (status === 407 || status === 401)
    return new ProxyFailure(proxy, 'login', 'does not take the user name and password'); // 401 is what tinyproxy says
  if (status === 403) return new ProxyFailure(proxy, 'forbidden', 'does not allow this connection');
  return new ProxyFailure(proxy, 'target', `found no connection (${status})`);
}
