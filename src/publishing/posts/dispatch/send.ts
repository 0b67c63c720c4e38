import type { Database } from '../../../platform/db/index.ts';
import { LimiterClosed, openLimiter, type Place } from '../../../platform/flow/index.ts';
import { AppError, type Clock, draining, ProviderError } from '../../../platform/kernel/index.ts';
import { contentToText } from '../../../platform/content/index.ts';
import type { Media } from '../../../providers/registry/index.ts';
import { type Outcome, Release, type ClaimedPost } from './attempt.ts';
import type { Heartbeat, ChannelsPort, Connected, Link, LinksPort, Log, MediaPort } from '../ports.ts';
import { findOnNetwork, type LookedUp } from './look-up.ts';
import { HEARTBEAT_FRESH_MS, CALL_MS, SLOT_LEASE_MS, settles } from '../rules.ts';
import { markSent, saveHandle } from './marks.ts';
import { renew } from './recover.ts';

interface Needs {
  sql: Database;
  clock: Clock;
  channels: ChannelsPort;
  media: MediaPort;
  links: Pick<LinksPort, 'decide' | 'apply'>;
  heartbeat: Heartbeat;
  log: Log;
  late(ms: number): void;
  called(call: { provider: string; latenessMs: number; durationMs: number }): void;
  inFlight: number;
  perLane: number;
  /** Questions to networks at a time, and those in one lane. */
  lookUps: { inAll: number; perLane: number };
}
interface Ready {
  connected: Connected;
  files: readonly Media[];
  links: readonly Link[];
}
type Stage = 'preparing' | 'calling';
export interface Work {
  readonly claimed: ClaimedPost;
  stage: Stage;
  readonly since: number;
  /** By the monotonic clock: since when the rows have surely said that this host holds the slot. */
  heldSince: number;
  /** Another host has taken it over. */
  lost: boolean;
  /** Aborted when nobody waits for the network any more: nothing more may be sent. */
  readonly ended: AbortController;
}

const RENEW_MS = 15_000;
/** A call that fails after so long has hung. */
const HANGING_MS = 10_000;
/**
 * Ends what waits for an attempt that is over; one for all, because an abort without a reason makes an error with a
 * stack.
 */
const OVER = new Error('The attempt is over');
class NotSent extends Error {}

export interface Sender {
  /** Fresh token, place, adapter. A provider's failure is an outcome, never an exception. */
  send(claimed: ClaimedPost): Promise<Outcome>;
  /**
   * Asks the network for a post whose answer was lost, or that it still works on; waits for its turn among the
   * look-ups.
   */
  lookUp(claimed: ClaimedPost, about: 'unconfirmed' | 'processing'): Promise<Outcome>;
  /** From now on nothing is sent. */
  close(): void;
  underWay(): readonly Work[];
  readonly closed: boolean;
  readonly inFlight: number;
  readonly waiting: number;
  [Symbol.dispose](): void;
}

/** What a provider says is kept in rows: no U+0000, no half characters, not without end. */
const clean = (text: string): string => text.replaceAll('\0', '').toWellFormed().slice(0, 2_000);

const cleanJson = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (_, inner: unknown) =>
    typeof inner === 'string' ? inner.replaceAll('\0', '').toWellFormed() : inner,
  );

type Failure = Extract<Outcome, { mediaFault?: boolean }>;
const failure = (error: unknown): Failure | undefined =>
  error instanceof ProviderError
    ? { kind: error.failure, message: clean(error.message), retryAfterMs: error.retryAfterMs }
    : undefined;

const postOf = (
  { links: { apply } }: Pick<Needs, 'links'>,
  claimed: ClaimedPost,
  links: readonly Link[],
  files: readonly Media[],
) => ({
  id: claimed.postId,
  text: apply(contentToText(claimed.content), links),
  media: files,
});
function released(answer: unknown): Outcome {
  const release = Release.safeParse(answer);
  if (!release.success) return { kind: 'lost', message: 'The network answered something that cannot be read' };
  const { id, url, saved } = release.data;
  return {
    kind: 'published',
    release: { id: clean(id), url: clean(url), ...(saved !== undefined && { saved: cleanJson(saved) }) },
  };
}

/**
 * A post of the network that may be another post's is never taken for it: a person decides, unless the other post is
 * about to be settled.
 */
const unclear = ({ similar, pending }: Extract<LookedUp, { kind: 'unclear' }>): Outcome =>
  pending
    ? {
        kind: 'lost',
        message:
          'The network shows a post like this one, and another post of the channel that it may be is not settled yet',
      }
    : {
        kind: 'undecided',
        message: 'The network shows posts that look like this one: name its release, or retry with confirm',
        similar: similar.map(({ id, url }) => ({ id: clean(id), url: clean(url) })),
      };

