// A server where Firebase is: answers each login and each push, and counts them.
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { makeCertificate } from '../../../support/wire/certificate.ts';
import { answering } from '../../kit/answering.ts';

const HOSTS = ['oauth2.googleapis.com', 'fcm.googleapis.com'];
const LOGIN = JSON.stringify({ access_token: 'ya29.secret', expires_in: 3_600 });
const SENT = JSON.stringify({ name: 'projects/bench/messages/1' });
const { key, cert } = makeCertificate(HOSTS);
let seen = { pushes: new Set<string>(), doubled: 0, bytes: 0 };
let wanted = { pushes: Infinity, came: Promise.withResolvers<void>() };

const server = createServer({ key, cert }, (request, response) => {
  let text = '';
  request.setEncoding('utf8').on('data', (part: string) => (text += part));
  request.on('end', () => {
    const isLogin = request.headers.host === HOSTS[0];
    response.writeHead(200, { 'content-type': 'application/json' }).end(isLogin ? LOGIN : SENT);
    if (isLogin) return;
    const { token } = (JSON.parse(text) as { message: { token: string } }).message;
    if (seen.pushes.has(token)) seen.doubled += 1;
    seen.pushes.add(token);
    seen.bytes += text.length;
    if (seen.pushes.size >= wanted.pushes) wanted.came.resolve();
  });
});
server.keepAliveTimeout = 120_000;

answering({
  listen: () =>
    new Promise((done) =>
      server.listen(0, '127.0.0.1', () => done({ port: (server.address() as AddressInfo).port, cert })),
    ),
  reset({ pushes }: { pushes: number }) {
    seen = { pushes: new Set(), doubled: 0, bytes: 0 };
    wanted = { pushes, came: Promise.withResolvers() };
  },
  /** When as many devices as were told of have got a push. */
  async all() {
    await wanted.came.promise;
    return { bytes: seen.bytes, doubled: seen.doubled };
  },
});
