import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { channelActor, dueReminder } from '../../../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../../../actors/host/start.ts';
import { organizationActor } from '../../../../actors/organization/contract.ts';
import { postActor } from '../../../../actors/post/contract.ts';
import { sealCredentials } from '../../../../src/publishing/channels/credentials.ts';
import type { LoggedIn } from '../../../../src/publishing/channels/transitions/save-login.ts';
import { readConfig } from '../../../../src/platform/config/index.ts';
import { type ContextOptions, openContext } from '../../../../src/context.ts';
import { type Database, openDatabase } from '../../../../src/platform/db/index.ts';
import { type Clock, newId, openVault, systemClock, tenantKey } from '../../../../src/platform/kernel/index.ts';
import { facts, type Topic } from '../../../../src/platform/outbox/facts.ts';
import { planFollowUps } from '../../../../src/publishing/follow-ups/index.ts';
import type { Create, NewPost } from '../../../../src/publishing/posts/index.ts';
import { quietLog } from '../quiet-log.ts';
import { JWT_SECRET } from '../secret.ts';
import type { Network } from './network.ts';

export { openNetwork, type Network, type SentPost } from './network.ts';

/** A clock by which some waits last otherwise: `lasts` answers milliseconds, or what is waited for. */
export const clockWhere = (lasts: (ms: number) => number | Promise<void>): Clock => ({
  ...systemClock,
  sleep(ms, signal) {
    const real = lasts(ms);
    return typeof real === 'number' ? systemClock.sleep(real, signal) : real;
  },
});

interface WorldOptions extends Pick<ContextOptions, 'clock' | 'servers' | 'engine' | 'adapters'> {
  url: string;
  /** What the network `fake` is; without one there is none. */
  network?: Pick<Network, 'adapter'>;
  /** Names and sockets of outgoing calls. */
  wire?: ContextOptions['network'];
  env?: Record<string, string>;
  /** Reminders further away are not registered; the settings have whole hours only. */
  horizonMs?: number;
  onStatement?: (text: string) => void;
  connections?: number;
  /** Of its connections, for a test that looks for them. */
  applicationName?: string;
}

