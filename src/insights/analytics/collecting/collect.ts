import type { Published, SocialAdapter } from '../../../providers/registry/index.ts';
import type { WithoutSlot } from '../../../publishing/posts/index.ts';
import { type Collection, COLLECTION_CLAIM_MS, endCollection, postponeCollection } from './collection-store.ts';
import { hasChannelsLeft } from './run-store.ts';
import { completeRun } from './complete.ts';
import { plusDays, utcDayOf } from '../days.ts';
import { type AnalyticsDeps, hasNumbers } from '../deps.ts';
import { CHANNEL_DAYS, countsOfPost, FLOWS, type Point, toldOfChannel } from '../rules.ts';
import { type CountedPost, findReleasedPosts, upsertDays, upsertPostDays } from './snapshot-store.ts';
import type { InQueue } from './statement-queue.ts';

/** A channel that could not be read is tried three more times, an hour apart. */
const MORE_TRIES = 3;
const AGAIN_MS = 3_600_000;
/** Calls for counts of posts in one collection of a channel, and how long they may take. */
const MOST_PAGES = 300;
const PATIENCE_MS = 5 * 60_000;
/** So often a page that is refused is halved in one collection of a channel. */
const MOST_HALVINGS = 16;
/** Posts whose counts are read in one call, whatever the network takes, and written in one statement. */
const MOST_AT_ONCE = 1_000;

type Failed = NonNullable<Awaited<ReturnType<AnalyticsDeps['posts']['readWithoutSlot']>>>;
const TOO_SLOW: Failed = { kind: 'unavailable', message: 'The network took too long for all posts' };
/** What became of a channel. `flows`: its posts were read, and these are to be derived from them. */
type Read = (ReadPosts & { flows: readonly string[] }) | 'not wanted';

interface Reading {
  collection: Collection;
  adapter: SocialAdapter;
  caller: WithoutSlot;
  inQueue: InQueue;
}

/**
 * Reads the numbers of a claimed channel, and completes the run of its organization where it was the last. `inQueue`:
 * what keeps its statements behind those of publishing.
 */
export async function collectChannel(deps: AnalyticsDeps, collection: Collection, inQueue: InQueue): Promise<void> {
  const done = await read(deps, collection, inQueue);
  await inQueue(async () => {
    await settle(deps, collection, done);
    if (!(await hasChannelsLeft(deps.sql, collection))) await completeRun(deps, collection);
  });
}

async function read(deps: AnalyticsDeps, collection: Collection, inQueue: InQueue): Promise<Read> {
  const { orgId, channelId, channel, needsLogin } = collection;
  if (!channel) return 'not wanted';
  if (needsLogin) return { failed: { kind: 'reauthorize', message: 'The channel needs a new login' }, flows: [] };
  const adapter = deps.channels.adapterOf(channel);
  if (!adapter || !hasNumbers(deps, adapter)) return 'not wanted';
  const caller = { orgId, channelId, channel, heldSince: deps.clock.monotonic(), leaseMs: COLLECTION_CLAIM_MS };
  const reading = { collection, adapter, caller, inQueue };
  const days = await readDays(deps, reading);
  if (days.failed && !isOfThisCall(days.failed)) return { ...days, flows: [] };
  const { failed, gap } = await readPosts(deps, reading);
  if (failed) return { failed, flows: [] };
  return { failed: days.failed, gap, flows: FLOWS.filter((metric) => !days.own.has(metric)) };
}

/** The network is there, and has no such answer. */
const isOfThisCall = (failed: Failed): failed is Exclude<Failed, { kind: 'paced' }> =>
  failed.kind === 'rejected' || failed.kind === 'unsupported';

