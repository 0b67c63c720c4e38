import { type Fragment, groupCommit, LOCKED, prepared, type Sql } from '../../platform/db/index.ts';
import { announce } from '../../platform/outbox/index.ts';
import { postFact, timeline, touchPosts, withChannel } from '../posts/index.ts';
import type { FollowUp } from './row.ts';
import type { FollowUpResult } from './rules.ts';

/** How long a follow-up waits until its channel is logged in and enabled again. */
const LOGIN_HOURS = 24;

/** `plugTitle`: for people; null of what is no plug. */
type Written = Pick<FollowUp, 'id' | 'orgId' | 'postId' | 'kind' | 'attempt' | 'incarnation'> & {
  plugTitle: string | null;
} & FollowUpResult;

/** Posts are locked before what follows them, as everywhere, and none is waited for: others lock many in no order. */
const write = prepared<{ input: string }, { n: number; written: boolean; locked: boolean; due: Date | null }>(
  (sql, value) => sql`
    with input as (${inputOf(sql, value('input'))}
    ), commented as materialized (
      select p.id
      from posts p
      where p.id in (select "postId" from input where kind = 'first_comment')
        and p.org_id in (select "orgId" from input)
      for no key update
      skip locked
    ), locked as materialized (
      select f.id
      from post_follow_ups f
      where f.id in (select id from input)
        and f.org_id in (select "orgId" from input)
        and (f.kind <> 'first_comment' or f.post_id in (select id from commented))
      order by f.id
      for no key update
    ), written as (${writeAll(sql)}
    ), ${touchPosts(sql, sql`(select * from written where follow_up = 'first_comment')`)}, ${timeline(sql, {
      from: sql`written where message is not null and follow_up <> 'reply'`,
      kind: sql`case follow_up when 'first_comment' then 'first_comment' else 'plug' end`,
      message: sql`message`,
      data: sql`nullif(coalesce(nullif(data, 'null'), '{}') || case
        when plug is null then '{}'
        else jsonb_build_object('plug', plug, 'integrationId', channel_id) end, '{}')`,
    })}, ${announceEnds(sql)}
    select i.n, w.n is not null as written, w.due_at as due, i.kind = 'first_comment'
        and i."postId" not in (select id from commented)
        and exists (select from posts p where p.id = i."postId" and p.org_id = i."orgId") as locked
    from input i
    left join written w on w.n = i.n`,
);

/**
 * Writes what became of follow-ups, with timeline and facts in one commit, each while the row is still the attempt's
 * and the host's own; answers when the next step is due (null: none), or undefined where it is another's.
 */
export const writeResult = groupCommit(
  async (sql: Sql, results: readonly Written[]): Promise<({ due: Date | null } | undefined | typeof LOCKED)[]> => {
    const input = results.map((one, n) => ({ ...one, n }));
    const rows = await write(sql, { input: JSON.stringify(input) });
    const found = new Map(rows.map((row) => [row.n, row]));
    return results.map((_, n) => {
      const { written, locked, due } = found.get(n)!; // a row for each
      return locked ? LOCKED : written ? { due } : undefined;
    });
  },
);

const inputOf = (sql: Sql, input: Fragment): Fragment => sql`
        select *
        from json_to_recordset(${input}::text::json) as t (
          n int, id uuid, "orgId" uuid, "postId" uuid, kind text, attempt int, incarnation text, state text, error text,
          "dueInMs" float8, login boolean, circuit boolean, failed boolean, lost boolean, "releaseId" text,
          "releaseUrl" text, message text, data jsonb, "plugTitle" text
        )`;

