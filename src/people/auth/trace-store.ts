import { forgetOldCallers, oldCallers } from '../../platform/audit/index.ts';
import { type Database, oldRows, retentionRule, type Sql } from '../../platform/db/index.ts';

/** A user, and a session, `t` of which it is known from where they came. */
const isUserTraced = (sql: Sql) => sql`(t.ip is not null or t.agent is not null)`;
const isSessionTraced = (sql: Sql) => sql`(t.ip <> '' or t.user_agent <> '')`;
export const tracesRetention = retentionRule(
  'IP_RETENTION_DAYS', // RT10
  ['traces'],
  oldRows('users', 'created_at', isUserTraced).due,
  oldRows('sessions', 'last_used_at', isSessionTraced).due,
  oldCallers,
);

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
      select t.id
      from users t
      where ${isUserTraced(sql)}
        and t.created_at < now() - make_interval(days => ${days})
      order by t.created_at
      limit ${limit}
      for no key update skip locked
    )
    returning 1`;
  const sessions = await sql`
    update sessions
    set ip = '', user_agent = ''
    where id in (
      select t.id
      from sessions t
      where ${isSessionTraced(sql)}
        and t.last_used_at < now() - make_interval(days => ${days})
      order by t.last_used_at
      limit ${limit}
      for no key update skip locked
    )
    returning 1`;
  return Math.max(users.length, sessions.length, await forgetOldCallers(sql, days, limit));
}
