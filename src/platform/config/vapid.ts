import { createECDH } from 'node:crypto';
import type { ConfigIssue, Env } from './env.ts';
import type { SettingName } from './settings.ts';

/** The keys of this service for the push services of browsers (RFC 8292), and whom those ask about it. */
export interface VapidKeys {
  publicKey: string;
  privateKey: string;
  subject: string;
}

const VAPID = ['VAPID_PUBLIC_KEY', 'VAPID_PRIVATE_KEY', 'VAPID_SUBJECT'] as const satisfies SettingName[];

/** A subject is an address that a person reads (RFC 8292 2.1). */
const isSubject = (text: string): boolean => /^mailto:[^\s@]+@[^\s@]+$/.test(text) || /^https:\/\/[^\s/]+/.test(text);

/** Whether both keys belong to each other: a point of P-256, not compressed, and its scalar, as base64url. */
function isKeyPair(publicKey: string, privateKey: string): boolean {
  try {
    const keys = createECDH('prime256v1');
    keys.setPrivateKey(privateKey, 'base64url');
    return /^[A-Za-z0-9_-]{43}$/.test(privateKey) && keys.getPublicKey('base64url') === publicKey;
  } catch {
    return false;
  }
}

/** The three settings together; undefined while one is missing or no use: nothing is pushed to browsers. */
export function vapidOf({ VAPID_PUBLIC_KEY, VAPID_PRIVATE_KEY, VAPID_SUBJECT }: Env): VapidKeys | undefined {
  if (!VAPID_PUBLIC_KEY || !VAPID_PRIVATE_KEY || !VAPID_SUBJECT) return undefined;
  return isKeyPair(VAPID_PUBLIC_KEY, VAPID_PRIVATE_KEY) && isSubject(VAPID_SUBJECT)
    ? { publicKey: VAPID_PUBLIC_KEY, privateKey: VAPID_PRIVATE_KEY, subject: VAPID_SUBJECT }
    : undefined;
}

const warn = (setting: SettingName, message: string, remedy: string): ConfigIssue => ({
  setting,
  level: 'warning',
  message,
  remedy,
});

/** What is wrong with the three settings together. */
export function checkVapid(env: Env, isSet: (name: SettingName) => boolean): readonly (ConfigIssue | false)[] {
  const isWhole = VAPID.every(isSet);
  return [
    ...VAPID.map(
      (name) =>
        VAPID.some(isSet) &&
        !isSet(name) &&
        warn(
          name,
          'is missing, and nothing is pushed to browsers without it',
          `Set all of ${VAPID.join(', ')}, as printed by: node rookery.mjs vapid. Or none.`,
        ),
    ),
    isWhole &&
      !isKeyPair(env.VAPID_PUBLIC_KEY ?? '', env.VAPID_PRIVATE_KEY ?? '') &&
      warn(
        'VAPID_PRIVATE_KEY',
        'does not belong to VAPID_PUBLIC_KEY, and nothing is pushed to browsers',
        'Set both as printed by: node rookery.mjs vapid. Browsers that subscribed by another key subscribe again.',
      ),
    isWhole &&
      !isSubject(env.VAPID_SUBJECT ?? '') &&
      warn(
        'VAPID_SUBJECT',
        'is no address that a person reads, and nothing is pushed to browsers',
        'Set it to mailto: with a mail address, or to an https address.',
      ),
  ];
}
