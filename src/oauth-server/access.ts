import { lastUsed } from '../people/auth/index.ts';
import { briefLookups } from '../platform/cache/index.ts';
import type { Database } from '../platform/db/index.ts';
import { AppError, type Clock, sha256Hex } from '../platform/kernel/index.ts';
import type { Surface } from './surfaces.ts';
import { noteApprovals } from './store.ts';
import { findTokenHolders, holderOfToken, type TokenHolder } from './token-store.ts';

/** Access tokens as credentials. */
export interface Access extends AsyncDisposable {
  /**
   * Whom a token stands for; throws `invalid_token` alike for unknown, malformed, revoked, expired ones and those for
   * another surface. What changes elsewhere is seen within a second.
   */
  authenticate(token: string, surface?: Surface): Promise<TokenHolder>;
  /**
   * Whom tokens stand for that are for no surface, or for this one, by their ids and in their order; undefined for one
   * that is dead.
   */
  findHolders(ids: readonly string[], surface?: Surface): Promise<(TokenHolder | undefined)[]>;
  /** Tokens or what they depend on have changed in this process. */
  forgetAll(): void;
  /** Writes the notes of last use that are waiting. */
  flush(): Promise<void>;
}

const FORM = /^pos_[0-9A-Za-z]{43}$/;
const invalid = () => new AppError('invalid_token', 'Invalid OAuth token');

export function openAccess({
  sql,
  clock,
  failed,
}: {
  sql: Database;
  clock: Clock;
  failed: (error: unknown) => void;
}): Access {
  const uses = lastUsed<{ authorizationId: string; orgId: string; at: Date }>({
    clock,
    failed,
    write: (notes) => noteApprovals(sql, notes),
  });
  const holders = briefLookups<TokenHolder>({ clock, look: (hash) => holderOfToken(sql, hash) });

  return {
    async authenticate(token, surface) {
      const holder = FORM.test(token) ? await holders.get(sha256Hex(token)) : undefined;
      const now = clock.now();
      if (!holder || holder.expiresAt <= now || (holder.resource !== null && holder.resource !== surface))
        throw invalid();
      uses.note(holder.authorizationId, { authorizationId: holder.authorizationId, orgId: holder.orgId, at: now });
      return holder;
    },
    findHolders: async (ids, surface) => (ids.length === 0 ? [] : findTokenHolders(sql, ids, surface)),
    forgetAll: () => holders.forget(),
    flush: () => uses.flush(),
    [Symbol.asyncDispose]() {
      holders.forget();
      return uses[Symbol.asyncDispose]();
    },
  };
}
