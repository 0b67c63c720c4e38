import { type Clock, sha256Hex } from '../../../platform/kernel/index.ts';
import type { Use } from './line.ts';

export interface Triple {
  domain: string;
  id: string;
  version: string;
}

/**
 * Open connections, one for each provider version, owner and fingerprint of the credentials (VE21), so that new
 * credentials never use a connection of old ones. A connection is replaced after `forMs`; beyond `most` the oldest is
 * dropped.
 */
export interface Instances {
  get<T extends object>(triple: Triple, use: Use, open: () => T): T;
  /** Drops the connections of this owner to a provider, of any version, after its settings were changed (VE22). */
  forget(provider: Pick<Triple, 'domain' | 'id'>, orgId: string | null): void;
  readonly size: number;
}

const fingerprint = (values: Use['values']): string =>
  sha256Hex(JSON.stringify(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1))));

/** Names the owner of what is kept for a provider, of any version. */
export const ownerKey = ({ domain, id }: Pick<Triple, 'domain' | 'id'>, orgId: string | null): string =>
  `${domain}/${id} ${orgId ?? ''}`;
/** Names an account: a provider version, its owner and the credentials. */
export const accountKey = ({ domain, id, version }: Triple, { orgId, values }: Use): string =>
  `${domain}/${id}@${version} ${orgId ?? ''} ${fingerprint(values)}`;

export function openInstances({ clock, forMs, most }: { clock: Clock; forMs: number; most: number }): Instances {
  const known = new Map<string, { until: number; owner: string; instance: object }>();

  return {
    get<T extends object>(triple: Triple, use: Use, open: () => T): T {
      const now = clock.monotonic();
      for (const [key, { until }] of known) {
        if (until > now) break; // a Map keeps insertion order, which is the order of expiry
        known.delete(key);
      }
      const key = accountKey(triple, use);
      const found = known.get(key);
      if (found) return found.instance as T; // made by `open` under the same key
      const instance = open();
      known.set(key, { until: now + forMs, owner: ownerKey(triple, use.orgId), instance });
      if (known.size > most) known.delete(known.keys().next().value!);
      return instance;
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
