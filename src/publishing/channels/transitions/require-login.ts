import type { Database } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { pausePosts } from '../../posts/index.ts';
import { channelFact, clearedDueTime, factColumns, withLockedChannel } from './locked-channel.ts';

/**
 * A person must log in again (S137). False: already known, deleted, or `seen` is given and no longer the login in use.
 */
export function requireLogin(
  database: Database,
  orgId: string,
  id: string,
  reason: string,
  seen?: string,
): Promise<boolean> {
  return withLockedChannel(database, orgId, { id }, async (sql) => {
    const rows = await sql`
      with channel as (
        update channels
        set refresh_needed = true, refresh_reason = ${reason}, refresh_claim = null, refresh_until = null,
          ${clearedDueTime(sql)}
        where org_id = ${orgId}
          and id = ${id}
          and deleted_at is null
          and not refresh_needed
          ${seen === undefined ? sql`` : sql`and credentials = ${seen}`}
        returning ${factColumns(sql)}
      ), ${pausePosts(sql, 'The channel needs a new login')}, ${announce(sql, {
        'channel.refresh_needed': {
          from: sql`channel`,
          payload: { ...channelFact(sql), reason: sql`${reason}::text` },
        },
      })}
      select id
      from channel`;
    return rows.length > 0;
  });
}
