import type { AuditActor } from '../../../platform/audit/index.ts';
import type { Database } from '../../../platform/db/index.ts';
import { announce } from '../../../platform/outbox/index.ts';
import { dropPosts } from '../../posts/index.ts';
import { auditChannel, channelFact, clearedDueTime, factColumns, withLockedChannel } from './locked-channel.ts';

/** Deletes a channel with its unpublished posts (S136). False: it is deleted already. */
export function remove(database: Database, orgId: string, id: string, by?: AuditActor): Promise<boolean> {
  return withLockedChannel(database, orgId, { id }, async (sql) => {
    const rows = await sql`
      with channel as (
        update channels
        set deleted_at = now(), ${clearedDueTime(sql)}
        where org_id = ${orgId}
          and id = ${id}
          and deleted_at is null
        returning ${factColumns(sql)}
      ), ${dropPosts(sql, 'The channel was deleted')}, ${announce(sql, {
        'channel.deleted': { from: sql`channel`, payload: { ...channelFact(sql), reason: sql`'person'` } },
      })}
      select id
      from channel`;
    if (rows.length > 0) await auditChannel(sql, orgId, by, 'deleted', id);
    return rows.length > 0;
  });
}
