import {
  createHmac,
  createPublicKey,
  createVerify,
  type KeyObject,
  timingSafeEqual,
  verify,
  X509Certificate,
} from 'node:crypto';
export { equalSecrets } from '../../../platform/kernel/index.ts';

/**
 * Greatest difference of a signed time from now, in either direction: anything older is a replay (Standard Webhooks).
 */
const FRESH_MS = 300_000;
/** Least length of a key; without a key nothing is accepted. */
const KEY_BYTES = 8;

/**
 * Answers whether a signed time, in seconds since 1970 or as an ISO date, is recent. `lateMs`: the age that is accepted
 * where a repeated delivery keeps the time of the first.
 */
export function isFresh(time: string, now: Date, lateMs = FRESH_MS): boolean {
  const at = /^\d{1,12}$/.test(time) ? Number(time) * 1_000 : Date.parse(time);
  const age = now.getTime() - at;
  return -FRESH_MS <= age && age <= lateMs; // false for NaN
}

/** Answers whether the signature, given in this encoding, is the HMAC-SHA256 of the concatenated parts. */
export function isHmac(
  key: string | Uint8Array,
  parts: readonly (string | Uint8Array)[],
  given: string,
  encoding: 'hex' | 'base64',
): boolean {
  if (key.length < KEY_BYTES) return false;
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  const [wanted, said] = [hmac.digest(), Buffer.from(given, encoding)];
  return said.length === wanted.length && timingSafeEqual(said, wanted);
}

/** Decodes base64 leniently: a text that is not base64 fails the comparison that follows. */
export const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64');

/**
 * Verifies ECDSA on P-256 with SHA-256 (DER signature) over the parts; the key is a SubjectPublicKeyInfo (DER), both in
 * base64.
 */
export function isEcdsa(key: string, parts: readonly (string | Uint8Array)[], given: string): boolean {
  const verifier = createVerify('sha256');
  for (const part of parts) verifier.update(part);
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' });
    return (
      publicKey.asymmetricKeyDetails?.namedCurve === 'prime256v1' &&
      verifier.verify(publicKey, Buffer.from(given, 'base64'))
    );
  } catch {
    return false; // malformed key or signature
  }
}

/** Verifies RSA (PKCS #1) with SHA-256 over a text; the signature is in base64. */
export const isRsa = (key: KeyObject, text: string, given: string): boolean =>
  key.asymmetricKeyType === 'rsa' && verify('sha256', Buffer.from(text), key, Buffer.from(given, 'base64'));

/** Reads the public key of an X.509 certificate (PEM) that is valid now; undefined for any other text. */
export function keyOfCertificate(pem: string, now: Date): KeyObject | undefined {
  try {
    const certificate = new X509Certificate(pem);
    return certificate.validFromDate <= now && now <= certificate.validToDate ? certificate.publicKey : undefined;
  } catch {
    return undefined;
  }
}
