import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createEncrypted } from 'node:tls';

interface Mail {
  user: string;
  password: string;
  from: string;
}

/**
 * A mail server on loopback that takes any login and any mail: encrypted from the first byte with `tls`, else never.
 */
export async function startSmtp({ tls }: { tls?: { key: string; cert: string } } = {}) {
  const mails: Mail[] = [];
  const sockets = new Set<Socket>();
  const connected = (socket: Socket) => {
    smtp.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => void sockets.delete(socket));
    const mail: Mail = { user: '', password: '', from: '' };
    const say = (line: string) => void socket.write(`${line}\r\n`);
    let data = false;
    let rest = '';
    const hear = (line: string) => {
      if (data) {
        if (line !== '.') return;
        data = false;
        mails.push({ ...mail });
        return say('250 taken');
      }
      const [, plain] = /^AUTH PLAIN (\S+)$/i.exec(line) ?? [];
      if (plain) {
        [, mail.user = '', mail.password = ''] = atob(plain).split('\0');
        return say('235 welcome');
      }
      if (/^EHLO/i.test(line)) return say('250-outside\r\n250 AUTH PLAIN');
      if (/^MAIL FROM/i.test(line)) mail.from = /<(.*)>/.exec(line)![1]!;
      data = /^DATA/i.test(line);
      if (/^QUIT/i.test(line)) return void socket.end('221 bye\r\n');
      say(data ? '354 go on' : '250 fine');
    };
    socket.on('data', (bytes) => {
      const lines = (rest + String(bytes)).split('\r\n');
      rest = lines.pop()!;
      for (const line of lines) hear(line);
    });
    say('220 outside');
  };
  const server = tls ? createEncrypted(tls, connected) : createServer(connected);
  const smtp = {
    port: 0,
    mails,
    connections: 0,
    /** Connections that are open now. */
    get open() {
      return sockets.size;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((done) => server.close(done));
    },
  };
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  smtp.port = (server.address() as AddressInfo).port;
  return smtp;
}
