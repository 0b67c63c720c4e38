import { argon2, type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import { openLimiter } from '../../platform/flow/index.ts';
import { invalidField } from '../../platform/kernel/index.ts';

const argon2id = promisify(argon2) as (algorithm: 'argon2id', parameters: Argon2Parameters) => Promise<Buffer>;

// The least that OWASP recommends for Argon2id. What is raised here reaches stored hashes at the next login.
const MEMORY = 19_456; // KiB
const PASSES = 2;
const TAG = 32;
const COST = `$argon2id$v=19$m=${MEMORY},t=${PASSES},p=1$`;
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,88})\$([A-Za-z0-9+/]{22,88})$/;
const text = (bytes: Buffer) => bytes.toString('base64').replace(/={1,2}$/, '');

// Hashes run on the four threads of libuv, where names are resolved and files are read, too. Two at a time leave those
// two threads, and hold 38 MiB however many log in at once; two hundred in wait are two to four seconds of work.
const IN_WAIT = 200;
const limiter = openLimiter({ total: 2, waiting: IN_WAIT, waitingOfOne: IN_WAIT });

async function hash(parameters: Argon2Parameters): Promise<Buffer> {
  using _ = await limiter.enter('');
  return await argon2id('argon2id', parameters);
}

/** Argon2id of a password as a PHC string, with a fresh salt. Throws `busy` when too many wait. */
export async function hashPassword(password: string): Promise<string> {
  const nonce = randomBytes(16);
  const tag = await hash({ message: password, nonce, parallelism: 1, tagLength: TAG, memory: MEMORY, passes: PASSES });
  return `${COST}${text(nonce)}$${text(tag)}`;
}

/** `hashPassword` of a password that somebody chose; 400 at `password` where nobody may choose it. */
export type ChosenPasswordHash = typeof hashPassword;

/** Refuses the passwords of a list, whatever their case, and hashes the others. */
export function hashChosen(refused: readonly string[]): ChosenPasswordHash {
  const known = new Set(refused.map((password) => password.toLowerCase()));
  return async (password) => {
    if (known.has(password.toLowerCase()))
      throw invalidField('password', 'is on the list of passwords that nobody may choose here');
    return hashPassword(password);
  };
}

/**
 * Tells whether the password made this PHC string; a string of another form matches nothing. Throws `busy` when too
 * many wait.
 */
export async function verifyPassword(password: string, phc: string): Promise<boolean> {
  const parts = PHC.exec(phc);
  if (!parts) return false;
  const [, memory, passes, parallelism, salt, tag] = parts;
  const expected = Buffer.from(tag!, 'base64');
  const actual = await hash({
    message: password,
    nonce: Buffer.from(salt!, 'base64'),
    parallelism: Number(parallelism),
    tagLength: expected.length,
    memory: Number(memory),
    passes: Number(passes),
  });
  return timingSafeEqual(actual, expected);
}

/** Tells whether a stored hash was made at another cost than today's. */
export const isOutdated = (phc: string): boolean => !phc.startsWith(COST);

/** The hash of no password, verified against when the account is unknown, so that both take the same time. */
export const NOBODY = `${COST}${text(Buffer.alloc(16))}$${text(Buffer.alloc(TAG))}`;
