import { type Database, isFinal } from '../../../platform/db/index.ts';
import { atMost, type LimiterPlace, openLimiter } from '../../../platform/flow/index.ts';
import { type Clock, newId, splitTenantKey } from '../../../platform/kernel/index.ts';
import type { ListenerLog } from '../../../platform/outbox/index.ts';
import type { Events } from '../../../platform/telemetry/index.ts';
import type { Attempted, Step } from './advance-store.ts';
import { type ClaimedDelivery, type NextDelivery, openAdvance } from './advance.ts';
import { isSignedEvent } from '../events.ts';
import { retryInMs, ROTATION_HOURS } from '../rules.ts';
import type { Send } from '../send.ts';

/** Webhooks of this process that are sent to at a time, those of one organization, and those that may wait. */
const IN_FLIGHT = { inAll: 1_000, ofOne: 100, waiting: 20_000 };
/** Beyond the longest attempt: what claiming, sending and recording may cost a slow machine. */
const LEASE_MARGIN_MS = 15_000;
/** Between two tries while the database is away; shorter than the silence after which another host takes over. */
const LONGEST_WAIT_MS = 2_000;

export interface Dispatcher {
  /**
   * Sends what waits for the webhook of this actor, one after another, and ends when nothing is left for the next
   * seconds. Rejects with `busy` where too many webhooks wait for their turn: the rows are found again.
   */
  deliver(key: string): Promise<void>;
  /** Claims nothing new; gives attempts under way `graceMs` to end, and hands back the rest. */
  drain(graceMs: number): Promise<void>;
}
interface Options {
  sql: Database;
  clock: Clock;
  send: Send;
  log: ListenerLog;
  incarnation: string;
  timeoutMs: number;
  unsignedTimeoutMs: number;
  events?: WebhookEvents | undefined;
  /** Only tests have fewer places. */
  inFlight?: typeof IN_FLIGHT;
}
export type WebhookEvents = Pick<Events, 'webhookAttempted'>;
/** One webhook at work here. `again`: something may have come since the last look. */
interface Round {
  again: boolean;
  resting: AbortController | undefined;
  ended: Promise<void>;
}

async function rest(clock: Clock, round: Round, ms: number): Promise<void> {
  round.resting = new AbortController();
  await clock.sleep(ms, round.resting.signal).catch(() => undefined);
  round.resting = undefined;
}

export function openDispatcher(options: Options): Dispatcher {
  const { sql, clock, send, log, incarnation, events, timeoutMs, unsignedTimeoutMs } = options;
  const { inAll, ofOne, waiting } = options.inFlight ?? IN_FLIGHT;
  const leaseMs = Math.max(timeoutMs, unsignedTimeoutMs) + LEASE_MARGIN_MS;
  const advance = openAdvance({ incarnation, leaseMs, rotationHours: ROTATION_HOURS });
  const limiter = openLimiter({ total: inAll, perOwner: ofOne, waiting });
  const rounds = new Map<string, Round>();
  const giveUp = new AbortController();
  let draining = false;

  /**
   * One step of one webhook, repeated for as long as the database is away: repeating it has one effect, and an attempt
   * that was made is not forgotten.
   */
  async function step(wanted: Step): Promise<NextDelivery> {
    for (let wait = 100; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
      try {
        return await advance(sql, wanted);
      } catch (error) {
        if (isFinal(error) || giveUp.signal.aborted) throw error;
        log.warn(
          { webhookId: wanted.webhookId, err: error },
          'recording a delivery failed, repeated while the database is away',
        );
        await clock.sleep(wait, giveUp.signal).catch(() => undefined);
      }
    }
  }

  /** One attempt; undefined when it was handed back. */
  async function attempt(
    orgId: string,
    webhookId: string,
    {
      deliveryId,
      attempt: number,
      replayedFrom,
      event,
      body,
      url,
      seq,
      optIn,
      secret,
      previousSecrets,
    }: ClaimedDelivery,
  ): Promise<Attempted | undefined> {
    const outcome = await send(
      { url, id: deliveryId, event, body, secret, previousSecrets, seq: optIn ? seq : undefined },
      giveUp.signal,
    );
    if (!outcome.ok && giveUp.signal.aborted) return undefined;
    const { status, durationMs, error } = outcome;
    events?.webhookAttempted({ orgId, webhookId, event, attempt: number, status, durationMs, error });
    return {
      deliveryId,
      attemptId: newId(),
      attempt: number,
      ...outcome,
      retryInMs: outcome.ok || !isSignedEvent(event) ? null : retryInMs(number - replayedFrom),
    };
  }

  async function run(key: string, round: Round): Promise<void> {
    const { orgId, id: webhookId } = splitTenantKey(key);
    let place: LimiterPlace | undefined;
    let worked = false;
    let settled: Attempted | undefined;
    try {
      place = await limiter.enter(orgId);
      for (;;) {
        round.again = false;
        const yielding = worked && limiter.isWanted(orgId);
        const next = await step({ orgId, webhookId, settled, claim: !yielding && !draining });
        settled = undefined;
        if (next.kind === 'claimed') {
          settled = await attempt(orgId, webhookId, next.delivery);
          worked = true;
          continue;
        }
        if (draining || next.kind === 'held' || (next.kind === 'idle' && !round.again)) return;
        place.leave();
        if (next.kind === 'early' && !yielding && !round.again) await rest(clock, round, next.missingMs);
        place = await limiter.enter(orgId);
        worked = false;
      }
    } finally {
      rounds.delete(key); // in the same instant as the last look: a call that comes later starts a round of its own
      place?.leave();
    }
  }

  return {
    async deliver(key) {
      const running = rounds.get(key);
      if (running) {
        running.again = true;
        running.resting?.abort();
        return;
      }
      if (draining) return;
      const round: Round = { again: false, resting: undefined, ended: Promise.resolve() };
      rounds.set(key, round);
      round.ended = run(key, round);
      await round.ended;
    },

    async drain(graceMs) {
      draining = true;
      for (const { resting } of rounds.values()) resting?.abort();
      const all = Promise.allSettled([...rounds.values()].map(({ ended }) => ended));
      await atMost(clock, graceMs, () => all);
      giveUp.abort();
      await all;
    },
  };
}
