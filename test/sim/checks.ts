import type { Fragment } from '../../src/platform/db/index.ts';
import type { Request } from './network.ts';
import type { World } from './known.ts';
import { findBroken, findHeld, findUnsettled } from './standing.ts';
import { ORDERLY } from './swarm.ts';

/** Something that the product promises did not hold. */
export class Violation extends Error {}

/**
 * Times are by the database's clock, as whole milliseconds. `lostMs`: since when the answer to its attempt is missing;
 * `incarnation`: the start of the process whose attempt it is.
 */
interface Row
  extends
    Record<'id' | 'state', string>,
    Record<'detail' | 'errorKind' | 'error' | 'releaseId' | 'incarnation', string | null>,
    Record<'publishMs' | 'dueMs' | 'claimedMs' | 'lostMs', number | null> {
  deleted: boolean;
}

/** How late something that is due may be done once nothing is broken any more. */
export const SETTLES_MS = 60_000;
/** How late a post may leave a host that has nothing else to do. */
const LATE_MS = 3_000;
/** How long a host that was killed may keep what it had claimed, while another one is there. */
const HELD_MS = 10_000;

/** What must hold after each step, and what must have become of everything in the end. */
export function openChecks(world: World) {
  const { kernel, sql } = world;
  const { faults } = world.swarm;
  /** Found where nobody waits for it, and thrown at the next look. */
  let later: Violation | undefined;
  function fail(message: string): never {
    throw (later ??= new Violation(message));
  }

  const rows = (which: Fragment) => sql<Row[]>`
    select p.id, p.state, p.detail, p.error_kind as "errorKind", p.error, p.release_id as "releaseId",
      extract(epoch from p.publish_date)::float8 * 1000 as "publishMs",
      extract(epoch from p.due_at)::float8 * 1000 as "dueMs",
      extract(epoch from p.claimed_at)::float8 * 1000 as "claimedMs",
      extract(epoch from lost_at(p))::float8 * 1000 as "lostMs", p.deleted_at is not null as deleted, p.incarnation
    from posts p
    where ${which}
    order by p.id`;

  /** A brake that was confirmed before something was claimed, and that nobody had asked to release by then. */
  const brakeOn = (orgId: string, channelId: string, claimedMs: number) =>
    world.people.brakes.find(
      (brake) =>
        brake.orgId === orgId &&
        (brake.channelId === undefined || brake.channelId === channelId) &&
        Math.floor(brake.from) < claimedMs &&
        claimedMs < Math.floor(brake.until),
    );

  /** Others go on without a process that stood still or was cut off, and behind a silent one whose post they can find. */
  const isAlive = ({ process, id, at, endedAt }: Request, by: Request['process']) =>
    endedAt === undefined &&
    !process.dead &&
    Math.max(process.frozenUntil, process.awayUntil) < at &&
    (process === by || world.networks.findAll('post', id).length === 0);

  function asked(request: Request): void {
    if (request.kind !== 'post') return;
    const { channelId, process } = request;
    const other = world.networks.requests.find(
      (one) => one !== request && one.kind === 'post' && one.channelId === channelId && isAlive(one, process),
    );
    if (other) fail(`I3: the channel ${channelId} sends ${request.id} while it sends ${other.id}`);
  }

  async function received(request: Request): Promise<void> {
    if (request.kind !== 'post') return receivedFollowUp(request);
    const [row] = await rows(sql`p.id = ${request.id}`);
    if (!row) fail(`I1: the post ${request.id} is sent, and has no row`);
    const known = world.people.posts.get(request.id);
    if (row.publishMs === null || row.publishMs > request.at)
      fail(`I4: the post ${request.id} is sent ${(row.publishMs ?? 0) - request.at} ms early`);
    if (row.state !== 'QUEUE') fail(`the post ${request.id} is sent, and its row says ${row.state} ${row.detail}`);
    if (row.lostMs !== null && row.lostMs < request.at)
      fail(`I9: the post ${request.id} is sent ${request.at - row.lostMs} ms after its host was given up`);
    const own = world.hosts.find(({ process }) => process === request.process)?.context?.incarnation;
    if (row.detail === 'publishing' && own !== undefined && row.incarnation !== own)
      fail(`I9: the post ${request.id} is sent by ${request.process.name}, and another host has claimed it`);
    await behindOthers(request);
    await rested(request);
    if ([...faults].every((fault) => fault in ORDERLY)) inTime(request, row);
    if (!known) return; // of a series: only its first post is known by name
    const brake = brakeOn(known.orgId, known.channelId, row.claimedMs ?? 0);
    if (brake)
      fail(`brake: the post ${request.id} was claimed ${(row.claimedMs ?? 0) - brake.from} ms after the pause`);
    if (known.deleted === 'yes') fail(`the post ${request.id} is sent after its deletion`);
    if (!known.texts.has(request.text)) fail(`the post ${request.id} is sent as "${request.text}", edited since`);
    if (known.isHeld && !known.approved.has(request.text))
      fail(`approval: the post ${request.id} is sent as "${request.text}", which nobody approved`);
  }
  /** None leaves before its network wants one, once a host has written down that it was told so. */
  async function rested({ id, channelId, at: sentAt }: Request): Promise<void> {
    const { until, at } = world.networks.limited.get(channelId) ?? { until: 0, at: 0 };
    if (until <= sentAt + 1_000) return;
    const [told] = await sql<{ id: string }[]>`
      select p.id
      from post_timeline t
      join posts p on p.id = t.post_id
      where p.channel_id = ${channelId} and t.kind = 'rate_limited' and t.at >= to_timestamp(${at / 1_000})
      limit 1`;
    if (told) fail(`the post ${id} is sent ${until - sentAt} ms before the network wanted the next one`);
  }
  /** Where no host ends and nobody acts, each post leaves when it is due. */
  function inTime({ id, channelId, once, at }: Request, { dueMs }: Row): void {
    const ends = world.networks.requests.filter((one) => one.channelId === channelId && one.id !== id);
    const { until } = world.networks.limited.get(channelId) ?? { until: 0 };
    const free = Math.max(dueMs ?? at, until, ...ends.map(({ endedAt }) => endedAt ?? at));
    const prepares = once === 'two-phase' && faults.has('slow'); // the network has its time before
    if (!faults.has('answers') && !prepares && at - free > LATE_MS) fail(`the post ${id} is sent ${at - free} ms late`);
  }
  /** An answer that is missing keeps its channel for a while: the next post may not overtake it. */
  async function behindOthers({ id, channelId }: Request): Promise<void> {
    const [other] = await sql<{ id: string }[]>`
      select p.id
      from posts p
      where p.channel_id = ${channelId} and p.id <> ${id} and p.state = 'QUEUE' and p.detail = 'unconfirmed'
        and lost_at(p) > to_timestamp(${(kernel.now - 50_000) / 1_000})
      limit 1`;
    if (other) fail(`I3: the post ${id} overtakes ${other.id}, whose answer is missing`);
  }
  /** What a resume has planned keeps its spacing. */
  function planned(plan: readonly { postId: string; at: Date }[], spacingMs: number): void {
    const channelOf = ({ postId }: { postId: string }) => {
      const post = world.people.posts.get(postId);
      return post?.root === undefined ? post?.channelId : undefined;
    };
    for (const [channelId, held] of Map.groupBy(plan, channelOf)) {
      const sorted = held.map(({ at }) => at.getTime()).toSorted((a, b) => a - b);
      if (channelId !== undefined && sorted.some((time, n) => n > 0 && time - sorted[n - 1]! < spacingMs))
        fail(`brake: of ${channelId} two posts are resumed within ${spacingMs} ms`);
    }
  }
  /** A first comment, or what a plug does. */
  async function receivedFollowUp(request: Request): Promise<void> {
    const [row] = await sql<{ state: string; claimedMs: number; orgId: string }[]>`
      select f.org_id as "orgId", p.state, extract(epoch from f.claimed_at)::float8 * 1000 as "claimedMs"
      from post_follow_ups f
      join posts p on p.id = f.post_id
      where f.id = ${request.id}`;
    if (!row) fail(`I7: the ${request.kind} ${request.id} is sent, and has no row`);
    if (row.state !== 'PUBLISHED') fail(`the ${request.kind} ${request.id} is sent below a post that is ${row.state}`);
    const brake = brakeOn(row.orgId, request.channelId, row.claimedMs);
    if (brake) fail(`brake: the ${request.kind} ${request.id} was claimed after the pause`);
  }

  function taken({ kind, id }: Request, before: number): void {
    if (before > 0) fail(`${kind === 'post' ? 'I2' : 'I7'}: the ${kind} ${id} is out twice`);
  }

  /** A receiver got other bytes under an id that it knows. */
  const changed = (id: string) => void (later ??= new Violation(`W: the delivery ${id} comes again with other bytes`));
  /** Posts that count against the plan of an organization. */
  async function postsOf(orgId: string): Promise<number> {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from posts where org_id = ${orgId} and root_post_id is null
        and (detail is distinct from 'paused' or error_kind is distinct from 'billing_required')`;
    return row!.n;
  }

  /** What holds between any two commits. */
  async function standing(): Promise<void> {
    if (later) throw later;
    const wrong = await findBroken(sql, world.people.posts.values(), kernel.now);
    if (wrong) fail(wrong);
    const held = await findHeld(sql, followed());
    if (held) fail(`takeover: ${held} ${HELD_MS} ms after its host was killed`);
    for (const { id, most } of world.people.orgs) {
      const there = await postsOf(id);
      if (there > most) fail(`limits: the organization ${id} has ${there} posts, of ${most}`);
    }
  }

  /** Hosts that were killed so long ago that another one, which nothing has held up since, has taken over from them. */
  function followed(): string[] {
    if (faults.has('cut') || faults.has('skew')) return []; // nobody knows when another one could see it
    const isSteady = (since: number) =>
      world.hosts.some(({ process, upAt }) => !process.dead && upAt <= since && process.frozenUntil <= since);
    return world.hosts
      .filter(({ incarnation, diedAt }) => incarnation !== '' && diedAt < kernel.now - HELD_MS && isSteady(diedAt))
      .map(({ incarnation }) => incarnation);
  }

  const unsettled = () => findUnsettled(sql, kernel.now);

  /** What must have become of all that was confirmed. */
  async function ended(): Promise<void> {
    const there = new Map((await rows(sql`true`)).map((row) => [row.id, row]));
    for (const { id, created, deleted } of world.people.posts.values()) {
      if (created !== 'yes') continue;
      const row = there.get(id);
      if (!row) fail(`I1: the post ${id} was confirmed, and is not there`);
      if (deleted === 'yes' && !row.deleted) fail(`the post ${id} was deleted, and is there`);
    }
    for (const row of there.values()) outcome(row);
    await comments();
    await deliveries();
  }
  /** Whatever a receiver got is a delivery that it can be told of again. */
  async function deliveries(): Promise<void> {
    const made = await sql<{ id: string; webhookId: string }[]>`
      select id, webhook_id as "webhookId" from webhook_deliveries order by id`;
    const known = new Map(made.map(({ id, webhookId }) => [`msg_${id}`, webhookId]));
    for (const [id, { webhook }] of world.receivers.got)
      if (known.get(id) !== webhook) fail(`W: the receiver ${webhook} got ${id}, which is no delivery of it`);
  }
  function outcome(row: Row): void {
    const out = world.networks.findAll('post', row.id);
    if (row.state === 'PUBLISHED') {
      if (out.length === 0) fail(`I1: the post ${row.id} is said to be published, and the network does not have it`);
      const known = world.people.posts.get(row.id);
      if (known && !known.texts.has(out[0]!.request.text))
        fail(`the post ${row.id} is out as "${out[0]!.request.text}", and a newer edit was confirmed`);
      if (row.releaseId !== out[0]!.release) fail(`the post ${row.id} has the release of another`);
    } else if (row.state === 'ERROR') {
      if (row.errorKind === null || row.error === null) fail(`I1: the post ${row.id} failed without a reason`);
      if (out.length > 0 && row.errorKind !== 'unconfirmed')
        fail(`I2: the post ${row.id} is said to have failed (${row.errorKind}: ${row.error}), and is out`);
    } else if (out.length > 0) fail(`I2: the post ${row.id} is out, and is ${row.state} ${row.detail}`);
  }
  async function comments(): Promise<void> {
    const wanted = await sql<{ postId: string; id: string | null; state: string | null; count: number }[]>`
      select p.id as "postId", min(f.id::text) as id, min(f.state) as state, count(f.id)::int as count
      from posts p
      left join post_follow_ups f on f.post_id = p.id and f.kind = 'first_comment'
      where p.state = 'PUBLISHED' and p.root_post_id is null and p.settings ->> 'firstComment' <> ''
      group by p.id
      order by p.id`;
    for (const { postId, id, state, count } of wanted) {
      if (count !== 1 || id === null) fail(`the post ${postId} is out, and nothing of its first comment is known`);
      if (state === 'done' && world.networks.findAll('comment', id).length !== 1)
        fail(`I7: the first comment of ${postId} is said to be out, and is not`);
    }
  }

  return { asked, received, taken, planned, changed, postsOf, standing, followed, unsettled, ended };
}
export type Checks = ReturnType<typeof openChecks>;
