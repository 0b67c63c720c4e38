import type { Clock } from '../../../platform/kernel/index.ts';
import { accountKey, ownerKey, type Triple } from './instances.ts';
import type { HeldToken, HeldTokens, Use } from './line.ts';

/**
 * Access tokens beside the connections that use them: a connection is replaced long before a token expires. Each belongs
 * to one provider version, owner and fingerprint of the credentials, as a connection does. Expired ones are deleted when
 * another is kept; beyond `most` the oldest is dropped.
 */
export interface TokenStore {
  of(triple: Triple, use: Use): HeldTokens;
  /** Drops the tokens of this owner at a provider, of any version. */
  forget(provider: Pick<Triple, 'domain' | 'id'>, orgId: string | null): void;
  readonly size: number;
}

export function openTokenStore({ clock, most }: { clock: Clock; most: number }): TokenStore {
  const known = new Map<string, { owner: string; held: HeldToken }>();

  function set(key: string, owner: string, held: HeldToken): void {
    const now = clock.monotonic();
    for (const [other, one] of known) if (one.held.until <= now) known.delete(other);
    known.delete(key); // a Map keeps the place of a key that it knows
    known.set(key, { owner, held });
    if (known.size > most) known.delete(known.keys().next().value!);
  }
  return {
    of(triple, use) {
      const account = accountKey(triple, use);
      const owner = ownerKey(triple, use.orgId);
      const keyOf = (address: string) => `${account} ${address}`;
      return {
        get: (address) => known.get(keyOf(address))?.held,
        set: (address, held) => set(keyOf(address), owner, held),
        delete: (address) => known.delete(keyOf(address)),
      };
    },
    forget(provider, orgId) {
      const owner = ownerKey(provider, orgId);
      for (const [key, one] of known) if (one.owner === owner) known.delete(key);
    },
    get size() {
      return known.size;
    },
  };
}