/** Sends what was claimed, beside the turns. Every wait of it is bounded. */
export function openSender(needs: Needs): Sender {
  const { sql, clock, channels, media, heartbeat, log } = needs;
  const limiter = openLimiter({ total: needs.inFlight, perLane: needs.perLane, perOwner: 'share' });
  // of their own: a network that hangs when it is asked holds up no post
  const lookUps = openLimiter({ total: needs.lookUps.inAll, perLane: needs.lookUps.perLane, perOwner: 'share' });
  const works = new Set<Work>();
  let closed = false;

  // Slots of posts that wait for their turn are prolonged, so that a long queue is not taken for a dead host.
  async function renewSlots(): Promise<void> {
    const since = clock.monotonic();
    const old = [...works].filter(({ stage, heldSince }) => stage === 'preparing' && since - heldSince > RENEW_MS);
    try {
      await hold(old);
    } catch (error) {
      log.warn({ err: error, slots: old.length }, 'slots could not be prolonged');
    }
  }
  /** Prolongs slots, and learns which of them others hold by now. */
  async function hold(held: readonly Work[]): Promise<void> {
    const since = clock.monotonic();
    const still = await renew(
      sql,
      held.map(({ claimed }) => claimed),
      SLOT_LEASE_MS,
    );
    for (const work of held) {
      if (still.has(work.claimed.postId)) work.heldSince = since;
      else work.lost = true;
    }
  }
  /**
   * Nobody can have taken the post over: others do so after a silence of this host, or when the time of the slot is
   * over.
   */
  const isSafe = (work: Work) =>
    !closed &&
    !work.lost &&
    heartbeat.heartbeatAgeMs() <= HEARTBEAT_FRESH_MS &&
    heartbeat.steadySince() <= work.heldSince &&
    clock.monotonic() - work.heldSince <= SLOT_LEASE_MS - CALL_MS;

  const renewal = setInterval(() => void renewSlots(), RENEW_MS / 3);
  renewal.unref();

  /**
   * Ends with `lost` when the network takes longer than one publish may last, and breaks off what is under way. Whoever
   * calls it ends the attempt, and with it the wait.
   */
  const inTime = <T>(call: Promise<T>, ended: AbortController): Promise<T> => Promise.race([call, tooLate(ended)]);
  async function tooLate(ended: AbortController): Promise<never> {
    await clock.sleep(CALL_MS, ended.signal);
    ended.abort();
    throw new ProviderError('lost', `No answer within ${Math.round(CALL_MS / 1000)} s`);
  }

  /** The files of a post, until `over` says that nobody needs them any more. */
  async function filesOf({ orgId, media: items, channel }: ClaimedPost, over: AbortSignal): Promise<readonly Media[]> {
    if (items.length === 0) return [];
    return media.load(orgId, items, {
      signal: over,
      limits: channels.rules(channel.providerId, channel.providerVersion).limits,
    });
  }

  async function prepare({ claimed, ended }: Work): Promise<Ready | Outcome> {
    let connected: Connected;
    try {
      connected = await channels.connect(claimed.orgId, claimed.channelId, claimed.channel, ended.signal);
    } catch (error) {
      if (error instanceof AppError && !(error instanceof ProviderError) && error.status < 500)
        return { kind: 'unsupported', message: clean(error.message) }; // the provider's version was retired
      return before(error, 'the channel could not be opened');
    }
    let files: readonly Media[];
    try {
      files = await filesOf(claimed, ended.signal);
    } catch (error) {
      const outcome = before(error, 'the media could not be loaded');
      return outcome.kind === 'rejected' ? { ...outcome, mediaFault: true } : outcome;
    }
    try {
      return {
        connected,
        files,
        links: claimed.links.every(({ decided }) => decided)
          ? claimed.links
          : await needs.links.decide(claimed.orgId, claimed.postId),
      };
    } catch (error) {
      return before(error, 'its links could not be decided');
    }
  }
  /** Nothing has left yet, so whatever went wrong may be tried again. */
  function before(error: unknown, what: string): Failure {
    const known = failure(error);
    if (known) return known.kind === 'lost' ? { ...known, kind: 'unavailable' } : known;
    log.error({ err: error }, what);
    return { kind: 'unavailable', message: 'Something went wrong on our side before the post was sent' };
  }

  async function publish(work: Work, { connected, files, links }: Ready): Promise<Outcome> {
    const { claimed } = work;
    const place = await limiter.enter(claimed.orgId, { lane: connected.lane });
    let latenessMs = 0;
    let called: number | undefined;
    let failed = false;
    try {
      if (!closed && !isSafe(work)) await hold([work]); // a silence of this host, or a long wait: only the rows know
      if (!isSafe(work)) throw new NotSent();
      if (connected.once === 'at-most-once' && !(await markSent(sql, claimed))) throw new NotSent();
      if (!isSafe(work)) throw new NotSent(); // right before the call: nothing is awaited between
      work.stage = 'calling';
      called = clock.monotonic();
      latenessMs = claimed.lateMs + (called - work.since);
      needs.late(latenessMs);
      const answer = await inTime(
        connected.social.publish(postOf(needs, claimed, links, files), claimed.settings, {
          saved: claimed.saved,
          thread: claimed.thread,
          async save(handle) {
            if (!(await saveHandle(sql, claimed, cleanJson(handle))))
              throw new ProviderError('lost', 'This host was replaced while it was sending');
          },
        }),
        work.ended,
      );
      if ('processingMs' in answer) return { kind: 'processing', processingMs: Math.max(1_000, answer.processingMs) };
      return released(answer);
    } catch (error) {
      if (error instanceof NotSent) throw error;
      failed = true;
      const known = failure(error);
      if (known) return known;
      log.error(
        { err: error, postId: claimed.postId, provider: claimed.channel.providerId },
        'an adapter failed in a way it should not',
      );
      // the request may have left
      return { kind: 'lost', message: 'The network answered something that cannot be read' };
    } finally {
      place.leave(failed && called !== undefined && clock.monotonic() - called >= Math.min(CALL_MS, HANGING_MS));
      if (called !== undefined)
        needs.called({ provider: claimed.channel.providerId, latenessMs, durationMs: clock.monotonic() - called });
    }
  }

  return {
    get closed() {
      return closed;
    },
    get inFlight() {
      return limiter.inFlight;
    },
    get waiting() {
      return limiter.waiting;
    },
    underWay: () => [...works],
    close() {
      closed = true;
      limiter.close();
      lookUps.close();
    },
    async send(claimed) {
      const work: Work = {
        claimed,
        stage: 'preparing',
        since: clock.monotonic(),
        heldSince: claimed.heldSince,
        lost: false,
        ended: new AbortController(),
      };
      works.add(work);
      try {
        const ready = await prepare(work);
        return 'kind' in ready ? ready : await publish(work, ready);
      } catch (error) {
        if (error instanceof NotSent || error instanceof LimiterClosed) return { kind: 'not-sent' };
        throw error;
      } finally {
        work.ended.abort(OVER);
        works.delete(work);
      }
    },

    async lookUp(claimed, about) {
      const started = clock.monotonic();
      const ended = new AbortController();
      let place: Place | undefined;
      let called: number | undefined;
      let failed = false;
      let connected: Connected;
      let unansweredMs: number; // when the network was asked: what it showed later it was not asked for
      try {
        connected = await channels.connect(claimed.orgId, claimed.channelId, claimed.channel, ended.signal);
        const { find } = connected.social;
        if (!find)
          return claimed.mayHaveSent
            ? { kind: 'undecided', message: 'The answer was lost, and this network cannot be asked' }
            : { kind: 'not-sent' };
        place = await lookUps.enter(claimed.orgId, { lane: connected.lane });
        const files = await filesOf(claimed, ended.signal);
        called = clock.monotonic();
        unansweredMs = claimed.unansweredMs + clock.monotonic() - started;
        const shown = await inTime(
          findOnNetwork(sql, {
            claimed,
            post: postOf(needs, claimed, claimed.links, files),
            settings: claimed.settings,
            find,
          }),
          ended,
        );
        if (shown.kind === 'found') return released(shown.release);
        if (shown.kind === 'unclear') return unclear(shown);
      } catch (error) {
        if (error instanceof LimiterClosed) throw draining();
        failed = true;
        return {
          kind: 'lost',
          message: failure(error)?.message ?? 'The network could not be asked',
          retryAfterMs: failure(error)?.retryAfterMs,
        };
      } finally {
        ended.abort(OVER);
        place?.leave(failed && called !== undefined && clock.monotonic() - called >= Math.min(CALL_MS, HANGING_MS));
      }
      if (about === 'processing')
        return { kind: 'processing', processingMs: Math.min(5_000 * 2 ** Math.min(claimed.lookUps, 5), 60_000) };
      const left = settles(connected) - unansweredMs;
      return left <= 0
        ? { kind: 'absent' }
        : {
            kind: 'lost',
            message: 'The network does not show the post yet',
            retryAfterMs: Math.min(left + 50, 10_000),
          };
    },
    [Symbol.dispose]: () => clearInterval(renewal),
  };
}
