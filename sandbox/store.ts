import { groupCommit, type Json, type Sql } from '../src/platform/db/index.ts';

/** One request as the network noted it before it answered. */
export interface Entry {
  account: string;
  postId: string;
  step: 'publish' | 'reply' | 'comment' | 'repost' | 'like' | 'delete' | 'hide' | 'show';
  text: string;
  media: Json;
  replyTo: string | null;
  idempotencyKey: string | null;
  accepted: boolean;
  answered: string;
}
export interface Noted {
  postId: string;
  repeated: boolean;
}

/**
 * Writes what came in, many requests in one statement. A key that was accepted before is noted as `repeated`, with the
 * id of the first.
 */
export const note = groupCommit(async (sql, entries: readonly Entry[]): Promise<Noted[]> => {
  const wanted = entries.filter(({ accepted }) => accepted);
  const fresh = new Set<string>();
  if (wanted.length > 0) {
    const inserted = await insert(sql, wanted);
    for (const { postId } of inserted) fresh.add(postId);
  }
  const doubled = wanted.filter(({ postId }) => !fresh.has(postId));
  const firsts = doubled.length > 0 ? await firstsOf(sql, doubled) : new Map<string, string>();
  const results = entries.map((entry): Noted => {
    const first =
      entry.accepted && !fresh.has(entry.postId) ? firsts.get(nameOf(entry.account, entry.idempotencyKey)) : undefined;
    return first === undefined ? { postId: entry.postId, repeated: false } : { postId: first, repeated: true };
  });
  const others = entries.flatMap((entry, n) =>
    fresh.has(entry.postId)
      ? []
      : [
          {
            ...entry,
            postId: results[n]!.postId,
            accepted: false,
            answered: results[n]!.repeated ? 'repeated' : entry.answered,
          },
        ],
  );
  if (others.length > 0) await insert(sql, others);
  return results;
});

const nameOf = (account: string, key: string | null) => `${account}\n${key}`;

const insert = (sql: Sql, entries: readonly Entry[]) => sql<{ postId: string }[]>`
  insert into sandbox_ledger (account, post_id, step, text, media, reply_to, idempotency_key, accepted, answered)
  select account, post_id, step, text, media, reply_to, idempotency_key, accepted, answered
  from unnest(
    ${entries.map(({ account }) => account)}::text[], ${entries.map(({ postId }) => postId)}::text[],
    ${entries.map(({ step }) => step)}::text[],
    ${entries.map(({ text }) => text)}::text[], ${entries.map(({ media }) => JSON.stringify(media))}::text[]::jsonb[],
    ${entries.map(({ replyTo }) => replyTo)}::text[],
    ${entries.map(({ idempotencyKey }) => idempotencyKey)}::text[],
    ${entries.map((entry) => String(entry.accepted))}::text[]::bool[],
    ${entries.map(({ answered }) => answered)}::text[]
  ) as t (account, post_id, step, text, media, reply_to, idempotency_key, accepted, answered)
  on conflict (account, idempotency_key) where accepted do nothing
  returning post_id as "postId"`;

/** What was accepted under these keys, by account and key. */
async function firstsOf(sql: Sql, entries: readonly Entry[]): Promise<Map<string, string>> {
  const rows = await sql<{ account: string; key: string; postId: string }[]>`
    select l.account, l.idempotency_key as key, l.post_id as "postId"
    from sandbox_ledger l
    join unnest(${entries.map(({ account }) => account)}::text[],
      ${entries.map(({ idempotencyKey }) => idempotencyKey)}::text[]) as t (account, key)
      on l.account = t.account and l.idempotency_key = t.key
    where l.accepted`;
  return new Map(rows.map((row) => [nameOf(row.account, row.key), row.postId]));
}

/** What the network shows of an account: accepted and not deleted. What has a key, or the newest posts. */
export const listPosts = (sql: Sql, account: string, key: string | undefined) => sql<
  { id: string; text: string; at: Date; replyTo: string | null }[]
