import type { Sql } from '../../../platform/db/index.ts';
import type { Clock } from '../../../platform/kernel/index.ts';
import type { Log } from '../../../platform/telemetry/index.ts';
import { failureOf } from './answers.ts';
import type { AttemptOutcome, ClaimedPost } from './attempt.ts';
import { type CircuitKey, deleteCircuit, endProbe, insertCircuit, takeProbe } from './circuit-store.ts';

// The circuit breaker of publishing: of posts, and of comments and reposts that follow them. What this process has seen
// stands in memory, that a circuit is open in a row, so that all hosts obey it. A network that answers costs a look into
// a map. Look-ups and readings are not judged by it: networks often show what there is while they take nothing new.

export interface CircuitsOptions {
  sql: Sql;
  clock: Pick<Clock, 'monotonic' | 'now'>;
  log: Log;
}
export interface Circuits {
  /**
   * Sends a post, or what follows one, while its network answers; else answers `circuit_open` and how long it waits.
   * What has waited for a day goes out all the same, and ends by its own attempts.
   */
  guard(claimed: Guarded, lane: string, send: () => Promise<AttemptOutcome>): Promise<AttemptOutcome>;
}

type Guarded = Pick<ClaimedPost, 'channelId' | 'channel'> & {
  /** Since when it waits for a network that answers nobody; undefined: not yet. Asked for when it has to wait. */
  waitsSince: () => Promise<Date | undefined>;
};

/** It opens when so many calls of so many channels have failed in this time, and none has succeeded. */
const WINDOW_MS = 60_000;
const LEAST_FAILURES = 20;
const LEAST_CHANNELS = 3;
/** Failures that are remembered of one circuit, and circuits that are; the oldest are forgotten first. */
const MOST_FAILURES = 100;
const MOST_CIRCUITS = 10_000;
/** Calls that may be under way when it has closed: 1, 2, 4, … and from here on as many as the limiter lets. */
const MOST_SLOW = 64;
/** How long a post waits whose network takes calls slowly again. */
const SLOW_MS = 1_000;
/** How often a host whose calls fail looks whether another has opened the circuit. */
const LOOK_MS = 5_000;
const LONGEST_WAIT_MS = 24 * 60 * 60_000;

interface Circuit {
  key: CircuitKey;
  failures: { channelId: string; at: number }[];
  succeededAt: number;
  lookedAt: number;
  state: 'closed' | 'open' | 'slow';
  inFlight: number;
  /** Calls that may be under way while it is slow. */
  allowed: number;
}

