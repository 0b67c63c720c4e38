import { randomUUID } from 'node:crypto';
import channel from '../../actors/channel/actor.ts';
import { channelActor } from '../../actors/channel/contract.ts';
import organization from '../../actors/organization/actor.ts';
import { organizationActor } from '../../actors/organization/contract.ts';
import post from '../../actors/post/actor.ts';
import { postActor } from '../../actors/post/contract.ts';
import { startReconciler } from '../../actors/reconciler.ts';
import { openEmbeddedEngine } from '../../src/actor-runtime/embedded/index.ts';
import { actorsOf, createHost, type HostLimits } from '../../src/actor-runtime/index.ts';
import type { Billing } from '../../src/billing/index.ts';
import { needsLogin, disable, enable, remove } from '../../src/channels/moves.ts';
import { type Database, openDatabase, openLease } from '../../src/db/index.ts';
import { type Clock, newId, systemClock, tenantKey } from '../../src/kernel/index.ts';
import { type Create, type NewPost, openPosts, type Posts, type PostsOptions } from '../../src/posts/index.ts';
import type { Connected } from '../../src/posts/ports.ts';
import type { Handle, LookUp, Post, Published } from '../../src/providers/index.ts';
import { overdueWebhooks } from '../../src/webhooks/index.ts';
import { testBilling } from './billing.ts';
import { quietLog } from './quiet-log.ts';

export interface Sent {
  at: number;
  channelId: string;
  postId: string;
  text: string;
  settings: unknown;
  handle: Handle;
}
type Once = Connected['once'];

/** A network in the process of the test: what it is told to do, and a ledger of what it was asked and what it took. */
export function openNetwork() {
  const asked: Sent[] = [];
  const taken: { channelId: string; postId: string; text: string }[] = [];
  const inFlight = new Map<string, number>();
  const network = {
    asked,
    taken,
    /** The greatest number of calls that one channel had under way. */
    mostAtOnce: 0,
    once: 'read-back' as Once,
    lane: 'fake',
    settlesWithinMs: undefined as number | undefined,
    latencyMs: 0,
    looks: 0,
    /** What a publish does instead of taking the post; `accept` takes it. */
    behave: undefined as ((post: Post, sent: Sent, accept: () => Published) => Promise<Published | { processingMs: number }>) | undefined,
    find: undefined as ((post: Post, attempt: LookUp) => Promise<Published | readonly Published[] | undefined>) | undefined,
    connect: async (_orgId: string, channelId: string): Promise<Connected> => ({
      once: network.once,
      lane: network.lane,
      timeoutMs: 1_000,
      settlesWithinMs: network.settlesWithinMs,
      social: {
        profile: () => Promise.reject(new Error('not asked here')),
        async publish(one, settings, handle) {
          const now = (inFlight.get(channelId) ?? 0) + 1;
          inFlight.set(channelId, now);
          network.mostAtOnce = Math.max(network.mostAtOnce, now);
          const sent = { at: Date.now(), channelId, postId: one.id, text: one.text, settings, handle };
          asked.push(sent);
          const accept = (): Published => {
            taken.push({ channelId, postId: one.id, text: one.text });
            return { id: `r-${one.id}`, url: `https://fake.example/${one.id}`, saved: { n: taken.length } };
          };
          try {
            if (network.latencyMs > 0) await systemClock.sleep(network.latencyMs);
            return network.behave ? await network.behave(one, sent, accept) : accept();
          } finally {
            inFlight.set(channelId, inFlight.get(channelId)! - 1);
          }
        },
        ...(network.once !== 'at-most-once' && {
          async find(one: Post, _settings: unknown, attempt: LookUp) {
            network.looks += 1;
            if (network.find) return network.find(one, attempt);
            return taken.some(({ postId }) => postId === one.id) ? { id: `r-${one.id}`, url: `https://fake.example/${one.id}` } : undefined;
          },
        }),
      },
    }),
  };
  return network;
}
export type Network = ReturnType<typeof openNetwork>;

const openRules = (): ReturnType<PostsOptions['channels']['rules']> => ({
  title: 'Fake',
  limits: { text: 100, unit: 'characters', media: 4, mediaTypes: ['image/*'] },
  checkSettings: () => {},
});
const noMedia: PostsOptions['media'] = { load: async () => [], judge: async () => {}, settled: async () => {} };
const noLinks: PostsOptions['links'] = { plan: async () => {}, isAsked: async () => false, replan: async () => {}, decide: async () => [] };

interface WorldOptions {
  url: string;
  network: Network;
  options?: Partial<PostsOptions['options']>;
  limits?: Partial<HostLimits>;
  onStatement?: (text: string) => void;
  clock?: Clock;
  /** Of the room of posts, when it is to have another one than the engine. */
  postsClock?: Clock;
  media?: PostsOptions['media'];
  links?: (sql: Database) => PostsOptions['links'];
  billing?: (sql: Database) => Billing;
  incarnation?: string;
}

