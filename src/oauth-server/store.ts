import type { Scope } from '../people/access/index.ts';
import type { Database, Fragment, Sql } from '../platform/db/index.ts';

/** A client as the flows need it. */
export interface ClientRow {
  id: string;
  /** Null: it registered itself. */
  orgId: string | null;
  clientId: string;
  /** Null: a public client. */
  secretHash: Buffer | null;
  name: string;
  description: string;
  redirectUris: string[];
  scope: Scope[];
  pictureId: string | null;
  pictureKey: string | null;
}
/** The app of an org. */
export interface AppRow {
  id: string;
  name: string;
  description: string;
  pictureId: string | null;
  /** Where its bytes are; null when the picture is gone. */
  pictureKey: string | null;
  redirectUrl: string;
  clientId: string;
  scope: Scope[];
  createdAt: Date;
  updatedAt: Date;
}
export interface NewClient {
  id: string;
  orgId: string | null;
  clientId: string;
  secretHash: Buffer | null;
  name: string;
  description: string;
  pictureId: string | null;
  redirectUris: readonly string[];
  scope: readonly Scope[];
}
export interface AppChange {
  name?: string | undefined;
  description?: string | undefined;
  /** Null: none. */
  pictureId?: string | null | undefined;
  redirectUrl?: string | undefined;
}
export interface ApprovalRow {
  id: string;
  name: string;
  description: string;
  pictureId: string | null;
  pictureKey: string | null;
  clientId: string;
  scope: Scope[];
  createdAt: Date;
  lastUsedAt: Date | null;
}

const picture = (sql: Sql): Fragment =>
  sql`left join files f on f.id = c.picture_id and f.org_id = c.org_id and f.deleted_at is null`;

/** Undefined too while the org of the app is shut: its credentials open nothing. */
export async function clientByClientId(sql: Sql, clientId: string): Promise<ClientRow | undefined> {
  const [row] = await sql<ClientRow[]>`/* all orgs */
    select c.id, c.org_id as "orgId", c.client_id as "clientId", c.secret_hash as "secretHash", c.name, c.description,
      c.redirect_uris as "redirectUris", c.scope,
      f.id as "pictureId", f.storage_key as "pictureKey"
    from oauth_clients c
    left join organizations o on o.id = c.org_id ${picture(sql)}
    where c.client_id = ${clientId}
      and o.deleted_at is null
      and o.disabled_at is null`;
  return row;
}

/** Tells whether the document of a client was read lately. */
export async function hasFreshDocument(sql: Sql, clientId: string): Promise<boolean> {
  const rows = await sql`/* all orgs */
    select from oauth_clients where client_id = ${clientId} and document_until > now()`;
  return rows.length > 0;
}

/** What the document of a client says now; what was approved stays. */
export const saveDocument = (
  sql: Sql,
  client: Pick<NewClient, 'id' | 'clientId' | 'name' | 'description' | 'redirectUris' | 'scope'> & { seconds: number },
) => sql`/* all orgs */
  insert into oauth_clients (id, client_id, name, description, redirect_uris, scope, document_until)
  values (${client.id}, ${client.clientId}, ${client.name}, ${client.description},
    ${[...client.redirectUris]}::text[], ${[...client.scope]}::text[],
    now() + ${client.seconds}::int * interval '1 s')
  on conflict (client_id) do update
  set name = excluded.name, description = excluded.description, redirect_uris = excluded.redirect_uris,
    document_until = excluded.document_until, updated_at = now()
  where oauth_clients.document_until is not null`;

export async function appOf(sql: Sql, orgId: string): Promise<AppRow | undefined> {
  const [row] = await sql<AppRow[]>`
    select c.id, c.name, c.description, f.id as "pictureId", f.storage_key as "pictureKey",
      c.redirect_uris[1] as "redirectUrl", c.client_id as "clientId", c.scope,
      c.created_at as "createdAt", c.updated_at as "updatedAt"
    from oauth_clients c ${picture(sql)}
    where c.org_id = ${orgId}`;
  return row;
}

