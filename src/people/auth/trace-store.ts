import { forgetOldCallers } from '../../platform/audit/index.ts';
import type { Database } from '../../platform/db/index.ts';

/**
 * Forgets address and agent of users who came, of sessions that were last used, and of acts in the audit log, `days`
 * ago; at most `limit` of each. Answers how many of the more. Users and sessions that somebody holds wait for the next
 * time, so that nobody waits here for another.
 */
export async function forgetTraces(sql: Database, days: number, limit: number): Promise<number> {
  const users = await sql`
    update users
    set ip = null, agent = null
    where id in (
      select id
      from users
      where (ip is not null or agent is not null)
        and created_at < now() - make_interval(days => ${days})
      order by created_at
      limit ${limit}
      for no key update skip locked
    )
    returning 1`;
  const sessions = await sql`
    update sessions
    set ip = '', user_agent = ''
    where id in (
      select id
      from sessions
      where (ip <> '' or user_agent <> '')
        and last_used_at < now() - make_interval(days => ${days})
      order by last_used_at
      limit ${limit}
      for no key update skip locked
    )
    returning 1`;
  return Math.max(users.length, sessions.length, await forgetOldCallers(sql, days, limit));
}
