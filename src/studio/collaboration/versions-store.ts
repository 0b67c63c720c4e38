import type { Sql } from '../../platform/db/index.ts';
import type { Contents } from './contents.ts';
import type { DocumentKey } from './store.ts';

/** Why a version was kept. */
export type VersionReason = 'session' | 'manual' | 'restore' | 'foreign_edit' | 'too_late';
export interface VersionRow {
  id: string;
  label: string | null;
  reason: VersionReason;
  /** The users who took part since the version before it. */
  authors: string[];
  createdAt: Date;
}
export interface NewVersion {
  id: string;
  label: string | null;
  reason: VersionReason;
  contents: Contents;
}

/** Versions of a document, and the days that each is kept. */
const MOST_VERSIONS = 100;
const DAYS = 90;

/**
 * Keeps a version with those who have typed since the last one, and forgets the oldest beyond a hundred. Nothing, when it
 * says what the latest one says and nobody asked for it; answers whether it was kept.
 */
export async function insertVersion(
  sql: Sql,
  { orgId, room }: DocumentKey,
  { id, label, reason, contents }: NewVersion,
): Promise<boolean> {
  const text = JSON.stringify(contents);
  const rows = await sql`
    with document as (
      select org_id, room, typed_by
      from collaboration_documents
      where org_id = ${orgId}
        and room = ${room}
      for update
    ), latest as (
      select contents
      from collaboration_versions
      where org_id = ${orgId}
        and room = ${room}
      order by id desc
      limit 1
    ), kept as (
      insert into collaboration_versions (id, org_id, room, label, reason, contents, authors)
      select ${id}, org_id, room, ${label}, ${reason}, ${text}::text::jsonb, typed_by
      from document
      where ${reason === 'manual'}
        or not exists (select from latest l where l.contents = ${text}::text::jsonb)
      returning id
    ), told as (
      update collaboration_documents
      set typed_by = '{}'
      where org_id = ${orgId}
        and room = ${room}
        and exists (select from kept)
    ), old as (
      delete from collaboration_versions
      where exists (select from kept)
        and org_id = ${orgId}
        and room = ${room}
        and id in (
          select id
          from collaboration_versions
          where org_id = ${orgId}
            and room = ${room}
          order by id desc
          offset ${MOST_VERSIONS - 1}
        )
    )
    select from kept`;
  return rows.length > 0;
}

const columns = (sql: Sql) => sql`id, label, reason, authors, created_at as "createdAt"`;

/** The versions of a document, the latest first. */
export const listVersions = (sql: Sql, { orgId, room }: DocumentKey): Promise<VersionRow[]> => sql<VersionRow[]>`
  select ${columns(sql)}
  from collaboration_versions
  where org_id = ${orgId}
    and room = ${room}
    and created_at > now() - ${DAYS}::int * interval '1 day'
  order by id desc`;

export async function findVersion(
  sql: Sql,
  { orgId, room }: DocumentKey,
  id: string,
): Promise<(VersionRow & { contents: Contents }) | undefined> {
  const [row] = await sql<(VersionRow & { contents: Contents })[]>`
    select ${columns(sql)}, contents
    from collaboration_versions
    where org_id = ${orgId}
      and room = ${room}
      and id = ${id}
      and created_at > now() - ${DAYS}::int * interval '1 day'`;
  return row;
}

/** Forgets versions that are older than they are kept, at most `limit`; answers how many. */
export async function dropOldVersions(sql: Sql, limit: number): Promise<number> {
  const rows = await sql`/* all orgs */
    delete from collaboration_versions
    where id in (
      select id
      from collaboration_versions
      where created_at < now() - ${DAYS}::int * interval '1 day'
      order by created_at
      limit ${limit}
    )
    returning 1`;
  return rows.length;
}
