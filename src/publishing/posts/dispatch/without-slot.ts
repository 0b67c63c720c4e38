import { type Limiter, LimiterClosed, type LimiterPlace } from '../../../platform/flow/index.ts';
import { AppError, isBusy } from '../../../platform/kernel/index.ts';
import type { Held, Published } from '../../../providers/registry/index.ts';
import type { ChannelSnapshot, Connected, Paced } from '../channels-port.ts';
import { CALL_MS, HEARTBEAT_FRESH_MS, pacesFor } from '../rules.ts';
import { clean, type Failure, failureBefore, failureOf, released } from './answers.ts';
import type { AttemptOutcome } from './attempt.ts';
import { hasHung, inTime, type SenderDeps } from './calls.ts';
import { type PacedOut, takePaces, waitOfPaces } from './pace.ts';
import { NotSent } from './publish.ts';
import { OVER } from './work.ts';

// Calls by the login of a channel, counted in its pace, that are no post of it: they need no slot. They have a limiter
// of their own, so that they take no place from a post that is due, and stand behind posts that wait for their turn.

/** How long others stand behind posts, and how often it looks whether they still have to. */
export const LONGEST_BEHIND_MS = 30_000;
export const LOOK_MS = 50;

/** Who calls, for as long as the row that it works on is surely its own. */
export interface WithoutSlot {
  orgId: string;
  channelId: string;
  channel: ChannelSnapshot;
  /** By the monotonic clock of this process: when it asked for the row, and how long it holds it since. */
  heldSince: number;
  leaseMs: number;
  /** Since when it waits for a network that answers nobody. */
  waitsSince?: Date | undefined;
}
/** What a channel makes, once. */
export interface Making {
  /** What it counts as in the pace of the channel: a repost makes a post. */
  countsAs: NonNullable<Paced['of']>;
  /** Notes that the request is about to leave, for a network that cannot be asked; false: the row is another's now. */
  markSent?: (() => Promise<boolean>) | undefined;
  send(): Promise<Published | Held>;
}
/** What became of it. */
export type MadeOutcome = Exclude<AttemptOutcome, { kind: 'processing' | 'preparing' | 'expired' }>;

/** The part of a sender that makes them. */
export const callsWithoutSlot = (deps: SenderDeps) => ({
  async sendWithoutSlot(caller: WithoutSlot, make: (connected: Connected) => Making | undefined): Promise<MadeOutcome> {
    const call: Called = { mayBePublic: false };
    try {
      return await onChannel(deps, caller, async (connected, ended) => {
        const { channelId, channel } = caller;
        const waitsSince = async () => caller.waitsSince;
        const send = () => makeOnce(deps, caller, { making: make(connected), connected, ended, call });
        return (await deps.circuits.guard({ channelId, channel, waitsSince }, connected.lane, send)) as MadeOutcome;
      });
    } catch (error) {
      const { mayBePublic } = call;
      const isNotSent = error instanceof NotSent || error instanceof LimiterClosed || (isBusy(error) && !mayBePublic);
      return isNotSent ? { kind: 'not-sent' } : failed(deps, caller, error, mayBePublic);
    }
  },
  async askWithoutSlot(
    caller: WithoutSlot,
    ask: (connected: Connected) => Promise<void>,
  ): Promise<Failure | undefined> {
    try {
      await onChannel(deps, caller, (connected, ended) => inTime(deps.clock, ask(connected), ended));
      return undefined;
    } catch (error) {
      if (error instanceof LimiterClosed) return { kind: 'unavailable', message: 'This host goes away' };
      return failed(deps, caller, error, false);
    }
  },
  /**
   * The same for what has time: behind follow-ups too, by few places of its own, and not while the pace of the channel
   * is used up, but for one of posts or of comments alone. It takes nothing from the pace, which counts what is made.
   */
  async readWithoutSlot(
    caller: WithoutSlot,
    read: (connected: Connected) => Promise<void>,
  ): Promise<Failure | PacedOut | undefined> {
    const { clock, sql, limiter, followUpLimiter, readingLimiter } = deps;
    try {
      return await onChannel(
        deps,
        caller,
        async (connected, ended) => {
          const againMs = await waitOfPaces(sql, pacesFor(connected.paces));
          if (againMs !== undefined) return { kind: 'paced', againMs } as const;
          await inTime(clock, read(connected), ended);
          return undefined;
        },
        { own: readingLimiter, ahead: [limiter, followUpLimiter] },
      );
    } catch (error) {
      if (error instanceof LimiterClosed) return { kind: 'unavailable', message: 'This host goes away' };
      return failed(deps, caller, error, false);
    }
  },
});

