import { createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { encryptionKey, equalSecrets, openVault, randomBase62 } from './crypto.ts';

const key = randomBytes(32);
const vault = openVault(key);

test('a sealed value is `v2:` with a 12-byte IV, a 16-byte tag and AES-256-GCM, as another implementation reads it [SC1, SC2]', () => {
  const sealed = vault.seal('tökén');
  expect(sealed.startsWith('v2:')).toBe(true);
  const bytes = Buffer.from(sealed.slice(3), 'base64');
  expect(bytes).toHaveLength(12 + 16 + Buffer.byteLength('tökén'));
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, 12));
  decipher.setAuthTag(bytes.subarray(12, 28));
  expect(Buffer.concat([decipher.update(bytes.subarray(28)), decipher.final()]).toString()).toBe('tökén');
});

test('anything but an intact v2 value is refused with the same error [SC3]', () => {
  const sealed = vault.seal('secret');
  const bytes = Buffer.from(sealed.slice(3), 'base64');
  const flipped = (at: number) => {
    const copy = Buffer.from(bytes);
    copy[at]! ^= 1;
    return `v2:${copy.toString('base64')}`;
  };
  const text = sealed.slice(3);
  const forms = [
    '',
    'secret',
    `v1:${text}`,
    `V2:${text}`,
    ` ${sealed}`,
    text,
    'v2:',
    'v2:AAAA',
    `${sealed}\n`,
    `${sealed}AAAA`,
    `v2:${text.slice(0, 8)} ${text.slice(8)}`,
  ];
  const others = [
    `v2:${text.replaceAll('+', '-').replaceAll('/', '_')}-`,
    `v2:${text.replace(/=*$/, '')}x`,
    openVault(randomBytes(32)).seal('secret'),
  ];
  const bad = [...forms, ...others, ...Array.from(bytes.keys(), flipped)]; // every single byte of IV, tag and text
  const messages = new Set(
    bad.map((value) => {
      try {
        return vault.open(value);
      } catch (error) {
        return (error as Error).message;
      }
    }),
  );
  expect([...messages]).toEqual([expect.stringContaining('cannot be opened')]);
});

test('no IV is used twice', () => {
  const seen = new Set(
    Array.from({ length: 20_000 }, () =>
      Buffer.from(vault.seal('x').slice(3), 'base64').subarray(0, 12).toString('hex'),
    ),
  );
  expect(seen.size).toBe(20_000);
});

test('the key is taken from base64 or hexadecimal text of 32 bytes, and any other text is hashed [SC4, SC5, SC6]', () => {
  expect(encryptionKey(key.toString('base64'))).toEqual(key);
  expect(encryptionKey(key.toString('hex'))).toEqual(key);
  for (const text of ['short', key.toString('hex').slice(1), key.toString('base64').slice(0, 43)])
    expect(encryptionKey(text)).toEqual(createHash('sha256').update(text).digest());
});

test('another key opens nothing [SC8]', () => {
  expect(() => openVault(randomBytes(32)).open(vault.seal('x'))).toThrow('cannot be opened');
});

test('a former key opens and never seals; renewing moves a value to the current key, once [SC8]', () => {
  const today = randomBytes(32);
  const both = openVault(today, [randomBytes(32), key]);
  const old = vault.seal('kept');
  expect(both.open(old)).toBe('kept');
  const fresh = both.renew(old)!;
  expect(openVault(today).open(fresh)).toBe('kept');
  expect(both.renew(fresh)).toBeUndefined();
  expect(() => vault.open(both.seal('x'))).toThrow('cannot be opened');
  expect(() => both.renew(openVault(randomBytes(32)).seal('x'))).toThrow('cannot be opened');
});

test('secrets of different lengths can be compared', () => {
  expect(equalSecrets('a', 'a')).toBe(true);
  expect(equalSecrets('a', 'ab')).toBe(false);
});

test('base62 text uses each of its characters about equally often', () => {
  const counts = new Map<string, number>();
  for (const letter of randomBase62(62_000)) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect(counts.size).toBe(62);
  for (const count of counts.values()) expect(Math.abs(count - 1000)).toBeLessThan(250);
});
