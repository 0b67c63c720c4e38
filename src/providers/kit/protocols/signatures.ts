import { createHmac, createPublicKey, createVerify, type KeyObject, timingSafeEqual, verify, X509Certificate } from 'node:crypto';
export { equalSecrets } from '../../../platform/kernel/index.ts';

/** How far from now a signed time may be, either way: what is older is a replay (Standard Webhooks). */
const FRESH_MS = 300_000;
/** Shorter keys prove nothing; an absent one above all. */
const KEY_BYTES = 8;

/** Whether a signed time, in seconds since 1970 or as an ISO date, is of now; `lateMs`, where what is sent again keeps the time of its first sending. */
export function isFresh(time: string, now: Date, lateMs = FRESH_MS): boolean {
  const at = /^\d{1,12}$/.test(time) ? Number(time) * 1_000 : Date.parse(time);
  const age = now.getTime() - at;
  return -FRESH_MS <= age && age <= lateMs; // false for NaN
}

/** HMAC-SHA256 of the parts, one after the other: whether the signature given in this encoding is it. */
export function isHmac(key: string | Uint8Array, parts: readonly (string | Uint8Array)[], given: string, encoding: 'hex' | 'base64'): boolean {
  if (key.length < KEY_BYTES) return false;
  const hmac = createHmac('sha256', key);
  for (const part of parts) hmac.update(part);
  const [wanted, said] = [hmac.digest(), Buffer.from(given, encoding)];
  return said.length === wanted.length && timingSafeEqual(said, wanted);
}

/** What a text of base64 holds; what is none, leniently read, proves nothing later. */
export const fromBase64 = (text: string): Uint8Array => Buffer.from(text, 'base64');

/** ECDSA on P-256 with SHA-256 (DER signature) over the parts; the key is a SubjectPublicKeyInfo (DER), both in base64. */
export function isEcdsa(key: string, parts: readonly (string | Uint8Array)[], given: string): boolean {
  const verifier = createVerify('sha256');
  for (const part of parts) verifier.update(part);
  try {
    const publicKey = createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' });
    return publicKey.asymmetricKeyDetails?.namedCurve === 'prime256v1' && verifier.verify(publicKey, Buffer.from(given, 'base64'));
  } catch {
    return false; // no key, or no signature
  }
}

/** RSA (PKCS #1) with SHA-256 over a text, the signature in base64. */
export const isRsa = (key: KeyObject, text: string, given: string): boolean =>
  key.asymmetricKeyType === 'rsa' && verify('sha256', Buffer.from(text), key, Buffer.from(given, 'base64'));

/** The key of an X.509 certificate (PEM) that is valid now; undefined for every other text. */
export function keyOfCertificate(pem: string, now: Date): KeyObject | undefined {
  try {
    const certificate = new X509Certificate(pem);
    return certificate.validFromDate <= now && now <= certificate.validToDate ? certificate.publicKey : undefined;
  } catch {
    return undefined;
  }
}
