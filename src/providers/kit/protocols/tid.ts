import { sha256 } from '../../../platform/kernel/index.ts';

const ALPHABET = '234567abcdefghijklmnopqrstuvwxyz';

/**
 * Makes a record key of the AT Protocol: 13 characters that sort by time, of microseconds since 1970 and ten bits more.
 * `name` is unique among what is made in one millisecond, and decides all that the clock does not tell.
 */
export function newTid(now: Date, name: string): string {
  const hash = sha256(name);
  const within = BigInt(hash.readUInt32BE(0) % 1_000);
  let bits = (BigInt(now.getTime()) * 1_000n + within) * 1_024n + BigInt(hash.readUInt32BE(4) % 1_024);
  let text = '';
  for (let n = 0; n < 13; n += 1) {
    text = ALPHABET[Number(bits & 31n)]! + text;
    bits >>= 5n;
  }
  return text;
}
