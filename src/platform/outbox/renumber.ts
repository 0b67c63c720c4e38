import type { Database } from '../db/index.ts';

/**
 * Numbers facts and cursors anew in a database that was restored from a dump. Its transaction numbers are those of
 * another cluster and may lie ahead of this one's: new facts would stand behind every cursor and be deleted unheard.
 * What every listener has heard is deleted before; of the rest a listener may hear a fact a second time.
 */
export const renumber = (sql: Database): Promise<unknown> =>
  sql.begin(async (tx) => {
    await tx`lock table outbox_cursors in share row exclusive mode`; // of processes that start together one does it
    const [cursor] = await tx`/* all orgs */
      select from outbox_cursors
      where greatest(since, until) > pg_snapshot_xmax(pg_current_snapshot())
      limit 1`;
    if (!cursor) return;
    await tx`/* all orgs */
      delete from outbox o
      where o.txid >= pg_snapshot_xmax(pg_current_snapshot())
        and not exists (
          select from outbox_cursors c
          where o.txid >= c.since
            and (o.txid >= c.until or o.id > c.id)
        )`; // a smaller number may be that of a fact of this cluster
    await tx`/* all orgs */ update outbox set txid = pg_current_xact_id()`;
    await tx`/* all orgs */ update outbox_cursors set since = '0', until = '0', id = 0`;
  });
