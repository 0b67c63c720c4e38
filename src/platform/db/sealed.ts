import type { Fragment, Sql } from './client.ts';

/** A column of sealed texts (`v2:…`). */
export interface SealedColumn {
  table: string;
  column: string;
  /** Rows in which a writer holds on to the text as it is; they are left to it for now. */
  held?: (sql: Sql) => Fragment;
}

/**
 * Every column that holds sealed texts: a migration that adds one says `-- sealed` beside it, and it gets a line here.
 */
export const SEALED: readonly SealedColumn[] = [
  { table: 'provider_apps', column: 'client_secret' },
  // A renewed token is saved only over the text that was claimed: a changed one would lose it. The claim may be
  // outlived a little.
  { table: 'channels', column: 'credentials', held: (sql) => sql`refresh_until > now() - interval '10 minutes'` },
  {
    table: 'channel_choices',
    column: 'credentials',
    held: (sql) => sql`refresh_until > now() - interval '10 minutes'`,
  },
  { table: 'connect_states', column: 'sealed' },
  { table: 'emails', column: 'content' },
  { table: 'idempotency_keys', column: 'reply' },
  { table: 'provider_settings', column: 'credentials' },
  { table: 'login_states', column: 'sealed' },
  { table: 'webhooks', column: 'secret' },
  { table: 'webhooks', column: 'previous_secret' },
  { table: 'webhooks', column: 'older_secret' },
];

/** One sealed text and where it stands; the place is good as long as the row is not written. */
export interface SealedText {
  place: string;
  sealed: string;
}

/** The sealed texts of a column behind a place, `limit` at most. */
export const sealedTexts = (
  sql: Sql,
  { table, column }: SealedColumn,
  behind: string,
  limit: number,
): Promise<SealedText[]> => sql<SealedText[]>`/* all orgs */
  select ctid::text as place, ${sql(column)} as sealed
  from ${sql(table)}
  where ctid > ${behind}::tid and ${sql(column)} like 'v2:%'
  order by ctid
  limit ${limit}`;

/**
 * Puts new texts in the place of those that are still there, and answers how many. Rows that somebody writes or holds
 * are passed over: nobody is waited for, so that no writer of the service ever waits for this one in a circle.
 */
export async function replaceSealed(
  sql: Sql,
  { table, column, held }: SealedColumn,
  texts: readonly (SealedText & { fresh: string })[],
): Promise<number> {
  const { count } = await sql`/* all orgs */
    with free as (
      select ctid
      from ${sql(table)}
      where ctid = any(${texts.map(({ place }) => place)}::text[]::tid[])
        ${held ? sql`and (${held(sql)}) is not true` : sql``}
      for update skip locked
    )
    update ${sql(table)}
    set ${sql(column)} = given.fresh
    from unnest(${texts.map(({ place }) => place)}::text[]::tid[], ${texts.map(({ sealed }) => sealed)}::text[],
      ${texts.map(({ fresh }) => fresh)}::text[]) as given (place, sealed, fresh),
      free
    where free.ctid = given.place
      and ${sql(table)}.ctid = given.place
      and ${sql(`${table}.${column}`)} = given.sealed`;
  return count;
}