/** `mayBePublic`: the request that cannot be undone has left. */
interface Called {
  mayBePublic: boolean;
}

/** Makes it, where the pace of the channel has room and the row is surely this host's. */
async function makeOnce(
  deps: SenderDeps,
  caller: WithoutSlot,
  {
    making,
    connected: { paces },
    ended,
    call,
  }: { making: Making | undefined; connected: Connected; ended: AbortController; call: Called },
): Promise<AttemptOutcome> {
  if (!making) return { kind: 'unsupported', message: 'The network has no such thing' };
  const counted = pacesFor(paces, making.countsAs);
  const paced = counted.length > 0 ? await takePaces(deps.sql, counted) : undefined;
  if (paced) return paced;
  expectHeld(deps, caller);
  if (making.markSent) {
    if (!(await making.markSent())) throw new NotSent();
    expectHeld(deps, caller);
  }
  call.mayBePublic = true; // nothing is awaited between the last look and the call
  return released(await inTime(deps.clock, making.send(), ended));
}

/** Whose places a call takes, and behind whom it stands. */
interface Places {
  own: Limiter;
  ahead: readonly Limiter[];
}

async function onChannel<T>(
  deps: SenderDeps,
  { orgId, channelId, channel }: WithoutSlot,
  call: (connected: Connected, ended: AbortController) => Promise<T>,
  { own, ahead }: Places = { own: deps.followUpLimiter, ahead: [deps.limiter] },
): Promise<T> {
  const { clock, channels } = deps;
  const ended = new AbortController();
  let place: LimiterPlace | undefined;
  let called: number | undefined;
  let hasFailed = true;
  try {
    const connected = await channels.connect(orgId, channelId, channel, ended.signal);
    place = await own.enter(orgId, { lane: connected.lane });
    await letPass(deps, ahead, orgId);
    called = clock.monotonic();
    const answer = await call(connected, ended);
    hasFailed = false;
    return answer;
  } finally {
    ended.abort(OVER);
    place?.leave(hasFailed && hasHung(clock, called));
  }
}

/** Waits while others do that could have a place, but not for ever: some network may hang. */
async function letPass({ clock }: SenderDeps, ahead: readonly Limiter[], orgId: string): Promise<void> {
  const since = clock.monotonic();
  while (ahead.some((limiter) => limiter.isWanted(orgId)) && clock.monotonic() - since < LONGEST_BEHIND_MS)
    await clock.sleep(LOOK_MS);
}

/** The row is surely this host's: no other can have taken it over. */
function expectHeld({ clock, heartbeat, isClosed }: SenderDeps, { heldSince, leaseMs }: WithoutSlot): void {
  const isHeld =
    heartbeat.heartbeatAgeMs() <= HEARTBEAT_FRESH_MS &&
    heartbeat.steadySince() <= heldSince &&
    clock.monotonic() - heldSince <= leaseMs - CALL_MS;
  if (isClosed() || !isHeld) throw new NotSent();
}

function failed({ log }: SenderDeps, { channel }: WithoutSlot, error: unknown, mayBePublic: boolean): Failure {
  const known = mayBePublic ? failureOf(error) : failureBefore(error);
  if (known) return known;
  if (error instanceof AppError && error.status < 500) return { kind: 'unsupported', message: clean(error.message) };
  log.error({ err: error, provider: channel.providerId }, 'an adapter failed in a way it should not');
  return {
    kind: mayBePublic ? 'lost' : 'unavailable',
    message: 'The network answered something that cannot be read',
  };
}
