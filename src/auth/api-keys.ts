import type { Database } from '../db/index.ts';
import { AppError, type Clock, invalidField, newId, notFound, randomBase62, sha256, sha256Hex } from '../kernel/index.ts';
import * as store from './api-key-store.ts';
import { lastUsed } from './last-used.ts';

export type { ApiKeyRow } from './api-key-store.ts';

/** Shown once. */
export interface MadeKey {
  plaintext: string;
  prefix: string;
  name: string;
}

export interface ApiKeys extends AsyncDisposable {
  list(orgId: string, userId: string): Promise<readonly store.ApiKeyRow[]>;
  create(orgId: string, userId: string, key: { name: string; expiresAt?: Date | null | undefined }): Promise<MadeKey>;
  /** A new key in the place of an old one, which dies in the same commit; `name` absent keeps the old name, `expiresAt` is not inherited. */
  rotate(orgId: string, userId: string, id: string, key: { name?: string | undefined; expiresAt?: Date | null | undefined }): Promise<MadeKey>;
  revoke(orgId: string, userId: string, id: string): Promise<void>;
  /** Whom a key stands for; throws `invalid_api_key` alike for unknown, malformed, revoked and expired ones. What changes elsewhere is seen within a second. */
  authenticate(key: string): Promise<store.KeyHolder>;
}

const FORM = /^pm_live_[0-9A-Za-z]{43}$/;
const PREFIX_LENGTH = 'pm_live_'.length + 4;
const LIVE_KEYS = 50;
const FRESH_MS = 900;
const REMEMBERED = 20_000;

const invalid = () => new AppError('invalid_api_key', 'Invalid API key');

interface Known {
  until: number;
  holder: Promise<store.KeyHolder | undefined>;
}

export function openApiKeys({ sql, clock, failed }: { sql: Database; clock: Clock; failed: (error: unknown) => void }): ApiKeys {
  const uses = lastUsed<store.KeyUse>({ clock, failed, write: (notes) => store.noteKeys(sql, notes) });
  // Unknown keys have a cache of their own, so that guessing does not push out the keys in use.
  const known = new Map<string, Known>();
  const unknown = new Map<string, Known>();

  const bounded = (cache: Map<string, Known>, hash: string, entry: Known) => {
    cache.delete(hash);
    cache.set(hash, entry);
    if (cache.size > REMEMBERED) cache.delete(cache.keys().next().value!);
  };

  async function look(hash: string): Promise<store.KeyHolder | undefined> {
    const now = clock.monotonic();
    const cached = known.get(hash) ?? unknown.get(hash);
    if (cached && cached.until > now) return cached.holder;
    const entry: Known = { until: now + FRESH_MS, holder: store.holderOfKey(sql, hash) };
    const cache = known.has(hash) ? known : unknown;
    bounded(cache, hash, entry);
    try {
      const holder = await entry.holder;
      const right = holder ? known : unknown;
      if (right !== cache && cache.get(hash) === entry) {
        cache.delete(hash);
        bounded(right, hash, entry);
      }
      return holder;
    } catch (error) {
      if (cache.get(hash) === entry) cache.delete(hash); // a database that was away is asked again
      throw error;
    }
  }

  const forget = (keyHash: Buffer) => {
    known.delete(keyHash.toString('hex'));
    unknown.delete(keyHash.toString('hex'));
  };

  function make(name: string, expiresAt: Date | null | undefined): { row: store.NewApiKey; made: MadeKey } {
    if (expiresAt && expiresAt <= clock.now()) throw invalidField('expiresAt', 'expiresAt: must lie in the future', 'too_small');
    const plaintext = `pm_live_${randomBase62(43)}`;
    const prefix = plaintext.slice(0, PREFIX_LENGTH);
    return { row: { id: newId(), name, prefix, keyHash: sha256(plaintext), expiresAt: expiresAt ?? null }, made: { plaintext, prefix, name } };
  }

  return {
    async list(orgId, userId) {
      await uses.flush();
      return store.keysOf(sql, orgId, userId);
    },

    async create(orgId, userId, { name, expiresAt }) {
      const { row, made } = make(name, expiresAt);
      await sql.begin(async (tx) => {
        await store.lockMember(tx, orgId, userId);
        if ((await store.countLiveKeys(tx, orgId, userId)) >= LIVE_KEYS)
          throw new AppError('invalid_request', `At most ${LIVE_KEYS} live API keys are possible: revoke one first`);
        await store.insertKey(tx, orgId, userId, row);
      });
      return made;
    },

    async rotate(orgId, userId, id, { name, expiresAt }) {
      const rotated = await sql.begin(async (tx) => {
        const old = await store.keyForUpdate(tx, orgId, userId, id);
        if (!old) throw notFound();
        if (old.revoked) throw new AppError('conflict', 'This API key is revoked already');
        const { row, made } = make(name ?? old.name, expiresAt);
        await store.revokeKey(tx, orgId, userId, id);
        await store.insertKey(tx, orgId, userId, row);
        return { old: old.keyHash, made };
      });
      forget(rotated.old);
      return rotated.made;
    },

    async revoke(orgId, userId, id) {
      const old = await store.keyForUpdate(sql, orgId, userId, id);
      if (!old) throw notFound();
      await store.revokeKey(sql, orgId, userId, id);
      forget(old.keyHash);
    },

    async authenticate(key) {
      const holder = FORM.test(key) ? await look(sha256Hex(key)) : undefined;
      const now = clock.now();
      if (!holder || (holder.expiresAt && holder.expiresAt <= now)) throw invalid();
      uses.note(holder.apiKeyId, { apiKeyId: holder.apiKeyId, orgId: holder.orgId, at: now });
      return holder;
    },

    [Symbol.asyncDispose]: () => uses[Symbol.asyncDispose](),
  };
}
