import { oldestRunning, type Sql } from '../../platform/db/index.ts';
import type { NotificationReader, NotificationRow } from './store.ts';

/** Somebody who follows, by the session that they opened it with. */
export interface StreamReader extends NotificationReader {
  sessionId: string;
}
/** Every row of transactions below `txid` was told, and of that one the rows up to `seq`. Numbers of 64 bits, as text. */
export interface StreamPlace {
  txid: string;
  seq: string;
}
/** What a look finds for one reader; its rows are in the order in which they are told. */
export interface StreamNews {
  place: StreamPlace;
  total: number;
  /** More is there than can be told yet: an older transaction is still running. */
  isHeld: boolean;
  rows: readonly (NotificationRow & { place: StreamPlace })[];
}

interface LookedUp extends NotificationRow {
  n: number;
  total: number;
  isHeld: boolean;
  from: string;
  txid: string | null;
  seq: string | null;
}

/** Rows that one look brings at most: the newest. */
const MOST_ROWS = 100;

/**
 * Looks for what is new to each reader, in one statement: behind the place, or without one from now on. Undefined where
 * session, user, membership or organization has ended. Only transactions below every running one count, as nothing is
 * added to them any more; a place beyond those that ever ran here came from another cluster.
 */
export async function lookForReaders(
  sql: Sql,
  readers: readonly { reader: StreamReader; place: StreamPlace | undefined }[],
): Promise<(StreamNews | undefined)[]> {
  const rows = await sql<LookedUp[]>`/* all orgs */
    with snapshot as (
      select ${oldestRunning(sql)} as running, pg_snapshot_xmax(pg_current_snapshot()) as ahead
    ), readers as (
      select n::int, session_id, user_id, org_id,
        case when t.txid <= ahead then t.txid else running end as txid,
        case when t.txid <= ahead then t.seq else 0 end as seq
      from snapshot, unnest(${readers.map(({ reader }) => reader.sessionId)}::uuid[],
        ${readers.map(({ reader }) => reader.userId)}::uuid[], ${readers.map(({ reader }) => reader.orgId)}::uuid[],
        ${readers.map(({ place }) => place?.txid ?? null)}::text[]::xid8[],
        ${readers.map(({ place }) => place?.seq ?? null)}::text[]::bigint[])
        with ordinality as t (session_id, user_id, org_id, txid, seq, n)
    )
    select r.n - 1 as n, r.txid::text || '-' || r.seq as "from", unread.total, exists (
        select
        from notifications, snapshot
        where org_id = r.org_id
          and user_id = r.user_id
          and txid >= running
      ) as "isHeld", x.*
    from readers r
    join sessions s on s.id = r.session_id and s.user_id = r.user_id and s.revoked_at is null and s.expires_at > now()
    join users u on u.id = r.user_id and u.activated and u.deleted_at is null
    join memberships m on m.org_id = r.org_id and m.user_id = r.user_id and not m.disabled
    join organizations o on o.id = r.org_id and o.disabled_at is null and o.deleted_at is null
    cross join lateral (
      select count(*)::int as total
      from notifications
      where org_id = r.org_id
        and user_id = r.user_id
        and read_at is null
    ) unread
    left join lateral (
      select id, title, content, link, category, data, read_at as "readAt", created_at as "createdAt", txid::text, seq
      from notifications, snapshot
      where org_id = r.org_id
        and user_id = r.user_id
        and (txid, seq) > (r.txid, r.seq)
        and txid < running
      order by notifications.txid desc, seq desc
      limit ${MOST_ROWS}
    ) x on true
    order by r.n, x.txid::xid8, x.seq`;
  const found = Map.groupBy(rows, ({ n }) => n);
  return readers.map((_, n) => found.get(n) && newsOf(found.get(n)!));
}

function newsOf(found: readonly LookedUp[]): StreamNews {
  const [{ from, total, isHeld }] = found as [LookedUp];
  const rows = found.flatMap(({ txid, seq, ...row }) =>
    txid === null || seq === null ? [] : [{ ...row, place: { txid, seq } }],
  );
  return { place: rows.at(-1)?.place ?? parseStreamPlace(from)!, total, isHeld, rows };
}

const MOST = 2n ** 63n;
/** The place that the id of an event names; undefined for any other text. */
export function parseStreamPlace(id: string | undefined): StreamPlace | undefined {
  const [, txid, seq] = /^(\d{1,19})-(\d{1,19})$/.exec(id ?? '') ?? [];
  return txid !== undefined && seq !== undefined && BigInt(txid) < MOST && BigInt(seq) < MOST
    ? { txid, seq }
    : undefined;
}
export const idOfStreamPlace = ({ txid, seq }: StreamPlace): string => `${txid}-${seq}`;
