// Others' servers of APIs of mail on 127.0.0.1, and others' verifiers of what is signed. Prints the addresses; ends when its input does.
//   `resend`: an emulator of Resend. `ses`: a server of Amazon SES that keeps what it gets (GET /store).
//   POST /prism {document}  → {url} of a server that judges requests by that document
//   POST /verify/sendgrid {key, body, headers}, /verify/resend {secret, body, headers}, /verify/sns {message}  → {genuine, reason?}
import eventWebhook from '@sendgrid/eventwebhook';
import startSes from 'aws-ses-v2-local';
import { createEmulator } from 'emulate';
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { createServer } from 'node:http';
import { connect, createServer as createSocket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import SnsValidator from 'sns-validator';
import { Webhook } from 'standardwebhooks';

const PRISM = fileURLToPath(new URL('node_modules/.bin/prism', import.meta.url));
const children = [];

/** Below what systems deal out to connections: such a port could be taken by one while the server that is to listen there still starts. */
function freePort() {
  return new Promise((resolve) => {
    const port = randomInt(10_000, 32_000);
    const server = createSocket().on('error', () => resolve(freePort()));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(port)));
  });
}
const answers = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => resolve(true) ?? socket.destroy());
    socket.once('error', () => resolve(false));
  });

const prisms = new Map();
/** One for each document. */
function prismOf({ document }) {
  if (!prisms.has(document)) prisms.set(document, startPrism(document));
  return prisms.get(document);
}
async function startPrism(document) {
  const port = await freePort();
  const child = spawn(process.execPath, [PRISM, 'mock', '-h', '127.0.0.1', '-p', String(port), '-v', 'error', document], { stdio: ['ignore', 2, 2] });
  children.push(child);
  for (let n = 0; n < 600; n += 1) {
    if (await answers(port)) return { url: `http://127.0.0.1:${port}` };
    if (child.exitCode !== null) throw new Error(`prism ended with ${child.exitCode}`);
    await sleep(100);
  }
  throw new Error('prism does not listen');
}

const genuineIf = (work) => {
  try {
    return { genuine: work() !== false };
  } catch (error) {
    return { genuine: false, reason: error.message };
  }
};
const sendgrid = ({ key, body, headers }) => {
  const hook = new eventWebhook.EventWebhook();
  const prefix = 'x-twilio-email-event-webhook';
  return genuineIf(() => hook.verifySignature(hook.convertPublicKeyToECDSA(key), body, headers[`${prefix}-signature`], headers[`${prefix}-timestamp`]));
};
const resend = ({ secret, body, headers }) => {
  const named = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.replace('svix-', 'webhook-'), value]));
  return genuineIf(() => Boolean(new Webhook(secret).verify(body, named)));
};
const sns = ({ message }) =>
  new Promise((resolve) => new SnsValidator().validate(message, (error) => resolve(error ? { genuine: false, reason: error.message } : { genuine: true })));

const ROUTES = { '/prism': prismOf, '/verify/sendgrid': sendgrid, '/verify/resend': resend, '/verify/sns': sns };

const emulator = await createEmulator({ service: 'resend', port: await freePort(), seed: { resend: { domains: [{ name: 'mail.example.com', region: 'us-east-1' }] } } });
const sesPort = await freePort();
await startSes.default({ host: '127.0.0.1', port: sesPort });

const control = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  try {
    response.end(JSON.stringify(await ROUTES[request.url](JSON.parse(text))));
  } catch (error) {
    response.writeHead(500).end(String(error));
  }
});
control.keepAliveTimeout = 0; // whoever asks closes the connection, so that none is closed under a request
control.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${control.address().port}`;
  process.stdout.write(`\n${JSON.stringify({ url, resend: emulator.url.replace('localhost', '127.0.0.1'), ses: `http://127.0.0.1:${sesPort}` })}\n`);
});

const end = () => {
  for (const child of children) child.kill();
  process.exit();
};
process.on('SIGTERM', end);
process.stdin.resume();
process.stdin.on('end', end);
