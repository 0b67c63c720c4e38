import { isUndeliverable } from '../../delivery/email/index.ts';
import type { Fragment, Json, Sql } from '../../platform/db/index.ts';
import type { PreferencesChange } from './preferences.ts';

export interface ProfileRow {
  name: string;
  lastName: string;
  bio: string;
  avatarUrl: string | null;
  pictureId: string | null;
  timezone: string;
  /** Mail to the address came back for good, or its owner complained: it gets only mails that nobody can refuse. */
  emailUndeliverable: boolean;
}
type Texts = { [K in 'name' | 'lastName' | 'bio' | 'timezone']?: string | undefined };

/** The file that is the picture of the profile `p`, of whichever org; null once it was deleted. */
const picture = (sql: Sql): Fragment => sql`(
      select f.id
      from files f
      where f.id = p.picture_id
        and f.deleted_at is null
    )`;
/** Where the picture of the profile `p` is: in a file, or where a login provider has it. */
export const avatarUrl = (sql: Sql): Fragment =>
  sql`case when p.picture_id is null or exists ${picture(sql)} then p.avatar_url end`;

const columns = (sql: Sql): Fragment => sql`
    p.name, p.last_name as "lastName", p.bio, ${avatarUrl(sql)} as "avatarUrl", ${picture(sql)} as "pictureId",
    p.timezone, (
      select ${isUndeliverable(sql, sql`u.email`)}
      from users u
      where u.id = p.user_id
    ) as "emailUndeliverable"`;

export async function profileOf(sql: Sql, userId: string): Promise<ProfileRow | undefined> {
  const [row] = await sql<ProfileRow[]>`select ${columns(sql)} from user_profiles p where p.user_id = ${userId}`;
  return row;
}

export async function updateProfile(
  sql: Sql,
  userId: string,
  { name, lastName, bio, timezone }: Texts,
  chosen: { id: string | null; url: string | null } | undefined,
): Promise<ProfileRow | undefined> {
  const [row] = await sql<ProfileRow[]>`
    update user_profiles p
    set name = coalesce(${name ?? null}, name), last_name = coalesce(${lastName ?? null}, last_name),
      bio = coalesce(${bio ?? null}, bio),
      timezone = coalesce(${timezone ?? null}, timezone)
      ${chosen ? sql`, picture_id = ${chosen.id}, avatar_url = ${chosen.url}` : sql``}
    where user_id = ${userId}
    returning ${columns(sql)}`;
  return row;
}

/** Where an image of one of the user's orgs, or the picture that the user has, is stored; undefined for any other id. */
export async function pictureKey(sql: Sql, userId: string, fileId: string): Promise<string | undefined> {
  const [row] = await sql<{ storageKey: string }[]>`
    select f.storage_key as "storageKey"
    from files f
    where f.id = ${fileId}
      and f.deleted_at is null
      and f.kind = 'image'
      and (
        exists (
          select
          from memberships m
          join organizations o on o.id = m.org_id and o.deleted_at is null
          where m.org_id = f.org_id
            and m.user_id = ${userId}
            and not m.disabled
        )
        or exists (
          select
          from user_profiles p
          where p.user_id = ${userId}
            and p.picture_id = f.id
        )
      )`;
  return row?.storageKey;
}

export async function preferencesOf(
  sql: Sql,
  userId: string,
  { lock = false } = {},
): Promise<{ preferences: PreferencesChange } | undefined> {
  const [row] = await sql<{ preferences: PreferencesChange }[]>`
    select notification_preferences as preferences
    from user_profiles
    where user_id = ${userId} ${lock ? sql`for update` : sql``}`;
  return row;
}

export const keepPreferences = (sql: Sql, userId: string, preferences: PreferencesChange) => sql`
  update user_profiles
  set notification_preferences = ${sql.json(preferences as Json)}
  where user_id = ${userId}`;
