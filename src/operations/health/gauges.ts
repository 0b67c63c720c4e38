import type { Cache } from '../../platform/cache/index.ts';
import type { Database } from '../../platform/db/index.ts';
import type { Posts } from '../../publishing/posts/index.ts';
import type { Metrics } from '../../platform/telemetry/index.ts';

interface Rooms {
  sql: Database;
  posts: Pick<Posts, 'gauges'>;
  cache: Pick<Cache, 'health'>;
}

/** Numbers that stand in the rooms. The outbox is counted to a bound: beyond it the exact number says nothing more. */
export function measureRooms(metrics: Metrics, { sql, posts, cache }: Rooms): void {
  metrics.gauge('provider_calls', 'Provider calls of this process.', () => ({ under_way: posts.gauges.inFlight, waiting: posts.gauges.waiting }), 'state');
  metrics.gauge('cache_away', '1 while a cache that was configured cannot be reached.', () => (cache.health().awaySince ? 1 : 0));
  metrics.gauge('outbox_waiting', 'Rows that the relay has not dealt out, up to 10,000.', async () => {
    const [row] = await sql<{ n: number }[]>`select count(*)::int as n from (select from outbox /* all orgs */ where refused is null limit 10000) waiting`;
    return row!.n;
  });
  metrics.gauge(
    'database_connections',
    'Connections of all processes of this service, by what they do.',
    async () => {
      const rows = await sql<{ state: string; n: number }[]>`
      select coalesce(state, 'unknown') as state, count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'rookery' group by 1`;
      return Object.fromEntries(rows.map(({ state, n }) => [state, n]));
    },
    'state',
  );
}
