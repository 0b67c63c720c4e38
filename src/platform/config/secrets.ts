import { hkdfSync, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { encryptionKey, sha256, StartError } from '../kernel/index.ts';

export interface Secrets {
  jwt: string;
  encryptionKey: Buffer;
  /** Open what was sealed before the key was changed; nothing is sealed by them. */
  formerKeys: readonly Buffer[];
  webhookSigning: string;
  /** What processes of this instance know each other by when they call actors. */
  actorCalls: string;
  /** Of the hashes that rate limits keep in the place of addresses. */
  rateLimits: string;
}

const FILE = 'jwt-secret';

/**
 * The mode of a data folder that is made: its owner's. Root lets others through, not list: its Postgres runs as another
 * user.
 */
export const DATA_FOLDER_MODE = process.getuid?.() === 0 ? 0o711 : 0o700;

/** The secret that an earlier start made in this folder, if it can be read. */
export function keptSecret(folder: string): string | undefined {
  try {
    return readFileSync(join(folder, FILE), 'utf8').trim() || undefined;
  } catch {
    return undefined;
  }
}

/**
 * Outside production: one random secret per data folder, so that sessions and sealed values outlive a restart. Several
 * processes may ask at once.
 */
export function keepSecret(folder: string): string {
  const known = keptSecret(folder);
  if (known) return known;
  const draft = join(folder, `${FILE}.${process.pid}`);
  try {
    mkdirSync(folder, { recursive: true, mode: DATA_FOLDER_MODE });
    writeFileSync(draft, randomBytes(32).toString('hex'), { mode: 0o600 });
    linkSync(draft, join(folder, FILE)); // whole or not at all, and never over another's
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (code !== 'EEXIST' || syscall !== 'link')
      throw new StartError(
        `No secret can be kept in ${folder}. Set JWT_SECRET, or let DATA_FOLDER name a folder that can be written.`,
        { cause: error },
      );
  } finally {
    try {
      rmSync(draft, { force: true });
    } catch {
      // the folder cannot be used: the sentence above says so
    }
  }
  const kept = keptSecret(folder);
  if (!kept)
    throw new StartError(
      `The secret in ${join(folder, FILE)} cannot be read. Start as the user who owns it, or set JWT_SECRET.`,
    );
  return kept;
}

interface Given {
  jwt: string;
  key: string | undefined;
  previous: string | undefined;
  webhookSigning: string | undefined;
  production: boolean;
}

/** A key for one use, from which nobody finds the secret again. */
const ownKey = (secret: string, use: string): string =>
  Buffer.from(hkdfSync('sha256', secret, '', use, 32)).toString('hex');

/** The secrets of the service from what was given; the rules of the interface say what stands in for a missing one. */
export function deriveSecrets({ jwt, key, previous, webhookSigning, production }: Given): Secrets {
  return {
    jwt,
    encryptionKey: key === undefined ? sha256(jwt) : encryptionKey(key),
    // It was ENCRYPTION_KEY, or JWT_SECRET in its place: that is hashed whatever it looks like.
    formerKeys: previous === undefined ? [] : [encryptionKey(previous), sha256(previous)],
    // Receivers are told this key: in production it is never the one that signs sessions.
    actorCalls: ownKey(jwt, 'rookery actor calls'),
    rateLimits: ownKey(jwt, 'rookery rate limits'),
    webhookSigning: webhookSigning ?? (production ? ownKey(jwt, 'rookery webhook deliveries') : jwt),
  };
}