async function readDays(
  { posts, clock, sql, log }: AnalyticsDeps,
  { collection, adapter, caller, inQueue }: Reading,
): Promise<{ own: ReadonlySet<string>; failed: Failed | undefined }> {
  let own: ReadonlySet<string> = new Set<string>();
  if (!adapter.channelMetrics) return { own, failed: undefined };
  const days = { from: plusDays(collection.day, 1 - CHANNEL_DAYS), to: collection.day };
  let points: readonly Point[] = [];
  const failed = await posts.readWithoutSlot(caller, async ({ social }) => {
    const told = toldOfChannel((await social.channelMetrics?.(days)) ?? [], days, utcDayOf(clock.now()));
    if (told.leftOut.length > 0)
      log.warn({ provider: adapter.id, metrics: told.leftOut }, 'a network told values that are no counts: left out');
    ({ points, own } = told);
  });
  if (points.length > 0) await inQueue(() => upsertDays(sql, collection, points));
  return { own, failed };
}

interface ReadPosts {
  failed: Failed | undefined;
  /** Why posts were left out that nobody tries again today. */
  gap?: string | undefined;
}
/**
 * Reads the counts of the channel's posts, as many as the network takes in a call. A page that the network refuses is
 * halved, so that a post for which it does takes no other with it.
 */
async function readPosts(deps: AnalyticsDeps, { collection, adapter, caller, inQueue }: Reading): Promise<ReadPosts> {
  const { sql, clock, posts, postDaysBack, mostPages } = deps;
  if (!adapter.metrics) return { failed: undefined };
  const atOnce = Math.min(adapter.metricsAtOnce ?? 1, MOST_AT_ONCE);
  const limit = atOnce * Math.min(mostPages[adapter.id] ?? MOST_PAGES, MOST_PAGES);
  const found = await inQueue(() => findReleasedPosts(sql, collection, { daysBack: postDaysBack, limit: limit + 1 }));
  const wanted = found.slice(0, limit);
  const ids = new Map(wanted.map(({ id, release }) => [release.id, id]));
  const counted = new Map<string, CountedPost>();
  const keep = async () => {
    if (counted.size > 0) await inQueue(() => upsertPostDays(sql, collection, [...counted.values()]));
    counted.clear();
  };
  const met = { answers: 0, halvings: 0, refusal: undefined as string | undefined };
  async function readPage(page: readonly Published[]): Promise<Failed | undefined> {
    const failed = await posts.readWithoutSlot(caller, async ({ social }) => {
      for (const { id: release, counts } of (await social.metrics?.([...page])) ?? []) {
        const id = ids.get(release);
        if (id !== undefined) counted.set(id, { id, counts: countsOfPost(counts) });
      }
      met.answers += 1;
    });
    if (!failed || !isOfThisCall(failed)) return failed;
    met.refusal = failed.message;
    if (page.length === 1 || failed.kind !== 'rejected' || met.halvings === MOST_HALVINGS) return undefined;
    met.halvings += 1;
    const half = Math.ceil(page.length / 2);
    return (await readPage(page.slice(0, half))) ?? (await readPage(page.slice(half)));
  }
  const since = clock.monotonic();
  for (let at = 0; at < wanted.length; at += atOnce) {
    const failed =
      clock.monotonic() - since < PATIENCE_MS
        ? await readPage(wanted.slice(at, at + atOnce).map(({ release }) => release))
        : TOO_SLOW;
    if (failed || counted.size >= MOST_AT_ONCE) await keep();
    if (failed) return { failed };
  }
  await keep();
  if (met.answers === 0 && met.refusal !== undefined) return { failed: undefined, gap: met.refusal };
  const gap = `Only ${limit} posts are read on one day, and it has more`;
  return { failed: undefined, ...(found.length > limit && { gap }) };
}

async function settle({ sql, channels }: AnalyticsDeps, collection: Collection, done: Read): Promise<void> {
  const { orgId, channelId, channel, failures } = collection;
  if (done === 'not wanted') return endCollection(sql, collection, { flows: [] });
  const { failed, gap, flows } = done;
  if (failed?.kind === 'paced')
    return void (await postponeCollection(sql, collection, { ms: failed.againMs, failures }));
  if (failed?.kind === 'reauthorize' && channel)
    await channels.needsLogin(orgId, channelId, failed.message, channel.credentials);
  else if (failed && failures < MORE_TRIES)
    return void (await postponeCollection(sql, collection, { ms: AGAIN_MS, failures: failures + 1 }));
  await endCollection(sql, collection, { flows, reason: failed?.message ?? gap });
}