export function openCircuits({ sql, clock, log }: CircuitsOptions): Circuits {
  const circuits = new Map<string, Circuit>();

  function circuitOf(key: CircuitKey): Circuit {
    const name = `${key.providerId}@${key.providerVersion} ${key.lane}`;
    const known = circuits.get(name);
    if (known) return known;
    if (circuits.size >= MOST_CIRCUITS) circuits.delete(circuits.keys().next().value!);
    const made: Circuit = {
      key,
      failures: [],
      succeededAt: -Infinity,
      lookedAt: -Infinity,
      state: 'closed',
      inFlight: 0,
      allowed: Infinity,
    };
    circuits.set(name, made);
    return made;
  }

  function slowDown(circuit: Circuit): void {
    circuit.state = 'slow';
    circuit.allowed = 1;
    circuit.failures = [];
  }

  /** Whether this call probes, or goes ahead, and is counted; a number: how long its post waits. */
  async function enter(circuit: Circuit): Promise<'probe' | 'go' | number> {
    if (isQuiet(circuit, clock.monotonic())) return goAhead(circuit);
    if (circuit.state === 'slow') return circuit.inFlight < circuit.allowed ? goAhead(circuit) : SLOW_MS;
    circuit.lookedAt = clock.monotonic();
    const found = await takeProbe(sql, circuit.key).catch((error: unknown) => {
      log.warn({ err: error }, 'looking after a circuit failed, the post is sent');
      return 'unknown' as const;
    });
    if (found === 'unknown') return goAhead(circuit);
    if (found !== 'closed') {
      circuit.state = 'open';
      return found === 'probe' ? goAhead(circuit, found) : found;
    }
    if (circuit.state === 'open') slowDown(circuit); // another host has closed it
    return circuit.inFlight < circuit.allowed ? goAhead(circuit) : SLOW_MS;
  }

  async function succeeded(circuit: Circuit): Promise<void> {
    circuit.succeededAt = clock.monotonic();
    circuit.failures = [];
    if (circuit.state === 'open') {
      slowDown(circuit);
      await deleteCircuit(sql, circuit.key);
      log.info({ ...circuit.key }, 'a network answers again, its posts go out');
    }
    if (circuit.state === 'slow' && (circuit.allowed *= 2) > MOST_SLOW) {
      circuit.state = 'closed';
      circuit.allowed = Infinity;
    }
  }

  async function failed(circuit: Circuit, channelId: string, isProbe: boolean): Promise<void> {
    const now = clock.monotonic();
    circuit.failures.push({ channelId, at: now });
    if (circuit.failures.length > MOST_FAILURES) circuit.failures.shift();
    if (circuit.state === 'slow') circuit.allowed = Math.max(1, Math.floor(circuit.allowed / 2));
    if (isProbe) await endProbe(sql, circuit.key, { hasFailed: true });
    else if (circuit.state !== 'open' && isDown(circuit, now)) {
      circuit.state = 'open';
      if (await insertCircuit(sql, circuit.key))
        log.warn({ ...circuit.key }, 'a network answers nobody, its posts wait until it does');
    }
  }

  async function note(circuit: Circuit, channelId: string, outcome: AttemptOutcome, isProbe: boolean): Promise<void> {
    if (SUCCESSES.has(outcome.kind)) await succeeded(circuit);
    else if (outcome.kind === 'unavailable' || outcome.kind === 'lost') await failed(circuit, channelId, isProbe);
    else if (isProbe) await endProbe(sql, circuit.key, { hasFailed: false });
  }

  async function isOverdue(waitsSince: Guarded['waitsSince']): Promise<boolean> {
    const since = await waitsSince();
    return since !== undefined && clock.now().getTime() - since.getTime() > LONGEST_WAIT_MS;
  }

  return {
    async guard({ channelId, channel: { providerId, providerVersion }, waitsSince }, lane, send) {
      const circuit = circuitOf({ providerId, providerVersion, lane });
      const asked = await enter(circuit);
      if (typeof asked === 'number') {
        if (!(await isOverdue(waitsSince))) return { kind: 'circuit_open', againMs: asked };
        circuit.inFlight += 1;
      }
      const isProbe = asked === 'probe';
      let outcome: AttemptOutcome = { kind: 'not-sent' };
      try {
        return (outcome = await send());
      } catch (error) {
        outcome = failureOf(error) ?? outcome;
        throw error;
      } finally {
        circuit.inFlight -= 1;
        // what the network said is never lost for this
        await note(circuit, channelId, outcome, isProbe).catch((error: unknown) =>
          log.warn({ err: error }, 'a circuit could not be written, the next call does'),
        );
      }
    },
  };
}

function goAhead(circuit: Circuit, as: 'go' | 'probe' = 'go'): 'go' | 'probe' {
  circuit.inFlight += 1;
  return as;
}

const SUCCESSES: ReadonlySet<AttemptOutcome['kind']> = new Set(['published', 'processing', 'preparing']);

/** Nothing has failed for a while, and it is closed as far as this host knows; or it has looked a moment ago. */
const isQuiet = ({ state, failures, lookedAt }: Circuit, now: number): boolean =>
  state === 'closed' && ((failures.at(-1)?.at ?? -Infinity) <= now - WINDOW_MS || lookedAt > now - LOOK_MS);

const isDown = ({ failures, succeededAt }: Circuit, now: number): boolean => {
  if (failures.length < LEAST_FAILURES || succeededAt > now - WINDOW_MS) return false;
  const recent = failures.filter(({ at }) => at > now - WINDOW_MS);
  return recent.length >= LEAST_FAILURES && new Set(recent.map(({ channelId }) => channelId)).size >= LEAST_CHANNELS;
};
