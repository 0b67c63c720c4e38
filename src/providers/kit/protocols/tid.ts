import { randomInt } from 'node:crypto';

const ALPHABET = '234567abcdefghijklmnopqrstuvwxyz';

/**
 * Makes a record key of the AT Protocol: 13 characters that sort by time, of microseconds since 1970 and ten random
 * bits.
 */
export function newTid(now: Date): string {
  let bits = (BigInt(now.getTime()) * 1000n + BigInt(randomInt(1000))) * 1024n + BigInt(randomInt(1024));
  let text = '';
  for (let n = 0; n < 13; n += 1) {
    text = ALPHABET[Number(bits & 31n)]! + text;
    bits >>= 5n;
  }
  return text;
}
