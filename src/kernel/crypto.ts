import { createCipheriv, createDecipheriv, createHash, createHmac, createSecretKey, randomBytes, timingSafeEqual } from 'node:crypto';

export const sha256 = (data: string | Uint8Array): Buffer => createHash('sha256').update(data).digest();
export const sha256Hex = (data: string | Uint8Array): string => sha256(data).toString('hex');
export const hmacHex = (key: string, data: string | Uint8Array): string => createHmac('sha256', key).update(data).digest('hex');

/** Compares secrets in time that depends on neither content nor length. */
export const equalSecrets = (a: string, b: string): boolean => timingSafeEqual(sha256(a), sha256(b));

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
/** `length` characters of base62, each drawn evenly: bytes of 248 and above are drawn again. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) for (const byte of randomBytes(length)) if (byte < 248 && text.length < length) text += BASE62[byte % 62];
  return text;
}
export const randomHex = (bytes: number): string => randomBytes(bytes).toString('hex');
export const randomBase64url = (bytes: number): string => randomBytes(bytes).toString('base64url');

/** Seals and opens stored secrets. */
export interface Vault {
  seal(plain: string): string;
  open(sealed: string): string;
}

const PREFIX = 'v2:';
const IV = 12;
const TAG = 16;

/** The 32-byte key: 44 base64 or 64 hexadecimal characters that decode to 32 bytes; any other text is hashed (spec, secrets). */
export function encryptionKey(text: string): Buffer {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex');
  if (/^[A-Za-z0-9+/]{43}=$/.test(text)) return Buffer.from(text, 'base64');
  return sha256(text);
}

/** AES-256-GCM, `v2:` + base64 of IV (12 bytes), tag (16) and ciphertext. Every refusal is one and the same error. */
export function openVault(bytesOfKey: Buffer): Vault {
  const key = createSecretKey(bytesOfKey); // once: from bytes it is made anew by every call, which costs more than the call
  return {
    seal(plain) {
      const iv = randomBytes(IV);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: TAG });
      const body = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()]);
      return PREFIX + Buffer.concat([iv, cipher.getAuthTag(), body]).toString('base64');
    },
    open(sealed) {
      try {
        if (!sealed.startsWith(PREFIX)) throw new Error('format');
        const bytes = Buffer.from(sealed.slice(PREFIX.length), 'base64');
        if (bytes.length < IV + TAG) throw new Error('length');
        const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV), { authTagLength: TAG });
        decipher.setAuthTag(bytes.subarray(IV, IV + TAG));
        return Buffer.concat([decipher.update(bytes.subarray(IV + TAG)), decipher.final()]).toString('utf8');
      } catch {
        throw new Error('A stored secret cannot be opened: it was changed, or ENCRYPTION_KEY is not the one that sealed it');
      }
    },
  };
}
