import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  type KeyObject,
  randomBytes,
  timingSafeEqual,
} from 'node:crypto';

// in one call: half the cost of an object for it
export const sha256 = (data: string | Uint8Array): Buffer => hash('sha256', data, 'buffer');
export const sha256Hex = (data: string | Uint8Array): string => hash('sha256', data, 'hex');
export const hmacHex = (key: string, data: string | Uint8Array): string =>
  createHmac('sha256', key).update(data).digest('hex');

/** Compares secrets in time that depends on neither content nor length. */
export const equalSecrets = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b));

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** `length` characters of base62, each drawn evenly: bytes of 248 and above are drawn again. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length)
    for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += BASE62[byte % 62];
  return text;
}
export const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex');
export const randomBase64url = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** Seals and opens stored secrets. */
export interface Vault {
  seal(plain: string): string;
  open(sealed: string): string;
  /** The same secret sealed by the key of today; undefined when it is that already. */
  renew(sealed: string): string | undefined;
}

const PREFIX = 'v2:';
const IV = 12;
const TAG = 16;

/**
 * The 32-byte key: 44 base64 or 64 hexadecimal characters that decode to 32 bytes; any other text is hashed (spec,
 * secrets).
 */
export function encryptionKey(text: string): Buffer {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return Buffer.from(text, 'base64');
  return sha256(text);
}

/** The text that was sealed by this key; undefined for everything else. */
function opened(sealed: string, key: KeyObject): string | undefined {
  if (!sealed.startsWith(PREFIX)) return undefined;
  const text = sealed.slice(PREFIX.length);
  const bytes = Buffer.from(text, 'base64');
  // base64 is read leniently: one value has one text
  if (bytes.length < IV + TAG || bytes.toString('base64') !== text) return undefined;
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV), { authTagLength: TAG });
    decipher.setAuthTag(bytes.subarray(IV, IV + TAG));
    return Buffer.concat([decipher.update(bytes.subarray(IV + TAG)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}

/**
 * AES-256-GCM, `v2:` + base64 of IV (12 bytes), tag (16) and ciphertext. `former` keys open and never seal. Every
 * refusal is one and the same error.
 */
export function openVault(bytesOfKey: Buffer, former: readonly Buffer[] = []): Vault {
  const [today, ...others] = [bytesOfKey, ...former].map((bytes) => createSecretKey(bytes)) as [
    KeyObject,
    ...KeyObject[],
  ]; // once: a key made by each call costs more than the call

  function seal(plain: string): string {
    const iv = randomBytes(IV);
    const cipher = createCipheriv('aes-256-gcm', today, iv, { authTagLength: TAG });
    const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
    return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
  }
  function byFormer(sealed: string): string {
    for (const key of others) {
      const plain = opened(sealed, key);
      if (plain !== undefined) return plain;
    }
    throw new Error(
      'A stored secret cannot be opened: it was changed, or ENCRYPTION_KEY is not the one that sealed it',
    );
  }
  return {
    seal,
    open: (sealed) => opened(sealed, today) ?? byFormer(sealed),
    renew: (sealed) => (opened(sealed, today) === undefined ? seal(byFormer(sealed)) : undefined),
  };
}