/** The rooms of one process, as the product opens them, over a database that is there. */
export async function openPublishing({
  url,
  network,
  env = {},
  horizonMs,
  onStatement,
  connections = 8,
  applicationName,
  wire,
  adapters = [],
  ...parts
}: WorldOptions) {
  await using opened = new AsyncDisposableStack();
  const sql = openDatabase({
    url,
    connections,
    ...(applicationName !== undefined && { applicationName }),
    ...(onStatement && { onStatement }),
  });
  opened.defer(() => sql.end({ timeout: 2 })); // a connection that was cut never answers its goodbye
  const folder = mkdtempSync(join(tmpdir(), 'rookery-publishing-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const { config } = readConfig({ JWT_SECRET, BACKEND_LISTEN_HOST: '127.0.0.1', DATA_FOLDER: folder, ...env });
  const log = quietLog();
  const edge = {
    ...parts,
    adapters: [...(network ? [network.adapter] : []), ...adapters],
    ...(wire && { network: wire }),
  };
  const context = opened.use(
    await openContext(
      {
        ...config,
        actors: { ...config.actors, ...(horizonMs !== undefined && { reminderHorizonHours: horizonMs / 3_600_000 }) },
      },
      { logs: { of: () => log }, actorTypes, channelReminder: dueReminder, sandboxUrl: undefined, sql, ...edge },
    ),
  );
  const open = opened.move();
  return { ...context, log, edge, [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/**
 * One process without the API, as the product opens and starts it: the embedded engine and its actors. Rounds of the
 * reconciler are the test's to make, and nobody hears facts, so that a test can read it.
 */
export async function startPublisher(options: WorldOptions) {
  await using opened = new AsyncDisposableStack();
  const context = opened.use(await openPublishing(options));
  const { sql, engine, bus, posts, billing, actors, incarnation, log, edge } = context;
  await sql`
    insert into leases (name, holder, expires_at) values ('listener webhooks', 'a test', now() + interval '1 hour')
    on conflict (name) do update set holder = excluded.holder, expires_at = excluded.expires_at`;
  const { host, reconciler } = opened.use(await startActors(context, { reconcileMs: 3_600_000 }));
  const running = opened.move();
  return {
    context,
    sql,
    engine,
    posts,
    billing,
    actors,
    host,
    log,
    incarnation,
    reconciler,
    /** What an API process beside this one is opened with. */
    beside: { ...edge, engine: { engine, bus } },
    async [Symbol.asyncDispose]() {
      await using _ = running;
      await checkFacts(sql);
    },
  };
}
/** Fails for a fact that no listener could hear. */
async function checkFacts(sql: Database): Promise<void> {
  const announced = await sql<{ topic: Topic; payload: unknown }[]>`
    select topic, payload from outbox`.catch(() => []); // a test may have taken its database away
  for (const { topic, payload } of announced) facts[topic].parse(payload);
}
export type Publisher = Awaited<ReturnType<typeof startPublisher>>;

const vault = openVault(readConfig({ JWT_SECRET }).config.secrets.encryptionKey);
/**
 * What a channel of the fake network is connected with, sealed: the account is the channel. `server`: what hangs at one
 * does not hold up another.
 */
export const sealedLogin = (channelId: string, server?: string): string =>
  sealCredentials(vault, { account: channelId, values: server === undefined ? {} : { server }, grantedAt: new Date() });

/** A login of an account of the fake network, at its end. */
export const loginOf = (account: string, more: Partial<LoggedIn> = {}): LoggedIn => ({
  newId: newId(),
  providerId: 'fake',
  providerVersion: 'v1',
  internalId: account,
  name: 'Channel',
  handle: '',
  picture: null,
  credentials: sealedLogin(account),
  tokenExpiresAt: null,
  mayReplace: true,
  ...more,
});
/** What the transitions of channels that start posts are handed, beside `billing`. */
export const startingWith = <B>(billing: B) => ({ billing, followUps: { plan: planFollowUps } });

/** An organization with channels of the fake network. */
export async function seedOrg(
  sql: Database,
  channels = 1,
  serverOf: (channelId: string) => string | undefined = () => undefined,
) {
  const orgId = newId();
  const userId = newId();
  await sql`insert into organizations (id, name) values (${orgId}, 'Acme')`;
  await sql`
    insert into users (id, email, provider_name, provider_id)
    values (${userId}, ${`${userId}@example.com`}, 'local', ${userId})`;
  const channelIds = Array.from({ length: channels }, newId);
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    select id, ${orgId}, 'fake', 'v1', id::text, 'Channel', sealed
    from unnest(${channelIds}::uuid[], ${channelIds.map((id) => sealedLogin(id, serverOf(id)))}::text[]) as c (id,
      sealed)`;
  return { orgId, userId, channelIds, channelId: channelIds[0]! };
}

/** A post to be stored, due at once unless said. */
export const newPost = (channelId: string, more: Partial<NewPost> = {}): NewPost => ({
  id: newId(),
  channelId,
  group: newId(),
  state: 'QUEUE',
  content: '<p>Hi</p>',
  media: [],
  settings: {},
  delayMinutes: 0,
  publishDate: null,
  tagIds: [],
  creationMethod: 'API',
  ...more,
});
export const admit = (
  { actors }: Pick<Publisher, 'actors'>,
  orgId: string,
  posts: NewPost[],
  more: Partial<Create> = {},
) => actors(organizationActor, orgId).admit({ posts, createdBy: newId(), ...more });
export const postActorOf = ({ actors }: Pick<Publisher, 'actors'>, orgId: string, postId: string) =>
  actors(postActor, tenantKey(orgId, postId));
export const channelActorOf = ({ actors }: Pick<Publisher, 'actors'>, orgId: string, channelId: string) =>
  actors(channelActor, tenantKey(orgId, channelId));
/** Waits until every post of the database is out of the queue, or in one of the details given. */
export async function settled(sql: Database, orgId: string, { details = [] as string[], timeoutMs = 50_000 } = {}) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const left = await sql<{ id: string; state: string; detail: string | null }[]>`
      select id, state, detail
      from posts
      where org_id = ${orgId} and deleted_at is null and state = 'QUEUE' and not detail = any(${details})`;
    if (left.length === 0) return;
    if (Date.now() > end) throw new Error(`Not settled: ${JSON.stringify(left.slice(0, 5))}`);
    await systemClock.sleep(20);
  }
}
export const stateOf = async (sql: Database, postId: string) =>
  (
    await sql<
      {
        state: string;
        detail: string | null;
        errorKind: string | null;
        error: string | null;
        attempt: number;
        releaseId: string | null;
        dueAt: Date | null;
        publishDate: Date;
        version: number;
      }[]
    >`
    select state, detail, error_kind as "errorKind", error, attempt, release_id as "releaseId", due_at as "dueAt",
      publish_date as "publishDate", version
    from posts
    where id = ${postId}`
  )[0]!;