const writeAll = (sql: Sql): Fragment => sql`
        update post_follow_ups f
        set state = i.state,
          error = i.error,
          incarnation = null,
          due_at = case
            when i.login then coalesce(f.login_until, now() + ${LOGIN_HOURS} * interval '1 hour')
            else now() + i."dueInMs" * interval '1 ms'
          end,
          login_until = case when i.login then coalesce(f.login_until, now() + ${LOGIN_HOURS} * interval '1 hour') end,
          circuit_since = case
            when i.circuit then coalesce(f.circuit_since, now())
            when i.state = 'waiting' then f.circuit_since -- tries that fail then follow each other
          end,
          lost_at = case when i.lost then coalesce(f.lost_at, now()) end,
          look_ups = f.look_ups + case when i.lost and f.state = 'unconfirmed' then 1 else 0 end,
          attempts_failed = f.attempts_failed + i.failed::int,
          release_id = i."releaseId",
          release_url = i."releaseUrl",
          done_at = case when i.state = 'done' then now() end
        from input i, locked l
        where l.id = i.id
          and f.id = i.id
          and f.org_id = i."orgId"
          and f.attempt = i.attempt
          and f.incarnation = i.incarnation
        returning i.n, f.org_id, f.post_id as id, f.kind as follow_up, f.state, f.error as failure, f.plug,
          f.channel_id, f.due_at, f.id as follow_up_id, f.reply, i.message, i.data, i."plugTitle" as plug_title`;

/** The facts of first comments that are out, or given up, of plugs that are given up, and of replies that are out. */
function announceEnds(sql: Sql): Fragment {
  const of = (state: 'done' | 'failed') =>
    withChannel(
      sql,
      sql`(
        select p.*, w.failure
        from written w
        join posts p on p.id = w.id and p.org_id = w.org_id
        where w.follow_up = 'first_comment'
          and w.state = ${state}
      )`,
    );
  const payload = { ...postFact(sql), error: sql`failure` };
  return announce(sql, {
    'first_comment.posted': { from: of('done'), payload },
    'first_comment.failed': { from: of('failed'), payload },
    'plug.failed': {
      from: withChannel(
        sql,
        sql`(
        select p.*, w.failure, w.plug_title, a.name as acting_name
        from written w
        join posts p on p.id = w.id and p.org_id = w.org_id
        join channels a on a.id = w.channel_id and a.org_id = w.org_id
        where w.plug is not null
          and w.state = 'failed'
      )`,
      ),
      payload: { ...payload, plug: sql`plug_title`, actingName: sql`acting_name` },
    },
    'comment.reply': {
      from: sql`(
        select w.org_id, w.follow_up_id as id, w.id as post_id, w.channel_id, w.reply ->> 'text' as content,
          c.name as author_name
        from written w
        join channels c on c.id = w.channel_id and c.org_id = w.org_id
        where w.follow_up = 'reply'
          and w.state = 'done'
      ) replies`,
      payload: {
        channelId: sql`channel_id`,
        postId: sql`post_id`,
        content: sql`content`,
        authorName: sql`author_name`,
      },
    },
  });
}

type Attempted = Pick<FollowUp, 'id' | 'orgId' | 'attempt' | 'incarnation'>;

/** Keeps what the adapter wants to find again. False: the attempt is not this host's any more, and must not go on. */
export async function saveForFollowUp(sql: Sql, followUp: Attempted, value: unknown): Promise<boolean> {
  const { id, orgId, attempt, incarnation } = followUp;
  const rows = await sql`
    update post_follow_ups
    set saved = jsonb_build_object('value', ${JSON.stringify(value ?? null)}::text::jsonb)
    where id = ${id}
      and org_id = ${orgId}
      and attempt = ${attempt}
      and incarnation = ${incarnation}
    returning id`;
  return rows.length > 0;
}

/** Notes that the request is about to leave, for networks that cannot be asked afterwards. False: as above. */
export async function markFollowUpSent(sql: Sql, { id, orgId, attempt, incarnation }: Attempted): Promise<boolean> {
  const rows = await sql`
    update post_follow_ups
    set request_sent_at = now()
    where id = ${id}
      and org_id = ${orgId}
      and attempt = ${attempt}
      and incarnation = ${incarnation}
      and state = 'sending'
    returning id`;
  return rows.length > 0;
}