>`
  select post_id as id, text, at, reply_to as "replyTo"
  from sandbox_ledger l
  where account = ${account}
    and accepted
    and step <> 'delete'
    ${key === undefined ? sql`and step in ('publish', 'reply')` : sql`and idempotency_key = ${key}`}
    and not exists (
      select
      from sandbox_ledger d
      where d.post_id = l.post_id
        and d.accepted
        and d.step = 'delete'
    )
  order by seq desc
  limit 50`;

/** Whether the account has this post, and it was not deleted. */
export async function hasPost(sql: Sql, account: string, postId: string): Promise<boolean> {
  const rows = await sql<{ step: string }[]>`
    select step
    from sandbox_ledger
    where post_id = ${postId}
      and account = ${account}
      and accepted
      and step not in ('hide', 'show')`;
  return rows.length > 0 && rows.every(({ step }) => step !== 'delete');
}

/** Whether any account has this post, and it was not deleted. */
export async function isOnNetwork(sql: Sql, postId: string): Promise<boolean> {
  const rows = await sql<{ step: string }[]>`
    select step from sandbox_ledger where post_id = ${postId} and accepted`;
  return rows.length > 0 && rows.every(({ step }) => step !== 'delete');
}

/** What stands below each of these posts that is there. */
export const countBelow = (sql: Sql, ids: readonly string[]) => sql<
  { id: string; likes: number; comments: number; reposts: number }[]
>`
  select p.post_id as id,
    (count(*) filter (where b.step = 'like'))::int as likes,
    (count(*) filter (where b.step = 'comment'))::int as comments,
    (count(*) filter (where b.step = 'repost'))::int as reposts
  from sandbox_ledger p
  left join sandbox_ledger b on b.reply_to = p.post_id and b.accepted
  where p.post_id = any(${[...ids]}::text[])
    and p.accepted
    and p.step in ('publish', 'reply')
    and not exists (
      select
      from sandbox_ledger d
      where d.post_id = p.post_id
        and d.accepted
        and d.step = 'delete'
    )
  group by p.post_id`;

/** What an account has: its posts that are there, and those who have done something with one of its posts. */
export async function countTotals(sql: Sql, account: string): Promise<{ followers: number; posts: number }> {
  const [totals] = await sql<{ followers: number; posts: number }[]>`
    with own as (
      select p.post_id
      from sandbox_ledger p
      where p.account = ${account}
        and p.accepted
        and p.step in ('publish', 'reply')
        and not exists (
          select
          from sandbox_ledger d
          where d.post_id = p.post_id
            and d.accepted
            and d.step = 'delete'
        )
    )
    select (select count(*)::int from own) as posts, (
      select count(distinct b.account)::int
      from own
      join sandbox_ledger b on b.reply_to = own.post_id and b.accepted and b.account <> ${account}
    ) as followers`;
  return totals!;
}

/** A comment as the network shows it to whoever may read the post. */
export interface Said {
  seq: string;
  id: string;
  account: string;
  text: string;
  at: Date;
  replyTo: string;
  hidden: boolean;
}
/** Comments below a post and the answers to them, oldest first, behind `after`. */
export const listBelow = (sql: Sql, postId: string, { after, limit }: { after: string; limit: number }) => sql<Said[]>`
  with recursive below as (
    select l.*
    from sandbox_ledger l
    where l.reply_to = ${postId}
      and ${isSaid(sql)}
    union all
    select l.*
    from below b
    join sandbox_ledger l on l.reply_to = b.post_id
    where ${isSaid(sql)}
  )
  select b.seq, b.post_id as id, b.account, b.text, b.at, b.reply_to as "replyTo", coalesce((
      select h.step = 'hide'
      from sandbox_ledger h
      where h.post_id = b.post_id
        and h.accepted
        and h.step in ('hide', 'show')
      order by h.seq desc
      limit 1
    ), false) as hidden
  from below b
  where b.seq > ${after}
  order by b.seq
  limit ${limit}`;

/** The entry `l` is a comment that was not deleted. */
const isSaid = (sql: Sql) => sql`
    l.accepted
      and l.step = 'comment'
      and not exists (
        select
        from sandbox_ledger d
        where d.post_id = l.post_id
          and d.accepted
          and d.step = 'delete'
      )`;
