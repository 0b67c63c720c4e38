import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { generateKeyPairSync } from 'node:crypto';
import {
  createSecureServer,
  type Http2SecureServer,
  type Http2ServerRequest,
  type Http2ServerResponse,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { decodeJwt, importSPKI, jwtVerify } from 'jose';
import { openFcm } from '../../../src/delivery/push/fcm.ts';
import type { ClaimedPush } from '../../../src/delivery/push/store.ts';
import { openWebPush } from '../../../src/delivery/push/web-push.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { socketConnector } from '../../../src/platform/outbound/pools.ts';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { makeCertificate } from '../../support/wire/certificate.ts';
import { subscribedBrowser, vapidSettings } from '../../support/wire/push-service.ts';

// What we send to push services against what the clients by others send, before one recorder.

interface Recorded {
  host: string;
  path: string;
  headers: Record<string, string | string[] | undefined>;
  body: Buffer;
}

const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
const SPKI = publicKey.export({ type: 'spki', format: 'pem' }) as string;
const HOSTS = ['oauth2.googleapis.com', 'fcm.googleapis.com', 'push.example.com'];
const ACCOUNT = { projectId: 'my-project', clientEmail: 'push@my-project.iam.gserviceaccount.com', privateKey: PEM };
const { key, cert } = makeCertificate(HOSTS);

const recorded: Recorded[] = [];
let says: { status: number; body: object } = { status: 200, body: {} };
let recorder: Http2SecureServer;
let port: number;
beforeAll(async () => {
  recorder = createSecureServer({ key, cert, allowHTTP1: true }, (request, response) => void serve(request, response));
  await new Promise<void>((done) => recorder.listen(0, '127.0.0.1', done));
  ({ port } = recorder.address() as AddressInfo);
});
afterAll(() => void recorder.close());

async function serve(request: Http2ServerRequest, response: Http2ServerResponse): Promise<void> {
  const pieces: Buffer[] = [];
  for await (const piece of request) pieces.push(piece as Buffer);
  const host = request.headers[':authority'] ?? request.headers.host!;
  recorded.push({ host, path: request.url, headers: request.headers, body: Buffer.concat(pieces) });
  const isLogin = request.url === '/token' || host.startsWith('oauth2');
  const { status, body } = isLogin
    ? { status: 200, body: { access_token: 'ya29.secret', expires_in: 3_600, token_type: 'Bearer' } }
    : says;
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function outbound() {
  const beneath = socketConnector([cert]);
  return openOutbound({
    timeoutMs: 10_000,
    allowedPrivateCidrs: ['127.0.0.1/32'],
    resolver: async () => ['127.0.0.1'],
    connector: (options, callback) => beneath({ ...options, port: String(port) }, callback),
  });
}
const pushOf = (more: Partial<ClaimedPush>): ClaimedPush => ({
  id: '1',
  tokenId: '1',
  token: 'the-device',
  via: 'fcm',
  platform: 'android',
  category: 'post_failed',
  title: 'A post was not published on Acme',
  content: 'The network refused it.',
  link: '/posts/1',
  attempts: 1,
  ...more,
});

await describePeer(
  'push',
  () => npmPeer('push'),
  (found) => {
    let peer: Peer;
    beforeAll(async () => {
      peer = await found.start();
    }, 120_000);
    afterAll(() => peer?.stop());
    // oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
    async function ask(act: string, given: object, url = peer.url): Promise<Record<string, any>> {
      const answer = await fetch(url + act, { method: 'POST', body: JSON.stringify(given) });
      const said = (await answer.json()) as Record<string, unknown>;
      if (said['failed'] !== undefined) throw new Error(String(said['failed']));
      return said;
    }

    describe('pushes by Firebase, as firebase-admin sends them', () => {
      const account = { projectId: ACCOUNT.projectId, clientEmail: ACCOUNT.clientEmail, privateKey: PEM };
      const theirs = (message: object, url?: string) => ask('/fcm', { port, ca: cert, account, message }, url);
      async function ours(push: ClaimedPush) {
        await using way = outbound();
        return openFcm({ outbound: way, clock: systemClock }, ACCOUNT)(push);
      }
      const messageFor = (platform: ClaimedPush['platform']) => ({
        token: 'the-device',
        notification: { title: 'A post was not published on Acme', body: 'The network refused it.' },
        data: { category: 'post_failed', link: '/posts/1' },
        ...(platform === 'android' && { android: { collapseKey: 'post_failed' } }),
        ...(platform === 'ios' && { apns: { headers: { 'apns-collapse-id': 'post_failed' } } }),
        ...(platform === 'web' && { webpush: { headers: { Topic: 'post_failed' } } }),
      });
      const requestsOf = async (act: () => Promise<unknown>) => {
        recorded.length = 0;
        await act();
        const login = recorded.find(({ host }) => host.startsWith('oauth2'))!;
        return { login, send: recorded.find(({ host }) => host.startsWith('fcm'))! };
      };

      test.each(['android', 'ios', 'web'] as const)('the message to %s is theirs, field by field', async (platform) => {
        says = { status: 200, body: { name: 'projects/my-project/messages/1' } };
        const [a, b] = [
          await requestsOf(() => ours(pushOf({ platform }))),
          await requestsOf(() => theirs(messageFor(platform))),
        ];
        expect(a.send.path).toBe(b.send.path);
        expect(JSON.parse(a.send.body.toString()).message).toEqual(JSON.parse(b.send.body.toString()).message);
        for (const { send } of [a, b]) expect(send.headers['authorization']).toBe('Bearer ya29.secret');
      });

      test('the request for a token says the same, by the same key', async () => {
        await using fresh = await found.start(); // theirs keeps its token as long as its process lives
        const [a, b] = [
          await requestsOf(() => ours(pushOf({}))),
          await requestsOf(() => theirs(messageFor('android'), fresh.url)),
        ];
        expect([a.login.path, a.login.headers['content-type']]).toEqual([
          b.login.path,
          expect.stringContaining('application/x-www-form-urlencoded'),
        ]);
        const [mine, others] = [a, b].map(({ login }) => new URLSearchParams(login.body.toString())) as [
          URLSearchParams,
          URLSearchParams,
        ];
        expect(mine.get('grant_type')).toBe(others.get('grant_type'));
        const rsa = await importSPKI(SPKI, 'RS256');
        for (const form of [mine, others]) await jwtVerify(form.get('assertion')!, rsa);
        const [claims, theirClaims] = [decodeJwt(mine.get('assertion')!), decodeJwt(others.get('assertion')!)];
        expect([claims.iss, claims.aud]).toEqual([theirClaims.iss, theirClaims.aud]);
        expect(claims.exp! - claims.iat!).toBe(theirClaims.exp! - theirClaims.iat!);
        expect(String(theirClaims['scope']).split(' ')).toContain(claims['scope']);
      });

      const refusal = (status: number, name: string, errorCode: string, more: object = {}) => ({
        status,
        body: {
          error: {
            code: status,
            message: 'no',
            status: name,
            details: [{ '@type': 'type.googleapis.com/google.firebase.fcm.v1.FcmError', errorCode }],
            ...more,
          },
        },
      });
      test.each([
        ['UNREGISTERED', refusal(404, 'NOT_FOUND', 'UNREGISTERED'), 'registration-token-not-registered', 'unknown'],
        [
          'a foreign sender',
          refusal(403, 'PERMISSION_DENIED', 'SENDER_ID_MISMATCH'),
          'mismatched-credential',
          'unknown',
        ],
        ['a bad message', refusal(400, 'INVALID_ARGUMENT', 'INVALID_ARGUMENT'), 'invalid-argument', 'refused'],
        ['too many', refusal(429, 'RESOURCE_EXHAUSTED', 'QUOTA_EXCEEDED'), 'message-rate-exceeded', 'retry'],
        ['a failure', refusal(500, 'INTERNAL', 'INTERNAL'), 'internal-error', 'retry'],
        [
          'a key of Apple',
          refusal(401, 'UNAUTHENTICATED', 'THIRD_PARTY_AUTH_ERROR'),
          'third-party-auth-error',
          'retry',
        ],
      ])('%s means the same [NO31]', async (_, answer, code, outcome) => {
        says = answer;
        expect((await ours(pushOf({}))).outcome).toBe(outcome);
        expect((await theirs(messageFor('android')))['code']).toBe(`messaging/${code}`);
      });
    });

    describe('pushes to browsers, as web-push sends them', () => {
      const settings = vapidSettings();
      const vapid = {
        publicKey: settings.VAPID_PUBLIC_KEY,
        privateKey: settings.VAPID_PRIVATE_KEY,
        subject: settings.VAPID_SUBJECT,
      };
      const claimsOf = (header: unknown) => {
        const [, token, k] = /^vapid t=([^,]+), k=(.+)$/.exec(String(header))!;
        const { aud, sub, exp } = decodeJwt(token!);
        return { aud, sub, k, isDated: exp! > systemClock.now().getTime() / 1000 };
      };
      const read = ({ secrets }: ReturnType<typeof subscribedBrowser>, body: string) =>
        ask('/read', { body, privateKey: secrets.privateKey(), auth: secrets.auth });

      test('the request is theirs, field by field, and http_ece reads both', async () => {
        const browser = subscribedBrowser('https://push.example.com/send/1');
        recorded.length = 0;
        says = { status: 201, body: {} };
        await using way = outbound();
        const push = pushOf({ via: 'web-push', platform: 'web', token: browser.token });
        expect(await openWebPush({ outbound: way, clock: systemClock }, vapid)(push)).toEqual({ outcome: 'sent' });
        const [mine] = recorded as [Recorded];
        const { text: payload } = await read(browser, mine.body.toString('base64'));
        expect(JSON.parse(payload)).toEqual({
          title: push.title,
          body: push.content,
          tag: 'post_failed',
          data: { category: 'post_failed', link: '/posts/1' },
        });
        const other = await ask('/web-push', {
          subscription: JSON.parse(browser.token),
          payload,
          vapid,
          options: { TTL: 3_600, topic: 'post_failed', urgency: 'normal', contentEncoding: 'aes128gcm' },
        });
        expect((await read(browser, other['body']))['text']).toBe(payload);
        const lower = Object.fromEntries(
          Object.entries(other['headers'] as Record<string, unknown>).map(([name, value]) => [
            name.toLowerCase(),
            String(value),
          ]),
        );
        for (const name of ['ttl', 'topic', 'urgency', 'content-encoding', 'content-type'])
          expect([name, mine.headers[name]]).toEqual([name, lower[name]]);
        expect(claimsOf(mine.headers['authorization'])).toEqual(claimsOf(lower['authorization']));
        expect(`https://push.example.com${mine.path}`).toBe(other['endpoint']);
      });
    });
  },
);
