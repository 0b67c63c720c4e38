// A mail server on 127.0.0.1 that keeps what it gets in memory. Prints the address of its control; ends when its input does.
//   POST /servers {port?, starttls?, tls?, login?: {user, pass}, key, cert}  → {port}     DELETE /servers/<port>     GET /mails → [{to, from, tls, user, raw, …}]
//   GET /held → [recipient]     POST /released {to}
// What it does with a recipient: `unknown@` 550, `content@` 554 after the data, `busy-<n>@` 451 for the first n attempts, `held@` says yes when it is released.
import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import { simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';

const mails = [];
const attempts = new Map();
const servers = new Map();
const held = [];
const released = new Set();
const releases = new EventEmitter().setMaxListeners(0);
const refusal = (responseCode, message) => Object.assign(new Error(message), { responseCode });

function onRcptTo({ address }, _session, callback) {
  const tries = (attempts.get(address) ?? 0) + 1;
  attempts.set(address, tries);
  const [name] = address.split('@');
  if (name.startsWith('unknown')) return callback(refusal(550, `5.1.1 No mailbox ${address}, see https://help.example/550?token=secret`));
  const busy = /^busy-(\d+)/.exec(name);
  if (busy && tries <= Number(busy[1])) return callback(refusal(451, '4.7.1 Greylisted, try again later'));
  callback();
}

async function keep(stream, session) {
  const pieces = [];
  for await (const piece of stream) pieces.push(piece);
  const { mailFrom, rcptTo } = session.envelope;
  const to = rcptTo.map(({ address }) => address);
  if (to.some((address) => address.startsWith('content'))) throw refusal(554, '5.7.1 This content is refused');
  if (to[0].startsWith('held') && !released.has(to[0])) {
    held.push(to[0]);
    await once(releases, to[0]);
  }
  const raw = Buffer.concat(pieces);
  const parsed = await simpleParser(raw, { skipTextToHtml: true, skipTextLinks: true });
  mails.push({
    envelope: { from: mailFrom.address, to },
    secure: session.secure,
    user: session.user || null,
    raw: raw.toString('latin1'),
    messageId: parsed.messageId ?? null,
    from: parsed.from?.value ?? [],
    to: parsed.to?.value ?? [],
    cc: [parsed.cc, parsed.bcc].flatMap((field) => field?.value ?? []),
    subject: parsed.subject ?? null,
    text: parsed.text ?? null,
    html: parsed.html || null,
    headers: [...parsed.headers.keys()],
    attachments: parsed.attachments.length,
  });
}

function listen({ port = 0, starttls = false, tls = false, login, key, cert }) {
  const server = new SMTPServer({
    secure: tls,
    ...(key && { key, cert }),
    authOptional: !login,
    allowInsecureAuth: true,
    disabledCommands: [...(starttls ? [] : ['STARTTLS']), ...(login ? [] : ['AUTH'])],
    disableReverseLookup: true,
    closeTimeout: 100,
    onAuth: ({ username, password }, _session, callback) =>
      username === login.user && password === login.pass ? callback(null, { user: username }) : callback(refusal(535, '5.7.8 Wrong user name or password')),
    onRcptTo,
    onData: (stream, session, callback) => keep(stream, session).then(() => callback(), callback),
  });
  server.on('error', () => undefined); // of a connection
  return new Promise((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      const own = server.server.address().port;
      servers.set(own, server);
      resolve({ port: own });
    });
  });
}

async function answer({ method, url }, body) {
  if (method === 'GET' && url === '/mails') return mails;
  if (method === 'GET' && url === '/held') return held;
  if (method === 'POST' && url === '/released') {
    released.add(body.to);
    releases.emit(body.to);
    return {};
  }
  if (method === 'POST' && url === '/servers') return listen(body);
  const [, port] = /^\/servers\/(\d+)$/.exec(url) ?? [];
  if (method !== 'DELETE' || !servers.has(Number(port))) throw new Error('No such thing');
  await new Promise((resolve) => servers.get(Number(port)).close(resolve));
  servers.delete(Number(port));
  return {};
}

const control = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  try {
    response.end(JSON.stringify(await answer(request, text === '' ? {} : JSON.parse(text))));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
control.keepAliveTimeout = 0; // whoever asks closes the connection, so that none is closed under a request
control.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${control.address().port}` })}\n`));

process.stdin.resume();
process.stdin.on('end', () => process.exit());
