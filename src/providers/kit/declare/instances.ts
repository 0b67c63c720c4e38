import { type Clock, sha256Hex } from '../../../platform/kernel/index.ts';
import type { Use } from './line.ts';

interface Triple {
  domain: string;
  id: string;
  version: string;
}

/**
 * What was opened lately, one for each provider version, owner and fingerprint of the credentials (VE21): other credentials
 * never meet an instance of the ones before them. Each is opened anew after `forMs`, and the oldest go beyond `most`.
 */
export interface Instances {
  get<T extends object>(triple: Triple, use: Use, open: () => T): T;
  /** Drops what this owner has open with a provider, of any version: its settings were changed (VE22). */
  forget(provider: Pick<Triple, 'domain' | 'id'>, orgId: string | null): void;
  readonly size: number;
}

const fingerprint = (values: Use['values']): string => sha256Hex(JSON.stringify(Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1))));

export function openInstances({ clock, forMs, most }: { clock: Clock; forMs: number; most: number }): Instances {
  const known = new Map<string, { until: number; owner: string; instance: object }>();
  const ownerOf = ({ domain, id }: Pick<Triple, 'domain' | 'id'>, orgId: string | null) => `${domain}/${id} ${orgId ?? ''}`;

  return {
    get<T extends object>(triple: Triple, { orgId, values }: Use, open: () => T): T {
      const now = clock.monotonic();
      for (const [key, { until }] of known) {
        if (until > now) break; // in the order of their making, so of their end
        known.delete(key);
      }
      const key = `${triple.domain}/${triple.id}@${triple.version} ${orgId ?? ''} ${fingerprint(values)}`;
      const found = known.get(key);
      if (found) return found.instance as T; // what `open` of this key made
      const instance = open();
      known.set(key, { until: now + forMs, owner: ownerOf(triple, orgId), instance });
      if (known.size > most) known.delete(known.keys().next().value!);
      return instance;
    },
    forget(provider, orgId) {
      const owner = ownerOf(provider, orgId);
      for (const [key, one] of known) if (one.owner === owner) known.delete(key);
    },
    get size() {
      return known.size;
    },
  };
}
