import type { Database } from '../../platform/db/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import type { CatalogEntry, Outcome, Providers } from '../registry/index.ts';
import { openCounts } from './counts.ts';
import { type Featured, openFeatured } from './featured.ts';
import { addTallies, allTallies, type Tally } from './health-store.ts';

/** Counts the outcomes of calls; opened before the providers that report them. */
export interface CallCounts extends AsyncDisposable {
  note(outcome: Outcome): void;
  /** Answers the tallies of every version that was ever called, with this process's latest calls. */
  tallies(): Promise<readonly Tally[]>;
}

export function openCallCounts({
  sql,
  clock,
  failed,
}: {
  sql: Database;
  clock: Clock;
  failed: (error: unknown) => void;
}): CallCounts {
  const counts = openCounts({ clock, failed, write: (tallies) => addTallies(sql, tallies) });
  return {
    note: counts.note,
    async tallies() {
      await counts.flush();
      return allTallies(sql);
    },
    [Symbol.asyncDispose]: () => counts[Symbol.asyncDispose](),
  };
}

export interface HealthView {
  entry: CatalogEntry;
  /** Undefined for a version that was never called. */
  tally: Tally | undefined;
}

/** The registered providers as people see them: catalog entries, featured ones, health. */
export interface ProviderCatalog {
  readonly featured: Featured;
  /** Lists the entries, of one domain when given: 400 `unknown_domain`. Featured ones first, then by name. */
  list(domain?: string): Promise<readonly CatalogEntry[]>;
  /** Lists every registered version, in the same order. */
  health(domain?: string): Promise<readonly HealthView[]>;
}

interface Options {
  sql: Database;
  providers: Pick<Providers, 'list' | 'catalog'>;
  calls: Pick<CallCounts, 'tallies'>;
}

export function openProviderCatalog({ sql, providers, calls }: Options): ProviderCatalog {
  const featured = openFeatured({ sql, providers });
  const list = async (domain?: string) => providers.catalog(domain, await featured.orders());
  return {
    featured,
    list,
    async health(domain) {
      const [entries, tallies] = await Promise.all([list(domain), calls.tallies()]);
      const known = new Map(tallies.map((tally) => [`${tally.domain}/${tally.providerId}@${tally.version}`, tally]));
      return entries.map((entry) => ({
        entry,
        tally: known.get(`${entry.domain}/${entry.providerId}@${entry.version}`),
      }));
    },
  };
}
