import { createDecipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto';

/** A browser that has subscribed: what it hands out, and how it reads what is sent to it (RFC 8291). */
export function subscribedBrowser(endpoint: string) {
  const keys = createECDH('prime256v1');
  const p256dh = keys.generateKeys();
  const auth = randomBytes(16);
  const derive = (secret: Buffer, salt: Buffer, info: string | Buffer, length: number) =>
    Buffer.from(hkdfSync('sha256', secret, salt, info, length));
  return {
    endpoint,
    /** As `JSON.stringify` writes a PushSubscription. */
    token: JSON.stringify({
      endpoint,
      expirationTime: null,
      keys: { p256dh: p256dh.toString('base64url'), auth: auth.toString('base64url') },
    }),
    read(body: Buffer): string {
      const keyEnd = 21 + body[20]!;
      const [salt, sender, sealed] = [body.subarray(0, 16), body.subarray(21, keyEnd), body.subarray(keyEnd)];
      const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, sender]);
      const input = derive(keys.computeSecret(sender), auth, info, 32);
      const decipher = createDecipheriv(
        'aes-128-gcm',
        derive(input, salt, 'Content-Encoding: aes128gcm\0', 16),
        derive(input, salt, 'Content-Encoding: nonce\0', 12),
      );
      decipher.setAuthTag(sealed.subarray(-16));
      const padded = Buffer.concat([decipher.update(sealed.subarray(0, -16)), decipher.final()]);
      return padded.subarray(0, padded.lastIndexOf(2)).toString();
    },
    /** For a reader that is not this one. */
    secrets: { privateKey: () => keys.getPrivateKey('base64url'), auth: auth.toString('base64url') },
  };
}
export type SubscribedBrowser = ReturnType<typeof subscribedBrowser>;

/** A pair of VAPID keys with a subject, as settings. */
export function vapidSettings() {
  const keys = createECDH('prime256v1');
  const publicKey = keys.generateKeys('base64url');
  return {
    VAPID_PUBLIC_KEY: publicKey,
    VAPID_PRIVATE_KEY: Buffer.concat([Buffer.alloc(32), keys.getPrivateKey()])
      .subarray(-32)
      .toString('base64url'),
    VAPID_SUBJECT: 'mailto:ops@example.com',
  };
}
