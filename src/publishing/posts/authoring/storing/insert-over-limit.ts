import { LOCKED } from '../../../../platform/db/index.ts';
import { busy } from '../../../../platform/kernel/index.ts';
import { announce } from '../../../../platform/outbox/index.ts';
import type { PostsDeps } from '../../deps.ts';
import { pausedFact, timeline, withChannel } from '../../journal.ts';
import { post } from '../../row.ts';
import type { Create } from '../input.ts';
import { insertAll } from './insert.ts';
import { looksForRoomLater } from './room.ts';

const RETRY_MS = 500;

/**
 * Stores a post that the plan has no room for: it waits, and its timeline says why. What is there already stays as it
 * is.
 */
export async function insertOverLimit(deps: PostsDeps, orgId: string, create: Create, reason: string): Promise<void> {
  const committed = await deps.sql.begin(async (sql) => {
    const { admitted, earlier } = await insertAll(deps, sql, [{ orgId, create, waitsForRoom: true }]);
    const [stored] = admitted;
    if (stored === LOCKED || stored === undefined) throw busy(RETRY_MS); // somebody has the channel: the scan comes again
    if (stored.refused) throw stored.refused;
    await sql`
      with paused as (
        update posts p
        set detail = 'paused', on_brake = false, error_kind = 'billing_required', error = ${reason},
          ${looksForRoomLater(sql)}, updated_at = now()
        where p.org_id = ${orgId}
          and p.id = ${create.posts[0]!.id}
          and p.state = 'QUEUE'
          and p.created_at = now() -- stored here: one that was there already has been let in or paused
        returning ${post.names(sql, 'fact', 'p')}
      ), ${timeline(sql, {
        from: sql`paused`,
        kind: 'paused',
        message: 'The plan has no room for this post',
        data: sql`jsonb_build_object('reason', 'billing')`,
      })}, ${announce(sql, {
        'post.paused': { from: withChannel(sql, sql`paused`), payload: pausedFact(sql, sql`'billing'`) },
      })}
      select 1`;
    // the row of the channel says that it is set, and a post behind this one relies on it
    return earlier.length > 0 ? deps.reminders.within(sql, earlier) : undefined;
  });
  committed?.();
}
