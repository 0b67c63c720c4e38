import type { Fragment, Sql } from '../../../../platform/db/index.ts';
import { owed } from '../../bulk.ts';
import { overLimit, paused } from '../../state.ts';

/**
 * The row `alias` is paused though its channel `c` works: it was too late when that worked again, and a person decides
 * (S135). It waits neither for a brake nor for a payment or for room in the plan.
 */
export const isLeftPaused = (sql: Sql, alias: string): Fragment => sql`(
            ${paused(sql, alias)}
            and not ${sql(alias)}.on_brake
            and not c.disabled
            and not c.refresh_needed
            and not ${overLimit(sql, alias)}
            and not (select ${owed(sql, alias)} from policy)
            and ( -- one that was paused while this waited for the lock waits for what the snapshot does not show
              select o.detail
              from posts o
              where o.org_id = ${sql(alias)}.org_id
                and o.id = ${sql(alias)}.id
            ) = 'paused'
          )`;
