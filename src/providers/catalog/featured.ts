import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, invalidField, notFound } from '../../platform/kernel/index.ts';
import { type Domain, knownDomain, type Providers } from '../registry/index.ts';
import * as store from './featured-store.ts';
import { SEED } from './seed.ts';

/** A row with the name of its provider, or its id where it is not registered here. */
export interface FeaturedView extends store.FeaturedRow {
  displayName: string;
}
export interface Featured {
  list(domain?: string): Promise<readonly FeaturedView[]>;
  put(
    entry: { domain: string; providerId: string; sortOrder?: number | undefined },
    by: AuditActor,
  ): Promise<FeaturedView>;
  remove(entry: { domain: string; providerId: string }, by: AuditActor): Promise<void>;
  /** Changes all rows or none; answers the rows of the domain. */
  reorder(
    domain: string,
    items: readonly { providerId: string; sortOrder: number }[],
    by: AuditActor,
  ): Promise<readonly FeaturedView[]>;
  /** Restores the seeded rows and their order; called at each start. */
  seed(): Promise<void>;
  /** Answers the order by `domain/id`, as the catalog expects it. */
  orders(): Promise<ReadonlyMap<string, number>>;
}

interface Options {
  sql: Database;
  providers: Pick<Providers, 'list'>;
}

export function openFeatured({ sql, providers }: Options): Featured {
  const registered = (domain: Domain, providerId: string) =>
    providers.list(domain).findLast(({ id }) => id === providerId);
  const view = (row: store.FeaturedRow): FeaturedView => ({
    ...row,
    displayName: registered(knownDomain(row.domain), row.providerId)?.title ?? row.providerId,
  });
  const note = (
    tx: Sql,
    by: AuditActor,
    action: string,
    domain: string,
    detail: Record<string, string | number | string[]>,
  ) => writeAudit(tx, by, { orgId: null, action, resource: 'providers', detail: { domain, ...detail } });

  return {
    list: async (domain) =>
      (await store.featuredRows(sql, domain === undefined ? undefined : knownDomain(domain))).map(view),

    put({ domain, providerId, sortOrder }, by) {
      if (!registered(knownDomain(domain), providerId))
        throw new AppError('unknown_version', `Unknown provider ${domain}/${providerId}`);
      return sql.begin(async (tx) => {
        await store.lockFeatured(tx);
        const row = await store.putFeatured(tx, domain, providerId, sortOrder);
        await note(tx, by, 'featured_provider.set', domain, { providerId, sortOrder: row.sortOrder });
        return view(row);
      });
    },

    remove: ({ domain, providerId }, by) =>
      sql.begin(async (tx) => {
        if (!(await store.removeFeatured(tx, knownDomain(domain), providerId)))
          throw notFound('This provider is not featured');
        await note(tx, by, 'featured_provider.removed', domain, { providerId });
      }),

    reorder(domain, items, by) {
      const known = knownDomain(domain);
      const twice = items.findIndex(
        ({ providerId }, n) => items.findIndex((other) => other.providerId === providerId) !== n,
      );
      if (twice >= 0) throw invalidField(`items.${twice}.providerId`, 'stands here twice', 'duplicate');
      return sql.begin(async (tx) => {
        await store.lockFeatured(tx);
        const found = new Set((await store.reorderFeatured(tx, known, items)).map(({ providerId }) => providerId));
        const missing = items.findIndex(({ providerId }) => !found.has(providerId));
        if (missing >= 0)
          throw invalidField(
            `items.${missing}.providerId`,
            `${domain}/${items[missing]!.providerId} is not featured`,
            'unknown_id',
          );
        await note(tx, by, 'featured_provider.reordered', domain, {
          order: items.map(({ providerId, sortOrder }) => `${sortOrder} ${providerId}`),
        });
        return (await store.featuredRows(tx, known)).map(view);
      });
    },

    async seed() {
      const rows = Object.entries(SEED).flatMap(([domain, ids]) =>
        ids.map((providerId, n) => ({ domain, providerId, sortOrder: n + 1 })),
      );
      await store.seedFeatured(sql, rows);
    },
    orders: async () =>
      new Map(
        (await store.featuredRows(sql)).map(({ domain, providerId, sortOrder }) => [
          `${domain}/${providerId}`,
          sortOrder,
        ]),
      ),
  };
}
