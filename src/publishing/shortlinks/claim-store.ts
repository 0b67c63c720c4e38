import type { Fragment, Sql } from '../../platform/db/index.ts';
import { queued } from '../posts/index.ts';
import { isLeft } from './store.ts';

/** A link that whoever claimed this row may ask for, until `ask_at`. Results are conditional on the attempt. */
export interface Claimed {
  id: string;
  orgId: string;
  postId: string;
  url: string;
  attempt: number;
  /** The provider that an earlier asker, who fell silent, had asked: a link may have been made. */
  doubtful: { providerId: string; providerVersion: string } | null;
}

/** A link whose asker fell silent may have been made at the provider `l` names. */
const doubtful = (sql: Sql): Fragment => sql`l.state = 'asking' and l.provider_id is not null`;

/** What whoever claimed a link is told, from its row `l` and `before`, which holds the provider asked before. */
const claimedLink = (sql: Sql, before: string): Fragment => sql`
  l.id, l.org_id as "orgId", l.post_id as "postId", l.url, l.attempt,
  case
    when ${sql(before)}.doubtful
    then json_build_object('providerId', ${sql(before)}.provider_id, 'providerVersion', ${sql(before)}.provider_version)
    end as doubtful`;

/**
 * Claims links that are due, of posts that wait for their time. What is due of another post is not looked at again
 * before it is scheduled. Nobody waits for a row that somebody else has.
 */
export const claimDue = async (
  sql: Sql,
  { limit, leaseSeconds }: { limit: number; leaseSeconds: number },
): Promise<Claimed[]> => {
  const rows = await sql<(Claimed & { wanted: boolean })[]>`
    /* all orgs */
    with due as materialized (
      select l.id, l.post_id, l.org_id, ${doubtful(sql)} as doubtful, l.provider_id, l.provider_version
      from short_links l
      where l.state in ('waiting', 'asking')
        and l.ask_at <= now()
      order by l.ask_at
      limit ${limit}
      for no key update
      skip locked
    ), judged as (
      select d.*, ${isWanted(sql)} as wanted
      from due d
    )
    update short_links l
    set state = case when j.wanted then 'asking' else l.state end,
      attempt = l.attempt + j.wanted::int,
      ask_at = case when j.wanted then now() + ${leaseSeconds} * interval '1 second' else 'infinity' end,
      provider_id = case when not j.wanted then l.provider_id end,
      provider_version = case when not j.wanted then l.provider_version end
    from judged j
    where l.id = j.id
    returning ${claimedLink(sql, 'j')}, j.wanted`;
  return rows.filter(({ wanted }) => wanted);
};

/** Whether the post of the due link `d` waits for its time. */
const isWanted = (sql: Sql): Fragment => sql`
      exists (
        select
        from posts p
        where p.id = d.post_id
          and p.org_id = d.org_id
          and ${queued(sql)}
          and p.deleted_at is null
      )`;

/**
 * Claims the links of a post that is about to go out and that nobody asks for now. Those that are to be asked for later
 * are left; those that were put off until their post is scheduled are not.
 */
export const claimOfPost = (sql: Sql, orgId: string, postId: string, leaseSeconds: number) => sql<Claimed[]>`
  with open as materialized (
    select l.id, ${doubtful(sql)} as doubtful, l.provider_id, l.provider_version
    from short_links l
    where l.org_id = ${orgId}
      and l.post_id = ${postId}
      and (
        l.state = 'waiting' and (l.attempt = 0 or l.ask_at <= now() or l.ask_at = 'infinity')
        or l.state = 'asking' and l.ask_at <= now()
        or ${isLeft(sql)}
      )
    order by l.id
    for no key update
  )
  update short_links l
  set state = 'asking', attempt = l.attempt + 1, ask_at = now() + ${leaseSeconds} * interval '1 second',
    provider_id = null, provider_version = null
  from open o
  where l.id = o.id
  returning ${claimedLink(sql, 'o')}`;
