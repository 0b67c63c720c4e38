import type { Sql } from '../../../platform/db/index.ts';
import type { LoginRow } from '../login-row.ts';

/** Whose choice it is. */
export interface ChoiceKey {
  orgId: string;
  userId: string;
  id: string;
}
/** A login of somebody who has several pages, and chooses the one that becomes the channel. */
export interface ChoiceRow extends ChoiceKey {
  providerId: string;
  providerVersion: string;
  /** Sealed; null once a page is chosen. */
  credentials: string | null;
  /** The page that was chosen. */
  page: string | null;
  createdAt: Date;
}
export type NewChoice = Omit<ChoiceRow, 'credentials' | 'page' | 'createdAt'> & { credentials: string };

const columns = (sql: Sql) => sql`
  id, org_id as "orgId", user_id as "userId", provider_id as "providerId", provider_version as "providerVersion",
  credentials, page, created_at as "createdAt"`;

export const insertChoice = (sql: Sql, choice: NewChoice, lifeMs: number): Promise<unknown> => sql`
  insert into channel_choices (id, org_id, user_id, provider_id, provider_version, credentials, expires_at)
  values (${choice.id}, ${choice.orgId}, ${choice.userId}, ${choice.providerId}, ${choice.providerVersion},
    ${choice.credentials}, now() + ${lifeMs}::float8 * interval '1 ms')`;

/** The choice, also one that was made; undefined: unknown, expired, or of somebody else. */
export async function findChoice(sql: Sql, { orgId, userId, id }: ChoiceKey): Promise<ChoiceRow | undefined> {
  const [row] = await sql<ChoiceRow[]>`
    select ${columns(sql)}
    from channel_choices
    where org_id = ${orgId} and user_id = ${userId} and id = ${id} and expires_at > now()`;
  return row;
}

/** The choices that a person has still to make. */
export const openChoices = (sql: Sql, orgId: string, userId: string): Promise<ChoiceRow[]> => sql<ChoiceRow[]>`
  select ${columns(sql)}
  from channel_choices
  where org_id = ${orgId} and user_id = ${userId} and page is null and expires_at > now()
  order by created_at, id`;

/** Makes a choice, in the transaction that writes the channel; false: it was made before, or is gone. */
export async function takeChoice(sql: Sql, { orgId, userId, id }: ChoiceKey, page: string): Promise<boolean> {
  const rows = await sql`
    update channel_choices
    set page = ${page}, credentials = null, refresh_claim = null, refresh_until = null
    where org_id = ${orgId}
      and user_id = ${userId}
      and id = ${id}
      and page is null
    returning 1`;
  return rows.length > 0;
}

/** Deletes a choice that was not made; false: there is none. */
export async function deleteChoice(sql: Sql, { orgId, userId, id }: ChoiceKey, seen?: string): Promise<boolean> {
  const { count } = await sql`
    delete from channel_choices
    where org_id = ${orgId}
      and user_id = ${userId}
      and id = ${id}
      and page is null
      ${seen === undefined ? sql`` : sql`and credentials = ${seen}`}`;
  return count > 0;
}

/** Deletes at most `limit` choices that are a day old, made or not; answers how many. */
export async function dropOldChoices(sql: Sql, limit: number): Promise<number> {
  const { count } = await sql`
    delete from channel_choices
    where id = any(array(
      select id
      from channel_choices /* all orgs */
      where expires_at < now()
      order by expires_at
      limit ${limit}
    ))`;
  return count;
}

/** The row of a choice as that of a login. */
export const loginOfChoice = (sql: Sql, key: ChoiceKey): LoginRow => {
  const { orgId, id } = key;
  return {
    async find() {
      const row = await findChoice(sql, key);
      return row?.credentials == null ? undefined : { credentials: row.credentials, refreshNeeded: false };
    },
    async claim(seen, claim, holdMs) {
      const rows = await sql`
        update channel_choices
        set refresh_claim = ${claim}, refresh_until = now() + ${holdMs}::float8 * interval '1 ms'
        where org_id = ${orgId}
          and id = ${id}
          and credentials = ${seen}
          and (refresh_until is null or refresh_until < now())
        returning 1`;
      return rows.length > 0;
    },
    async save(seen, { credentials }) {
      const rows = await sql`
        update channel_choices
        set credentials = ${credentials}, refresh_claim = null, refresh_until = null
        where org_id = ${orgId} and id = ${id} and credentials = ${seen}
        returning 1`;
      return rows.length > 0;
    },
    release: (claim) => sql`
      update channel_choices
      set refresh_claim = null, refresh_until = null
      where org_id = ${orgId} and id = ${id} and refresh_claim = ${claim}`,
    lose: (_reason, seen) => deleteChoice(sql, key, seen),
  };
};
