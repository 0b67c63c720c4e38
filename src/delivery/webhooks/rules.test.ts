import { createHmac } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { mayBePlain, outcomeOf, pingBody, pingResult, retryInMs } from './rules.ts';
import { signedHeaders } from './sign.ts';

test('a delivery has three attempts, with waits of 1 s and 2 s [WH32] [WH33]', () =>
  expect([1, 2, 3, 4].map(retryInMs)).toEqual([1_000, 2_000, null, null]));

test('any 2xx is a success, any other status is named in the failure', () => {
  expect([200, 201, 204, 299].map((status) => pingResult(outcomeOf(status, 1)))).toEqual(
    [200, 201, 204, 299].map((status) => ({ success: true, status })),
  );
  expect([199, 300, 304, 404, 500].map((status) => pingResult(outcomeOf(status, 1)))).toEqual(
    [199, 300, 304, 404, 500].map((status) => ({ success: false, status: 0, error: `HTTP ${status}` })),
  );
});

test('a ping has the keys and the order of the specification [WH15]', () =>
  expect(pingBody(new Date('2026-09-01T10:00:01.412Z'), 'Test ping')).toBe(
    '{"event":"ping","timestamp":"2026-09-01T10:00:01.412Z","data":{"message":"Test ping"}}',
  ));

test('the deployment key and each secret of the webhook sign the headers of a delivery', () => {
  const secrets = ['whsec_AAECAwQFBgc=', 'whsec_Bwg='];
  const headers = signedHeaders(
    { id: 'msg_1', body: '{"a":"ü"}', at: new Date('2026-09-01T10:00:01.999Z'), seq: 7 },
    { deploymentKey: 'key', secrets },
  );
  const own = (key: number[]) =>
    `v1,${createHmac('sha256', Buffer.from(key)).update('msg_1.1788256801.{"a":"ü"}').digest('base64')}`;
  expect(headers).toEqual({
    'Content-Type': 'application/json',
    'User-Agent': 'service-webhooks/1',
    'webhook-id': 'msg_1',
    'webhook-timestamp': '1788256801',
    'webhook-seq': '7',
    'X-Service-Signature': `sha256=${createHmac('sha256', 'key').update(Buffer.from('{"a":"ü"}')).digest('hex')}`,
    'webhook-signature': `${own([0, 1, 2, 3, 4, 5, 6, 7])} ${own([7, 8])}`,
  });
});

test.each([
  ['http://127.0.0.1/', true],
  ['http://[::1]/', true],
  ['http://localhost:1/', true],
  ['http://a.localhost/', true],
  ['http://receiver/', true],
  ['http://x.internal./', true],
  ['http://example.com/', false],
  ['http://localhost.example.com/', false],
  ['http://notlocal/', true],
  ['http://evil-internal.com/', false],
])('plain http to %s: %s', (url, may) => expect(mayBePlain(new URL(url))).toBe(may));