/** Undefined when the org has an app already. */
export async function insertClient(sql: Sql, client: NewClient): Promise<{ createdAt: Date } | undefined> {
  const [row] = await sql<{ createdAt: Date }[]>`
    insert into oauth_clients (id, org_id, client_id, secret_hash, name, description, picture_id, redirect_uris, scope)
    values (${client.id}, ${client.orgId}, ${client.clientId}, ${client.secretHash}, ${client.name},
      ${client.description}, ${client.pictureId},
      ${[...client.redirectUris]}::text[], ${[...client.scope]}::text[])
    on conflict (org_id) where org_id is not null do nothing
    returning created_at as "createdAt"`;
  return row;
}

/** The id of the app; undefined when there is none. What is undefined in the change stays. */
export async function updateApp(
  sql: Sql,
  orgId: string,
  { name, description, pictureId, redirectUrl }: AppChange,
): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    update oauth_clients
    set updated_at = now(), name = coalesce(${name ?? null}, name),
      description = coalesce(${description ?? null}, description),
      picture_id = case when ${pictureId !== undefined} then ${pictureId ?? null}::uuid else picture_id end,
      redirect_uris = case
        when ${redirectUrl !== undefined} then array[${redirectUrl ?? null}::text]
        else redirect_uris end
    where org_id = ${orgId}
    returning id`;
  return row?.id;
}

export async function updateSecret(sql: Sql, orgId: string, secretHash: Buffer): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    update oauth_clients
    set secret_hash = ${secretHash}, updated_at = now()
    where org_id = ${orgId}
    returning id`;
  return row?.id;
}

/** Its authorizations, codes and tokens go with it. */
export async function deleteApp(sql: Sql, orgId: string): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`delete from oauth_clients where org_id = ${orgId} returning id`;
  return row?.id;
}

/** Tells whether a file is a picture of the org's library. */
export async function isPicture(sql: Sql, orgId: string, fileId: string): Promise<boolean> {
  const rows = await sql`
      select
      from files
      where id = ${fileId}
        and org_id = ${orgId}
        and kind = 'image'
        and listed
        and deleted_at is null`;
  return rows.length > 0;
}

/** The user's authorization of an app in an org, made or renewed; undefined when the app is gone. */
export async function approve(
  sql: Sql,
  orgId: string,
  approval: { id: string; userId: string; appId: string; scope: readonly Scope[] },
): Promise<string | undefined> {
  const [row] = await sql<{ id: string }[]>`
    with app as (select id from oauth_clients where id = ${approval.appId} for key share)
    insert into oauth_authorizations (id, org_id, user_id, app_id, scope)
    select ${approval.id}, ${orgId}, ${approval.userId}, app.id, ${[...approval.scope]}::text[]
    from app
    on conflict (org_id, user_id, app_id) do update set scope = excluded.scope
    returning id`;
  return row?.id;
}

export const approvalsOf = (sql: Sql, orgId: string, userId: string) => sql<ApprovalRow[]>`
  select a.id, c.name, c.description, f.id as "pictureId", f.storage_key as "pictureKey", c.client_id as "clientId",
    a.scope, a.created_at as "createdAt", a.last_used_at as "lastUsedAt"
  from oauth_authorizations a
  join oauth_clients c on c.id = a.app_id ${picture(sql)}
  where a.org_id = ${orgId}
    and a.user_id = ${userId}
  order by a.created_at desc, a.id desc`;

/** Keeps an approval of a user from going until the commit; false where it is not there. */
export async function lockApproval(sql: Sql, orgId: string, userId: string, id: string): Promise<boolean> {
  const rows = await sql`
    select 1
    from oauth_authorizations
    where org_id = ${orgId}
      and user_id = ${userId}
      and id = ${id}
    for key share`;
  return rows.length > 0;
}