/** One process: the embedded engine with the actors of publishing over a real database, and a network. */
export async function startPublisher({
  url,
  network,
  options = {},
  limits = {},
  onStatement,
  clock = systemClock,
  postsClock = clock,
  media = noMedia,
  links = () => noLinks,
  billing: openBilling = testBilling,
  incarnation = randomUUID(),
}: WorldOptions) {
  const sql = openDatabase({ url, connections: 8, ...(onStatement && { onStatement }) });
  const log = quietLog();
  const billing = openBilling(sql);
  const engine = await openEmbeddedEngine({ sql, clock, log, address: 'in the test', incarnation });
  const posts = openPosts({
    sql,
    clock: postsClock,
    media,
    links: links(sql),
    incarnation,
    beat: engine,
    log,
    nudges: {
      within: (tx, nudges) =>
        engine.remindWithin(
          tx,
          nudges.map(({ orgId, channelId, dueAt }) => ({ type: channelActor.type, id: tenantKey(orgId, channelId), name: 'due', due: dueAt, owner: orgId })),
        ),
    },
    channels: { connect: network.connect, rules: openRules },
    options: { horizonMs: 48 * 3_600_000, inFlight: 64, lateMs: 60_000, deletedDays: 30, ...options },
  });
  const channels = {
    needsLogin: (orgId: string, id: string, reason: string, seen?: string) => needsLogin(sql, orgId, id, reason, seen),
    enable: (orgId: string, id: string) => enable(sql, billing, orgId, id),
    disable: (orgId: string, id: string) => disable(sql, orgId, id),
    remove: (orgId: string, id: string) => remove(sql, orgId, id),
  };
  const actors = actorsOf(engine);
  const host = createHost({
    implementations: [organization, channel, post],
    needs: { clock, posts, channels, billing, webhooks: {} },
    actors,
    clock,
    log,
    limits,
  });
  const running = await engine.host(host);
  const reconciler = startReconciler({
    posts,
    webhooks: { overdue: (limit) => overdueWebhooks(sql, limit) },
    actors,
    remind: (list) => engine.remind(list),
    lease: openLease({ sql, name: 'reconciler', holder: incarnation, seconds: 15 }),
    clock,
    beat: engine,
    log,
    intervalMs: 3_600_000,
  });
  let stopped = false;
  return {
    sql,
    engine,
    posts,
    billing,
    actors,
    host,
    log,
    incarnation,
    reconciler,
    async [Symbol.asyncDispose]() {
      if (stopped) return;
      stopped = true;
      await reconciler[Symbol.asyncDispose]();
      await posts.handBack();
      await running[Symbol.asyncDispose]();
      await posts[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
      await sql.end({ timeout: 2 }); // a connection that was cut never answers its goodbye
    },
  };
}
export type Publisher = Awaited<ReturnType<typeof startPublisher>>;

/** An organization with channels of the fake network. */
export async function seedOrg(sql: Database, channels = 1) {
  const orgId = newId();
  const userId = newId();
  await sql`insert into organizations (id, name) values (${orgId}, 'Acme')`;
  await sql`insert into users (id, email, provider_name, provider_id) values (${userId}, ${`${userId}@example.com`}, 'local', ${userId})`;
  const channelIds = Array.from({ length: channels }, newId);
  await sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    select id, ${orgId}, 'fake', 'v1', id::text, 'Channel', 'v2:none' from unnest(${channelIds}::uuid[]) id`;
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
export const admit = ({ actors }: Pick<Publisher, 'actors'>, orgId: string, posts: NewPost[], more: Partial<Create> = {}) =>
  actors(organizationActor, orgId).admit({ posts, createdBy: newId(), ...more });
export const postOf = ({ actors }: Pick<Publisher, 'actors'>, orgId: string, postId: string) => actors(postActor, tenantKey(orgId, postId));
export const channelOf = ({ actors }: Pick<Publisher, 'actors'>, orgId: string, channelId: string) => actors(channelActor, tenantKey(orgId, channelId));

/** Waits until every post of the database is out of the queue, or in one of the details given. */
export async function settled(sql: Database, orgId: string, { details = [] as string[], timeoutMs = 20_000 } = {}) {
  const end = Date.now() + timeoutMs;
  for (;;) {
    const left = await sql<
      { id: string; state: string; detail: string | null }[]
    >`select id, state, detail from posts where org_id = ${orgId} and deleted_at is null and state = 'QUEUE' and not detail = any(${details})`;
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
    select state, detail, error_kind as "errorKind", error, attempt, release_id as "releaseId", due_at as "dueAt", publish_date as "publishDate", version from posts where id = ${postId}`
  )[0]!;
export type { Posts };
