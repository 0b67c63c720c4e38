import type { Sql } from '../db/index.ts';

/** Forgets address and agent of users who came, and of sessions that were last used, `days` ago; at most `limit` of each. Answers how many of the more. Rows that somebody holds wait for the next time, so that nobody waits here for another. */
export async function forgetTraces(sql: Sql, days: number, limit: number): Promise<number> {
  const users = await sql`
    update users set ip = null, agent = null where id in (
      select id from users where (ip is not null or agent is not null) and created_at < now() - make_interval(days => ${days}) order by created_at limit ${limit} for no key update skip locked
    ) returning 1`;
  const sessions = await sql`
    update sessions set ip = '', user_agent = '' where id in (
      select id from sessions where (ip <> '' or user_agent <> '') and last_used_at < now() - make_interval(days => ${days}) order by last_used_at limit ${limit} for no key update skip locked
    ) returning 1`;
  return Math.max(users.length, sessions.length);
}
