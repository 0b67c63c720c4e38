import type { Socket } from 'node:net';
import { parseAddress } from '../kernel/index.ts';
import type { OutboundProxy } from './contract.ts';
import { ProxyFailure } from './proxy-failure.ts';

const VERSION = 5;
const NO_LOGIN = 0;
const PASSWORD = 2;
const CONNECT = 1;
const IPV4 = 1;
const NAME = 3;
const IPV6 = 4;
const MOST_BYTES = 255; // of a user name or a password: its length is one byte

const REPLIES: Readonly<Record<number, string>> = {
  1: 'failed',
  3: 'does not reach that network',
  4: 'does not reach that host',
  5: 'was refused the connection',
  6: 'gave up: the way is too long',
  7: 'makes no connections',
  8: 'does not know this kind of address',
};

/** Asks a SOCKS5 proxy (RFC 1928, login by RFC 1929) for a connection to an address. */
export async function askSocks(proxy: OutboundProxy, socket: Socket, address: string, port: number): Promise<Socket> {
  const { username, password = '' } = proxy;
  const methods = username === undefined ? [NO_LOGIN] : [NO_LOGIN, PASSWORD];
  socket.write(Uint8Array.of(VERSION, methods.length, ...methods));
  const [version, method] = await take(socket, 2);
  if (version !== VERSION) throw new ProxyFailure(proxy, 'down', 'does not speak SOCKS5');
  if (method === PASSWORD && username !== undefined) {
    const [user, secret] = [Buffer.from(username), Buffer.from(password)];
    if (user.length > MOST_BYTES || secret.length > MOST_BYTES)
      throw new ProxyFailure(proxy, 'login', `takes user names and passwords of at most ${MOST_BYTES} bytes`);
    socket.write(Buffer.concat([Uint8Array.of(1, user.length), user, Uint8Array.of(secret.length), secret]));
    const [, status] = await take(socket, 2);
    if (status !== 0) throw new ProxyFailure(proxy, 'login', 'does not take the user name and password');
  } else if (method !== NO_LOGIN)
    throw new ProxyFailure(
      proxy,
      'login',
      username === undefined ? 'needs a user name and a password' : 'takes no login by user name and password',
    );

  socket.write(
    Buffer.concat([Uint8Array.of(VERSION, CONNECT, 0), addressBytes(address), Uint8Array.of(port >> 8, port & 0xff)]),
  );
  const [, reply = 1, , kind] = await take(socket, 4);
  const bound = kind === IPV4 ? 4 : kind === IPV6 ? 16 : kind === NAME ? (await take(socket, 1))[0]! : 0;
  if (reply === 2) throw new ProxyFailure(proxy, 'forbidden', 'does not allow this connection');
  if (reply !== 0) throw new ProxyFailure(proxy, 'target', REPLIES[reply] ?? 'failed');
  await take(socket, bound + 2);
  return socket;
}

function addressBytes(text: string): Uint8Array {
  const address = parseAddress(text);
  if (!address) throw new Error(`Not an address: ${text}`);
  const length = address.family === 4 ? 4 : 16;
  return Buffer.concat([
    Uint8Array.of(address.family === 4 ? IPV4 : IPV6),
    Buffer.from(address.value.toString(16).padStart(length * 2, '0'), 'hex'),
  ]);
}

/** Exactly so many bytes; what follows them stays for whoever reads next. */
function take(socket: Socket, bytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const settle = (end: () => void) => {
      socket.off('readable', look).off('error', failed).off('close', closed).off('end', closed);
      end();
    };
    const failed = (error: Error) => settle(() => reject(error));
    const closed = () => settle(() => reject(new Error('The connection was closed')));
    const look = () => {
      const taken = socket.read(bytes) as Buffer | null;
      if (taken === null) return;
      settle(() => (taken.length === bytes ? resolve(taken) : reject(new Error('The connection was closed'))));
    };
    socket.on('readable', look).on('error', failed).on('close', closed).on('end', closed);
    look();
  });
}
