import { createECDH } from 'node:crypto';

/** Prints a new pair of keys as lines of `.env`, which the push services of browsers will know this service by. */
export function printVapidKeys(say: (line: string) => void): void {
  const keys = createECDH('prime256v1');
  const publicKey = keys.generateKeys('base64url');
  // a leading zero of the scalar is left out
  const privateKey = Buffer.concat([Buffer.alloc(32), keys.getPrivateKey()])
    .subarray(-32)
    .toString('base64url');
  say(`VAPID_PUBLIC_KEY=${publicKey}`);
  say(`VAPID_PRIVATE_KEY=${privateKey}`);
  say('VAPID_SUBJECT=mailto:admin@example.com');
}
