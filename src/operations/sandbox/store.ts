import type { Sql } from '../../platform/db/index.ts';

export interface LedgerRow {
  seq: string;
  at: Date;
  postId: string | null;
  step: 'publish' | 'reply' | 'comment' | 'repost';
  text: string;
  media: unknown;
  idempotencyKey: string | null;
  accepted: boolean;
}

/**
 * What the sandbox network noted of the posts, comments and reposts of a channel of this org, oldest first, after `seq`; undefined when the
 * org has no such sandbox channel. Its accounts are names that anybody may type: what others publish under the same
 * name is not shown.
 */
export async function sandboxLedger(
  sql: Sql,
  orgId: string,
  channelId: string,
  after: string,
  limit: number,
): Promise<LedgerRow[] | undefined> {
  const [channel] = await sql<{ account: string }[]>`
    select internal_id as account
    from channels
    where org_id = ${orgId}
      and id = ${channelId}
      and provider_id = 'sandbox'
      and deleted_at is null`;
  if (!channel) return undefined;
  return sql<LedgerRow[]>`
    select seq::text, at, post_id as "postId", step, text, media, idempotency_key as "idempotencyKey", accepted
    from sandbox_ledger l
    where account = ${channel.account}
      and seq > ${after}::bigint
      and (
        step in ('publish', 'reply')
          and exists (select
            from posts p
            where p.org_id = ${orgId}
              and p.channel_id = ${channelId}
              and p.id::text = l.idempotency_key)
        or step in ('comment', 'repost')
          and exists (select
            from post_follow_ups f
            where f.org_id = ${orgId}
              and f.channel_id = ${channelId}
              and f.id::text = l.idempotency_key)
      )
    order by seq
    limit ${limit}`;
}

/**
 * Forgets at most `limit` entries of the sandbox's ledger that are older than a week; answers how many. Only the oldest
 * `limit` are looked at: they are numbered in the order of their time.
 */
export async function dropOldLedger(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from sandbox_ledger
    where seq = any(array(
      select seq
      from (select seq, at from sandbox_ledger order by seq limit ${limit}) oldest
      where at < now() - interval '7 days'))`;
  return count;
}
