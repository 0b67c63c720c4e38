import { openVault, encryptionKey, newId, randomBase62, sha256 } from '../../../src/platform/kernel/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import type { Child } from './child.ts';
import { ENCRYPTION_KEY } from './world.ts';

export interface Tenant {
  orgId: string;
  key: string;
  channels: string[];
}

/**
 * Orgs with an owner and an API key each, and sandbox channels over all of them; the way of signing up is not what is
 * measured. `account`: what the names of their accounts begin with; `server`: where the network says that it is, which
 * makes a lane of its own.
 */
export async function seedTenants(
  sql: Database,
  {
    orgs,
    channels,
    account: prefix = 'account',
    server,
  }: { orgs: number; channels: number; account?: string; server?: string },
): Promise<Tenant[]> {
  const vault = openVault(encryptionKey(ENCRYPTION_KEY));
  const tenants = Array.from({ length: orgs }, () => ({
    orgId: newId(),
    userId: newId(),
    key: `pm_live_${randomBase62(43)}`,
    channels: [] as string[],
  }));
  const connected = Array.from({ length: channels }, (_, n) => {
    const id = newId();
    const { orgId, channels: own } = tenants[n % orgs]!;
    own.push(id);
    const account = `${prefix}-${n}`;
    return {
      id,
      orgId,
      account,
      credentials: vault.seal(
        JSON.stringify({
          account,
          values: { name: account, ...(server !== undefined && { server }) },
          tokens: { accessToken: `sandbox.${account}` },
          grantedAt: new Date(),
        }),
      ),
    };
  });
  await sql`
    with t
      as (select *
        from json_to_recordset(${JSON.stringify(tenants.map(({ orgId, userId, key }) => ({ org: orgId, person: userId, prefix: key.slice(0, 12), hash: sha256(key).toString('hex'), id: newId() })))}::text::json)
      as t (org uuid, person uuid, prefix text, hash text, id uuid)),
    o as (insert into organizations (id, name) select org, 'Org' from t),
    u
      as (insert into users (id, email, provider_name, provider_id, activated)
        select person, person || '@example.com', 'local', person::text, true
        from t),
    f as (insert into user_profiles (user_id) select person from t),
    m as (insert into memberships (org_id, user_id, role_key) select org, person, 'owner' from t)
    insert into api_keys (id, org_id, user_id, name, prefix, key_hash)
    select id, org, person, 'bench', prefix, decode(hash, 'hex')
    from t`;
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    select id, "orgId", 'sandbox', 'v1', account, account, credentials
    from json_to_recordset(${JSON.stringify(connected)}::text::json) as t (id uuid, "orgId" uuid, account text,
      credentials text)`;
  // Not the empty tables: the planner would take them for empty ones as long as a connection keeps its plans, and read
  // all posts for each foreign key.
  await sql`analyze organizations, users, user_profiles, memberships, api_keys, channels`;
  return tenants.map(({ orgId, key, channels: own }) => ({ orgId, key, channels: own }));
}

/** Editors of organizations, as `{ id, orgId }` each; what they log in with is the caller's to add. */
export const seedPeople = (sql: Database, people: readonly { id: string; orgId: string }[]) => sql`
  with p as (
    select *
    from unnest(${people.map(({ id }) => id)}::uuid[], ${people.map(({ orgId }) => orgId)}::uuid[]) as t (id, org_id)
  ), u as (
    insert into users (id, email, provider_name, provider_id, activated)
    select id, id || '@example.com', 'local', id::text, true
    from p
  ), f as (
    insert into user_profiles (user_id)
    select id
    from p
  )
  insert into memberships (org_id, user_id, role_key)
  select org_id, id, 'editor'
  from p`;

export interface SeededPost {
  id: string;
  orgId: string;
  channelId: string;
  due: number;
}
export const CONTENT = `<p>${'x'.repeat(200)}</p>`;

/** Posts that wait, over all channels in turn, as the API would have stored them. */
export async function seedPosts(
  sql: Database,
  tenants: readonly Tenant[],
  count: number,
  due: (n: number) => Date,
  settings: object = {},
): Promise<SeededPost[]> {
  const channels = tenants.flatMap(({ orgId, channels: own }) => own.map((channelId) => ({ orgId, channelId })));
  const posts = Array.from({ length: count }, (_, n) => ({
    id: newId(),
    ...channels[n % channels.length]!,
    due: due(n).getTime(),
  }));
  for (let n = 0; n < count; n += 10_000)
    await sql`
      insert into posts (id, org_id, channel_id, group_id, state, detail, content, content_clean, settings,
        publish_date, due_at, creation_method)
      select id, "orgId", "channelId", id::text, 'QUEUE', 'scheduled', ${CONTENT}, true,
        ${JSON.stringify(settings)}::text::jsonb, to_timestamp(due / 1000), to_timestamp(due / 1000), 'API'
      from json_to_recordset(${JSON.stringify(posts.slice(n, n + 10_000))}::text::json) as t (id uuid, "orgId" uuid,
        "channelId" uuid, due float8)`;
  return posts;
}

/** Tells the channels of their posts, as a create would; the product's own sweep registers the reminders. */
export async function announce(sql: Database, posts: readonly SeededPost[]): Promise<void> {
  const first = new Map<string, number>();
  for (const { channelId, due } of posts) first.set(channelId, Math.min(due, first.get(channelId) ?? due));
  await sql`
    update channels c set due_version = c.due_version + 1, next_due_at = to_timestamp(t.due / 1000)
    from unnest(${[...first.keys()]}::uuid[], ${[...first.values()]}::float8[]) as t (id, due) where c.id = t.id`;
}

/** Gives the posts to a peer as its jobs; answers what waits for their end. */
export async function handedTo(child: Child, posts: readonly SeededPost[]): Promise<() => Promise<void>> {
  const left = (await child.ask({ do: 'add', posts })) as number;
  if (left < 0) throw new Error(`A peer had its last job ${-left} ms after the first was due`);
  return async () => {
    const failures = (await child.ask({ do: 'finished' })) as string[];
    if (failures.length > 0) throw new Error(failures[0]);
  };
}
