import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { equalSecrets, hmacHex } from '../../platform/kernel/index.ts';

export interface ReceivedDelivery {
  headers: IncomingHttpHeaders;
  body: Buffer;
}
export interface Receiver extends AsyncDisposable {
  url: string;
  next(event: string, timeoutMs: number): Promise<ReceivedDelivery | undefined>;
}

/** A receiver of webhooks on 127.0.0.1, such as anybody would write one: takes the raw bytes, answers 200. */
export async function openReceiver(): Promise<Receiver> {
  const deliveries: ReceivedDelivery[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      deliveries.push({ headers: request.headers, body: Buffer.concat(parts) });
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((done, fail) => server.once('error', fail).listen(0, '127.0.0.1', done));
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  const found = (event: string) =>
    deliveries.find(({ body }) => (JSON.parse(body.toString('utf8')) as { event?: string }).event === event);
  return {
    url: `http://127.0.0.1:${port}/rookery-demo`,
    next: (event, timeoutMs) =>
      new Promise((done) => {
        const end = (delivery: ReceivedDelivery | undefined) => {
          waiting.delete(look);
          clearTimeout(timer);
          done(delivery);
        };
        const look = () => {
          const delivery = found(event);
          if (delivery) end(delivery);
        };
        const timer = setTimeout(() => end(undefined), timeoutMs);
        waiting.add(look);
        look();
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

const header = ({ headers }: ReceivedDelivery, name: string): string => String(headers[name] ?? '');

/** `webhook-signature`: HMAC-SHA256 over id, time and body, with the webhook's own secret; one of several may fit. */
export function isSignedWith(delivery: ReceivedDelivery, secret: string): boolean {
  const key = secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);
  const signed = `${header(delivery, 'webhook-id')}.${header(delivery, 'webhook-timestamp')}.`;
  const expected = `v1,${createHmac('sha256', key).update(signed).update(delivery.body).digest('base64')}`;
  return header(delivery, 'webhook-signature')
    .split(' ')
    .some((one) => equalSecrets(one, expected));
}

/** `X-Service-Signature`: HMAC-SHA256 over the body, with the secret of the deployment. */
export const isServiceSigned = (delivery: ReceivedDelivery, secret: string): boolean =>
  equalSecrets(header(delivery, 'x-service-signature'), `sha256=${hmacHex(secret, delivery.body)}`);
