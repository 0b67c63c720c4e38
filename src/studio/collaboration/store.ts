import type { Sql } from '../../platform/db/index.ts';
import type { Contents } from './contents.ts';
import type { Program, Typist } from './typist.ts';

/** What document and post said when they agreed last: as the post holds it, and as the document writes it. */
export interface Agreed {
  post: Contents;
  document: Contents;
}
/** A document as it is stored. */
export interface DocumentRow {
  state: Uint8Array;
  /** Counts the writes of `state`. */
  version: number;
  agreed: Agreed;
  /** Hashes of contents that were about to be saved to the post; a post that holds one of them was not edited elsewhere. */
  recent: string[];
  /** The start of a process that wrote it last. */
  writer: string;
  /** Who has typed what is not saved to the post; null: nobody. */
  unsavedBy: Typist | null;
}
export interface DocumentKey {
  orgId: string;
  /** `<kind>:<id>`. */
  room: string;
}

/** Contents that a document remembers to have sent to its post. */
const MOST_RECENT = 20;

/** postgres hands out buffers that share their memory; a decoder gets one of its own. */
const owned = (row: DocumentRow | undefined): DocumentRow | undefined =>
  row && { ...row, state: new Uint8Array(row.state) };

export async function findDocument(sql: Sql, { orgId, room }: DocumentKey): Promise<DocumentRow | undefined> {
  const [row] = await sql<DocumentRow[]>`
    select state, version, agreed, recent, writer,
      case when unsaved_version = version then unsaved_by else '"unknown"'::jsonb end as "unsavedBy"
    from collaboration_documents
    where org_id = ${orgId}
      and room = ${room}`;
  return owned(row);
}

const jsonOf = (value: unknown): string | null => (value == null ? null : JSON.stringify(value));

/** Stores a new document unless there is one; what stands is read afterwards. */
export async function insertDocument(
  sql: Sql,
  { orgId, room }: DocumentKey,
  { state, agreed, unsavedBy, writer }: Pick<DocumentRow, 'state' | 'agreed' | 'unsavedBy' | 'writer'>,
): Promise<void> {
  await sql`
    insert into collaboration_documents (org_id, room, state, agreed, writer, unsaved_by, unsaved_version)
    values (
      ${orgId}, ${room}, ${Buffer.from(state)}, ${JSON.stringify(agreed)}::text::jsonb, ${writer},
      ${jsonOf(unsavedBy)}::text::jsonb, 1
    )
    on conflict (org_id, room) do nothing`;
}

/** What is written with a document; what is not said stays. */
export interface DocumentChange {
  state: Uint8Array;
  agreed?: Agreed | undefined;
  /** Hash of contents that are about to be saved to the post. */
  saving?: string | undefined;
  /** Users who have typed since the last write. */
  typed: readonly string[];
  /** The programs that did so for some of them, and agents whose edits it takes in. */
  programs: readonly Program[];
  /** Who has typed what of `state` is not saved to the post. */
  unsavedBy: Typist | undefined;
  writer: string;
}

/** Writes a document of the version `version`; undefined: another has written it, or it is gone. */
export async function updateDocument(
  sql: Sql,
  { orgId, room }: DocumentKey,
  version: number,
  { state, agreed, saving, typed, programs, unsavedBy, writer }: DocumentChange,
): Promise<number | undefined> {
  const [row] = await sql<{ version: number }[]>`
    update collaboration_documents
    set state = ${Buffer.from(state)}, version = version + 1, writer = ${writer},
      agreed = coalesce(${jsonOf(agreed)}::text::jsonb, agreed),
      recent = case
        when ${saving ?? null}::text is null then recent
        else (array_prepend(${saving ?? null}::text, recent))[1:${MOST_RECENT}::int]
      end,
      typed_by = (select coalesce(array_agg(distinct id), '{}') from unnest(typed_by || ${[...typed]}::uuid[]) as t (id)),
      typed_programs = (
        select coalesce(jsonb_agg(distinct p), '[]')
        from jsonb_array_elements(typed_programs || ${JSON.stringify(programs)}::text::jsonb) as t (p)
      ),
      unsaved_by = ${jsonOf(unsavedBy)}::text::jsonb, unsaved_version = version + 1,
      updated_at = now()
    where org_id = ${orgId}
      and room = ${room}
      and version = ${version}
    returning version`;
  return row?.version;
}

/**
 * Notes what document and post agree on, whatever the version of the document; and who has typed what is not saved in
 * that of this version, for a later one says it itself.
 */
export async function writeAgreed(
  sql: Sql,
  { orgId, room }: DocumentKey,
  agreed: Agreed,
  { version, unsavedBy }: { version: number; unsavedBy: Typist | undefined },
): Promise<void> {
  await sql`
    update collaboration_documents
    set agreed = ${jsonOf(agreed)}::text::jsonb,
      unsaved_by = case when version = ${version} then ${jsonOf(unsavedBy)}::text::jsonb else unsaved_by end,
      unsaved_version = case when version = ${version} then version else unsaved_version end
    where org_id = ${orgId}
      and room = ${room}`;
}

/** The versions of open documents, in their order; undefined for one that is gone. */
export async function versionsOf(sql: Sql, keys: readonly DocumentKey[]): Promise<(number | undefined)[]> {
  const rows = await sql<{ n: number; version: number }[]>`/* all orgs */
    select t.n::int, d.version
    from unnest(${keys.map(({ orgId }) => orgId)}::uuid[], ${keys.map(({ room }) => room)}::text[])
      with ordinality as t (org_id, room, n)
    join collaboration_documents d on d.org_id = t.org_id and d.room = t.room`;
  const found = new Map(rows.map(({ n, version }) => [n, version]));
  return keys.map((_, n) => found.get(n + 1));
}

/**
 * Deletes documents whose post, group, campaign, brand kit or designer session is gone, and notes that the others were looked at; answers how many rows it
 * looked at. Each is looked at once a day.
 */
export async function dropOrphans(sql: Sql, limit: number): Promise<number> {
  const [row] = await sql<{ count: number }[]>`/* all orgs */
    with looked as materialized (
      select d.org_id, d.room, case
        when d.room like 'post:%' then exists (
          select from posts p where p.org_id = d.org_id and p.id = substr(d.room, 6)::uuid
        )
        when d.room like 'campaign:%' then exists (
          select from campaigns c where c.org_id = d.org_id and c.id = substr(d.room, 10)::uuid
        )
        when d.room like 'brand-kit:%' then exists (
          select from brand_kits b where b.org_id = d.org_id and b.id = substr(d.room, 11)::uuid
        )
        when d.room like 'designer:%' then exists (
          select from runs r where r.org_id = d.org_id and r.id = substr(d.room, 10)::uuid
        )
        else exists (select from posts p where p.org_id = d.org_id and p.group_id = substr(d.room, 7))
      end as lives
      from collaboration_documents d
      where d.checked_at < now() - interval '1 day'
      order by d.checked_at
      limit ${limit}
    ), gone as (
      delete from collaboration_documents d
      using looked l
      where not l.lives
        and d.org_id = l.org_id
        and d.room = l.room
    ), kept as (
      update collaboration_documents d
      set checked_at = now()
      from looked l
      where l.lives
        and d.org_id = l.org_id
        and d.room = l.room
    )
    select count(*)::int as count
    from looked`;
  return row!.count;
}
