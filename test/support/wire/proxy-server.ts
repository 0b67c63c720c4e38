import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

interface ProxyOptions {
  protocol: 'socks5' | 'http' | 'https';
  login?: { username: string; password: string };
  tls?: { key: string; cert: string };
  /** Where its connections come from; of loopback any is one's own. */
  from?: string;
  /** An answer in the place of the connection: a SOCKS reply, or a status of HTTP. */
  refuses?: number;
  /**
   * Says nothing at all, something that is no answer, more than any answer holds, or after its own answer one in the
   * name of the far side.
   */
  says?: 'nothing' | 'nonsense' | 'flood' | 'injects';
}

/**
 * A proxy that notes what it was asked for, exactly as it was asked: the kind of the address, the address, the port.
 */
export async function startProxy({ protocol, login, tls, from = '127.0.0.2', refuses, says }: ProxyOptions) {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  let accepted = 0;
  let open = true;
  let heard: ((bytes: Buffer) => 'break' | void) | undefined;
  const drop = () => sockets.forEach((socket) => socket.destroy());
  const breaks = () => {
    open = false;
    drop();
  };
  const serve = (client: Socket) => {
    accepted += 1;
    sockets.add(client);
    client.on('error', () => undefined).on('close', () => sockets.delete(client));
    if (!open) return void client.destroy();
    if (says === 'nothing') return;
    if (says === 'nonsense') return void client.end('220 mail.example ESMTP\r\n');
    if (says === 'flood') return void flood(client);
    (protocol === 'socks5' ? socks(client) : http(client)).catch(() => client.destroy());
  };

  function flood(client: Socket): void {
    client.write(protocol === 'socks5' ? Uint8Array.of(5, 0, 5, 0, 0, 3, 255) : 'HTTP/1.1 200 Connected\r\n');
    const more = () => void (client.destroyed || client.write(`x-more: ${'x'.repeat(8_000)}\r\n`, more));
    more();
  }

  async function onward(client: Socket, host: string, port: number, granted: Uint8Array | string): Promise<void> {
    const target = connect({ host, port, localAddress: from });
    sockets.add(target);
    target.on('error', () => client.destroy()).on('close', () => client.destroy());
    client.on('close', () => target.destroy());
    await once(target, 'connect');
    client.write(granted);
    if (says === 'injects') client.write('HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\ninjected');
    client.pipe(target);
    target.on('data', (bytes: Buffer) => {
      if (heard?.(bytes) === 'break') breaks(); // before it is passed on
    });
    target.pipe(client);
  }

  async function socks(client: Socket): Promise<void> {
    const read = reader(client);
    const [, methods = 0] = await read(2);
    const offered = [...(await read(methods))];
    const method = login ? 2 : 0;
    if (!offered.includes(method)) return void client.end(Uint8Array.of(5, 0xff));
    client.write(Uint8Array.of(5, method));
    if (login) {
      const [, length = 0] = await read(2);
      const username = String(await read(length));
      const password = String(await read((await read(1))[0]!));
      const right = username === login.username && password === login.password;
      client.write(Uint8Array.of(1, right ? 0 : 1));
      if (!right) return void client.end();
    }
    const [, , , kind = 0] = await read(4);
    const raw = await read(kind === 1 ? 4 : kind === 4 ? 16 : (await read(1))[0]!);
    const port = (await read(2)).readUInt16BE();
    const host =
      kind === 1 ? raw.join('.') : kind === 4 ? raw.toString('hex').replace(/(.{4})(?=.)/g, '$1:') : String(raw);
    asked.push(`${kind} ${host} ${port}`);
    if (refuses !== undefined) return void client.end(Uint8Array.of(5, refuses, 0, 1, 0, 0, 0, 0, 0, 0));
    await onward(client, host, port, Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0));
  }

  async function http(client: Socket): Promise<void> {
    const read = reader(client);
    let head = '';
    while (!head.endsWith('\r\n\r\n')) head += String(await read(1));
    const [line = '', ...fields] = head.split('\r\n');
    const [method = '', target = ''] = line.split(' ');
    asked.push(`${method} ${target}`);
    const basic = fields.find((field) => /^proxy-authorization:/i.test(field))?.split(' ')[2];
    if (login && basic !== Buffer.from(`${login.username}:${login.password}`).toString('base64'))
      return void client.end('HTTP/1.1 407 Who are you\r\ncontent-length: 0\r\n\r\n');
    if (refuses !== undefined) return void client.end(`HTTP/1.1 ${refuses} No\r\ncontent-length: 0\r\n\r\n`);
    const [host, port] = [target.slice(0, target.lastIndexOf(':')), Number(target.slice(target.lastIndexOf(':') + 1))];
    await onward(client, host.replace(/^\[|\]$/g, ''), port, 'HTTP/1.1 200 Connected\r\n\r\n');
  }

  const server: Server = protocol === 'https' ? createTlsServer(tls!, serve) : createServer(serve);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    get accepted() {
      return accepted;
    },
    /** From now on it hangs up on everybody; `back` ends that. */
    breaks,
    /**
     * Hears what the far side answers before the client does; `break` keeps it to itself and hangs up. Of calls without
     * encryption.
     */
    set hears(listener: typeof heard) {
      heard = listener;
    },
    back: () => void (open = true),
    async [Symbol.asyncDispose]() {
      drop();
      server.close();
      await once(server, 'close');
    },
  };
}
export type ProxyServer = Awaited<ReturnType<typeof startProxy>>;

function reader(socket: Socket) {
  return async (bytes: number): Promise<Buffer> => {
    for (;;) {
      const taken = bytes === 0 ? Buffer.alloc(0) : (socket.read(bytes) as Buffer | null);
      if (taken) return taken;
      if (socket.destroyed) throw new Error('closed');
      await Promise.race([once(socket, 'readable'), once(socket, 'close')]);
    }
  };
}
