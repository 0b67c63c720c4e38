import type { Sql } from '../../platform/db/index.ts';
import { PERSONAL_COLUMNS } from './columns.ts';

/** Rows and objects by where they were. Nothing in it names anybody. */
export interface ErasedCounts {
  /** Rows that were deleted, by table. */
  deleted: Record<string, number>;
  /** Rows that stay without saying whom they are about, by table. */
  anonymized: Record<string, number>;
  /** Objects in storages: those of the instance go, those in storages that an organization brought stay. */
  objects: { removed: number; kept: Record<string, number> };
  /** Places in which the address still stands, by `table.column`: what somebody else wrote. */
  left: Record<string, number>;
}

export interface ReceiptRow {
  id: string;
  kind: 'user' | 'org';
  counts: ErasedCounts;
  createdAt: Date;
}

export async function findReceipt(sql: Sql, subjectHash: Buffer): Promise<ReceiptRow | undefined> {
  const [row] = await sql<ReceiptRow[]>`
    select id, kind, counts, created_at as "createdAt"
    from erasures
    where subject_hash = ${subjectHash}`;
  return row;
}

export async function insertReceipt(
  sql: Sql,
  receipt: {
    id: string;
    kind: 'user' | 'org';
    subjectHash: Buffer;
    byUser: string;
    reason: string;
    counts: ErasedCounts;
  },
): Promise<ReceiptRow> {
  const { id, kind, subjectHash, byUser, reason, counts } = receipt;
  const [row] = await sql<ReceiptRow[]>`
    insert into erasures (id, kind, subject_hash, by_user, reason, counts)
    values (${id}, ${kind}, ${subjectHash}, ${byUser}, ${reason}, ${JSON.stringify(counts)}::text::jsonb)
    on conflict (subject_hash) do update
      set by_user = excluded.by_user, reason = excluded.reason, counts = excluded.counts, created_at = now()
    returning id, kind, counts, created_at as "createdAt"`;
  return row!;
}

/** Someone who is to be erased, locked; `deletedAt` null: the account is still in use. */
export async function lockUser(
  sql: Sql,
  userId: string,
): Promise<{ email: string; deletedAt: Date | null } | undefined> {
  const [row] = await sql<{ email: string; deletedAt: Date | null }[]>`
    select email, deleted_at as "deletedAt"
    from users
    where id = ${userId}
    for no key update`;
  return row;
}

export async function isUser(sql: Sql, userId: string): Promise<boolean> {
  const rows = await sql`select from users where id = ${userId}`;
  return rows.length > 0;
}

export async function isOrganization(sql: Sql, orgId: string): Promise<boolean> {
  const rows = await sql`select from organizations where id = ${orgId}`;
  return rows.length > 0;
}

/**
 * The same of one that is to be erased, which is locked: who asks at the same time waits before counting, as what the
 * other deletes meanwhile would be in no receipt.
 */
export async function lockOrganization(sql: Sql, orgId: string): Promise<boolean> {
  const rows = await sql`select from organizations where id = ${orgId} for no key update`;
  return rows.length > 0;
}

/** Organizations of a user that nobody else belongs to. */
export const organizationsOfOnly = async (sql: Sql, userId: string): Promise<string[]> =>
  (
    await sql<{ id: string }[]>`/* all orgs */
      select m.org_id as id
      from memberships m
      where m.user_id = ${userId}
        and not exists (
          select
          from memberships o
          where o.org_id = m.org_id
            and o.user_id <> m.user_id
        )`
  ).map(({ id }) => id);

/** Objects of organizations, by storage: `own` is one that the organization brought. */
export const countObjects = (sql: Sql, orgIds: readonly string[]) => sql<
  { storage: string; own: boolean; n: number }[]
>`/* all orgs */
  select storage_id as storage, own_storage as own, count(*)::int as n
  from files
  where org_id = any(${[...orgIds]}::uuid[])
  group by storage_id, own_storage`;

/** Places that hold an address, of the columns that are about people. */
export async function findLeft(sql: Sql, address: string): Promise<Record<string, number>> {
  const left: Record<string, number> = {};
  for (const [tableName, columnName] of PERSONAL_COLUMNS) {
    const [row] = await sql<{ n: number }[]>`/* all orgs */
      select count(*)::int as n
      from ${sql(tableName)}
      where position(lower(${address}) in lower(${sql(columnName)}::text)) > 0`;
    if (row!.n > 0) left[`${tableName}.${columnName}`] = row!.n;
  }
  return left;
}
