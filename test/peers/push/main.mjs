// Clients of push services by others. Prints its address; ends when its input does.
//   POST /fcm {port, ca, account, message}               → {} | {code}     firebase-admin, which calls a recorder in the place of Google
//   POST /web-push {subscription, payload, vapid, options} → {endpoint, method, headers, body}     web-push; nothing is sent
//   POST /read {body, privateKey, auth}                  → {text}          http_ece, as the browser reads it
import { createECDH } from 'node:crypto';
import { createServer } from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import tls from 'node:tls';
import { cert, deleteApp, initializeApp } from 'firebase-admin/app';
import { getMessaging } from 'firebase-admin/messaging';
import ece from 'http_ece';
import webPush from 'web-push';

/** Every connection of this process ends there, whatever host it is for: those of the library are fixed. */
let recorder;
const { connect } = tls;
tls.connect = (...call) => {
  const options = call.find((one) => typeof one === 'object' && one !== null) ?? {};
  const name = options.servername || options.host || call.find((one) => typeof one === 'string');
  const ready = call.find((one) => typeof one === 'function');
  return connect({ ...options, host: '127.0.0.1', port: recorder.port, servername: name, ca: recorder.ca, path: undefined }, ready);
};
syncBuiltinESMExports();

const ACTS = {
  async '/fcm'({ port, ca, account, message }) {
    recorder = { port, ca };
    const app = initializeApp({ credential: cert(account) }, `app-${Math.random()}`);
    try {
      await getMessaging(app).send(message);
      return {};
    } catch (error) {
      return { code: error.code, message: error.message };
    } finally {
      await deleteApp(app);
    }
  },
  async '/web-push'({ subscription, payload, vapid, options }) {
    const { endpoint, method, headers, body } = webPush.generateRequestDetails(subscription, payload, { ...options, vapidDetails: vapid });
    return { endpoint, method, headers, body: body.toString('base64') };
  },
  async '/read'({ body, privateKey, auth }) {
    const keys = createECDH('prime256v1');
    keys.setPrivateKey(privateKey, 'base64url');
    const text = ece.decrypt(Buffer.from(body, 'base64'), { version: 'aes128gcm', privateKey: keys, authSecret: auth });
    return { text: text.toString() };
  },
};

const control = createServer(async (request, response) => {
  let text = '';
  for await (const piece of request) text += piece;
  const said = await ACTS[request.url](JSON.parse(text)).catch((error) => ({ failed: error?.stack ?? String(error) }));
  response.end(JSON.stringify(said));
});
control.keepAliveTimeout = 0; // whoever asks closes the connection, so that none is closed under a request
control.listen(0, '127.0.0.1', () => process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${control.address().port}` })}\n`));

process.stdin.resume();
process.stdin.on('end', () => process.exit());
