import type { Database, Sql } from '../../platform/db/index.ts';
import type { Contents } from './contents.ts';
import type { DocumentKey } from './store.ts';
import type { Program } from './typist.ts';

/** Why a version was kept. */
export type VersionReason = 'session' | 'manual' | 'restore' | 'foreign_edit' | 'agent_edit' | 'too_late';
export interface VersionRow {
  id: string;
  label: string | null;
  reason: VersionReason;
  /** The users who took part since the version before it. */
  authors: string[];
  /** The programs among them, which did so in the name of one of the users. */
  programs: Program[];
  /** Of an `agent_edit`: the names of the agents that have made it. */
  agents: string[];
  createdAt: Date;
}
export interface VersionWithContents extends VersionRow {
  contents: Contents;
  /** Of an `agent_edit`: what it made of the contents. */
  changedTo: Contents | null;
}
export interface NewVersion {
  id: string;
  label: string | null;
  reason: VersionReason;
  contents: Contents;
  agents?: readonly string[];
  changedTo?: Contents;
}

/** Versions of a document, and the days that each is kept. */
const MOST_VERSIONS = 100;
const DAYS = 90;

/**
 * Keeps a version with those who have typed since the last one, and forgets the oldest beyond a hundred. Nothing, when it
 * says what the latest one says and nobody asked for it; answers whether it was kept.
 */
export const insertVersion = (sql: Database, key: DocumentKey, version: NewVersion): Promise<boolean> =>
  sql.begin(async (tx) => {
    // a statement of its own: one that had to wait would compare with the latest version from before it
    await tx`select from collaboration_documents where org_id = ${key.orgId} and room = ${key.room} for update`;
    return insertLocked(tx, key, version);
  });

async function insertLocked(
  sql: Sql,
  { orgId, room }: DocumentKey,
  { id, label, reason, contents, agents = [], changedTo }: NewVersion,
): Promise<boolean> {
  const text = JSON.stringify(contents);
  const changed = changedTo === undefined ? null : JSON.stringify(changedTo);
  const rows = await sql`
    with document as (
      select org_id, room, typed_by, typed_programs
      from collaboration_documents
      where org_id = ${orgId}
        and room = ${room}
    ), latest as (
      select contents, changed_to
      from collaboration_versions
      where org_id = ${orgId}
        and room = ${room}
      order by id desc
      limit 1
    ), kept as (
      insert into collaboration_versions (id, org_id, room, label, reason, contents, authors, programs, agents, changed_to)
      select ${id}, org_id, room, ${label}, ${reason}, ${text}::text::jsonb, typed_by, typed_programs,
        ${[...agents]}::text[], ${changed}::text::jsonb
      from document
      where ${reason === 'manual'}
        or not exists (
          select
          from latest l
          where l.contents = ${text}::text::jsonb
            and l.changed_to is not distinct from ${changed}::text::jsonb
        )
      returning id
    ), told as (
      update collaboration_documents
      set typed_by = '{}', typed_programs = '[]'
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

const columns = (sql: Sql) => sql`id, label, reason, authors, programs, agents, created_at as "createdAt"`;

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
): Promise<VersionWithContents | undefined> {
  const [row] = await sql<VersionWithContents[]>`
    select ${columns(sql)}, contents, changed_to as "changedTo"
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
