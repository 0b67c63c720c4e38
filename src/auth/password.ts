import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';

const hash = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>;

const MEMORY = 19_456; // KiB
const PASSES = 2;
const TAG = 32;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,88})\$([A-Za-z0-9+/]{22,88})$/;
const text = (bytes: Buffer) => bytes.toString('base64').replace(/=+$/, '');

/** Argon2id of a password as a PHC string, with a fresh salt. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await hash('argon2id', { message: password, nonce, parallelism: 1, tagLength: TAG, memory: MEMORY, passes: PASSES });
  return `$argon2id$v=19$m=${MEMORY},t=${PASSES},p=1$${text(nonce)}$${text(tag)}`;
}

/** Whether the password made this PHC string; a string of another form matches nothing. */
export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const parts = PHC.exec(phc);
  if (!parts) return false;
  const [, memory, passes, parallelism, salt, tag] = parts;
  const expected = Buffer.from(tag!, 'base64');
  const actual = await hash('argon2id', {
    message: password,
    nonce: Buffer.from(salt!, 'base64'),
    parallelism: Number(parallelism),
    tagLength: expected.length,
    memory: Number(memory),
    passes: Number(passes),
  });
  return timingSafeEqual(actual, expected);
}

/** Of no password. Verified against when the account is unknown, so that both take the same time. */
export const NOBODY = `$argon2id$v=19$m=${MEMORY},t=${PASSES},p=1$${text(Buffer.alloc(16))}$${text(Buffer.alloc(TAG))}`;
