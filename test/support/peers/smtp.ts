import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createEncrypted } from 'node:tls';

interface Mail {
  user: string;
  password: string;
  from: string;
  to: string;
  /** Its header and its body, as they came. */
  raw: string;
}

/**
 * A mail server on loopback that takes any login and any mail: encrypted from the first byte with `tls`, else never.
 * `onMail`: called before it says that a mail is taken.
 */
export async function startSmtp({
  tls,
  onMail = () => undefined,
}: { tls?: { key: string; cert: string }; onMail?: (mail: Mail) => void } = {}) {
  const mails: Mail[] = [];
  const sockets = new Set<Socket>();
  const connected = (socket: Socket) => {
    smtp.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => void sockets.delete(socket));
    const mail: Mail = { user: '', password: '', from: '', to: '', raw: '' };
    const lines: string[] = [];
    const say = (line: string) => void socket.write(`${line}\r\n`);
    let data = false;
    let rest = '';
    const hear = (line: string) => {
      if (data) {
        if (line !== '.') return void lines.push(line.replace(/^\./, ''));
        data = false;
        mails.push({ ...mail, raw: lines.splice(0).join('\r\n') });
        onMail(mails.at(-1)!);
        return say('250 taken');
      }
      const [, plain] = /^AUTH PLAIN (\S+)$/i.exec(line) ?? [];
      if (plain) {
        [, mail.user = '', mail.password = ''] = atob(plain).split('\0');
        return say('235 welcome');
      }
      if (/^EHLO/i.test(line)) return say('250-outside\r\n250 AUTH PLAIN');
      if (/^MAIL FROM/i.test(line)) mail.from = /<(.*)>/.exec(line)![1]!;
      if (/^RCPT TO/i.test(line)) mail.to = /<(.*)>/.exec(line)![1]!;
      data = /^DATA/i.test(line);
      if (/^QUIT/i.test(line)) return void socket.end('221 bye\r\n');
      say(data ? '354 go on' : '250 fine');
    };
    socket.on('data', (bytes) => {
      const heard = (rest + String(bytes)).split('\r\n');
      rest = heard.pop()!;
      for (const line of heard) hear(line);
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

const HEADER = /^([\w-]+): ?(.*(?:\r\n[ \t].*)*)/gm;

/** A mail as its reader has it: some headers by their names in lower case, and its plain text. */
export function readMail(raw: string): { headers: Readonly<Record<string, string>>; text: string } {
  const [head, body] = splitPart(raw);
  const boundary = /boundary="?([^";\r]+)/.exec(head['content-type'] ?? '')?.[1];
  const parts = boundary === undefined ? [raw] : body.split(`--${boundary}`).map((part) => part.replace(/^\r\n/, ''));
  const plain = parts.map(splitPart).find(([of]) => of['content-type']?.startsWith('text/plain'));
  return { headers: head, text: plain ? decoded(plain[0]['content-transfer-encoding'] ?? '7bit', plain[1]) : '' };
}
function splitPart(part: string): [Record<string, string>, string] {
  const end = part.indexOf('\r\n\r\n');
  const fields = [...part.slice(0, end).matchAll(HEADER)].map(([, name, value]): [string, string] => [
    name!.toLowerCase(),
    value!.replace(/\r\n[ \t]/g, ' '),
  ]);
  return [Object.fromEntries(fields), part.slice(end + 4)];
}
/** RFC 2045 6.7 and 6.8. */
function decoded(encoding: string, body: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  if (encoding !== 'quoted-printable') return body.replaceAll('\r\n', '\n');
  const bytes = body
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n');
}