export async function deleteApproval(sql: Sql, orgId: string, userId: string, id: string): Promise<boolean> {
  const rows = await sql`
      delete from oauth_authorizations
      where org_id = ${orgId}
        and user_id = ${userId}
        and id = ${id}
      returning 1`;
  return rows.length > 0;
}

/** The apps that act for a user, in any org. */
export const approvalNamesOf = (sql: Sql, userId: string) => sql<{ name: string; orgName: string }[]>`
  /* all orgs */
  select c.name, o.name as "orgName"
  from oauth_authorizations a
  join oauth_clients c on c.id = a.app_id
  join organizations o on o.id = a.org_id and o.deleted_at is null
  where a.user_id = ${userId}
  order by a.created_at desc
  limit 100`;
/** Their tokens and codes go with them, and a device that was approved and has no key yet gets none. */
export const deleteApprovalsOf = (sql: Sql, userId: string) => sql`/* all orgs */
  with devices as (
    update oauth_devices
    set decision = 'denied'
    where user_id = ${userId}
      and decision = 'approved'
      and claim is null
  )
  delete from oauth_authorizations
  where user_id = ${userId}`;

export async function noteApprovals(
  sql: Sql,
  uses: readonly { authorizationId: string; orgId: string; at: Date }[],
): Promise<void> {
  const ordered = uses.toSorted((a, b) => (a.authorizationId < b.authorizationId ? -1 : 1));
  await sql`
    update oauth_authorizations a
    set last_used_at = greatest(a.last_used_at, used.at)
    from unnest(${ordered.map((use) => use.authorizationId)}::uuid[], ${ordered.map((use) => use.orgId)}::uuid[],
      ${ordered.map((use) => use.at.toISOString())}::timestamptz[]) as used (id, org_id, at)
    where a.id = used.id
      and a.org_id = used.org_id`;
}

/** A client `c` that registered itself and that nobody lets act for them. */
const isUnused = (sql: Sql): Fragment => sql`
  c.org_id is null
  and not exists (select from oauth_authorizations a where a.app_id = c.id)`;

/**
 * Deletes the unused ones of clients that an earlier statement has locked; answers how many. They are judged again: an
 * approval that was committed between the look and the lock leaves no new version of the client behind.
 */
async function deleteUnused(tx: Sql, locked: readonly { id: string }[]): Promise<number> {
  if (locked.length === 0) return 0;
  const rows = await tx`/* all orgs */
    delete from oauth_clients c
    where c.id = any(${locked.map(({ id }) => id)}::uuid[])
      and ${isUnused(tx)}
    returning 1`;
  return rows.length;
}

/**
 * Deletes unused clients beyond the newest `most` of their kind: those that registered themselves, or those that are
 * named by a document, which are as new as their document was read.
 */
export const dropUnusedBeyond = (sql: Database, most: number, kind: 'registered' | 'document'): Promise<number> =>
  sql.begin(async (tx) => {
    const locked = await tx<{ id: string }[]>`/* all orgs */
      select id
      from oauth_clients
      where id in (
        select c.id
        from oauth_clients c
        where ${isUnused(tx)}
          and ${kind === 'document' ? tx`c.document_until is not null` : tx`c.document_until is null`}
        order by ${kind === 'document' ? tx`c.updated_at` : tx`c.created_at`} desc, c.id desc offset ${most}
      )
      for update skip locked`;
    return deleteUnused(tx, locked);
  });

/** Deletes unused clients that registered themselves 30 days ago, at most `limit`; answers how many. */
export const dropUnusedClients = (sql: Database, limit: number): Promise<number> =>
  sql.begin(async (tx) => {
    const locked = await tx<{ id: string }[]>`/* all orgs */
      select c.id
      from oauth_clients c
      where ${isUnused(tx)}
        and c.created_at < now() - interval '30 days'
      limit ${limit}
      for update skip locked`;
    return deleteUnused(tx, locked);
  });
