import { busy } from '../kernel/index.ts';
import { type LimiterPlace, type State, unlist, wait, type Waiter, withdraw } from './limiter-places.ts';

export interface LimiterOptions {
  /** Places of this process. */
  total: number;
  /** Places in one lane, such as one host that is called. */
  perLane?: number;
  /**
   * Places of one owner, such as an organization. `share`: an owner gets a place only while it holds fewer than are
   * free, so that one alone takes half of them, two a third each, and whoever comes next finds a place however long the
   * others keep theirs.
   */
  perOwner?: number | 'share';
  /** Callers that may wait, and those of one owner, half of them by default: one more is `busy`. */
  waiting?: number;
  waitingOfOne?: number;
}

/** Deals the places of this process; owners that wait take turns, and so do the lanes of one owner. */
export interface Limiter {
  /**
   * Waits for a place. Rejects with the reason of `signal` when that comes first, with `busy` where as many wait as may,
   * and with `LimiterClosed` once it is closed.
   */
  enter(owner: string, at?: { lane?: string; signal?: AbortSignal }): Promise<LimiterPlace>;
  /** Whether somebody waits who could have the place of this owner. */
  isWanted(owner: string): boolean;
  /** Refuses whoever waits and whoever comes. */
  close(): void;
  readonly inFlight: number;
  readonly waiting: number;
}

export class LimiterClosed extends Error {}

/** Callers that wait where nothing else is said: a queue without an end would take the memory of what is served. */
const MOST_WAITING = 20_000;

/** After which somebody who was refused may come again. */
const RETRY_BUSY_MS = 1_000;

/**
 * Owners that can go on are listed by rank, and the lowest is first: with `share` the weight they hold, else whether
 * they hold all that one may. An owner whose lanes are all full is parked there, and each place that a lane gets back
 * lists one of them. So a place costs the same however many wait.
 */
export function openLimiter({
  total,
  perLane = Infinity,
  perOwner = Infinity,
  waiting = MOST_WAITING,
  waitingOfOne = Math.ceil(waiting / 2),
}: LimiterOptions): Limiter {
  const state: State = {
    total,
    perLane,
    perOwner,
    mostWaiting: waiting,
    mostOfOne: waitingOfOne,
    lanes: new Map(),
    owners: new Map(),
    listed: [],
    hanging: new Set(),
    offered: new Set(),
    onList: 0,
    lowest: 0,
    inFlight: 0,
    waiting: 0,
    closed: false,
  };
  return {
    get inFlight() {
      return state.inFlight;
    },
    get waiting() {
      return state.waiting;
    },
    isWanted: (owner) =>
      state.inFlight >= total ? state.waiting > 0 : (state.owners.get(owner)?.waiting.size ?? 0) > 0,
    enter: (id, { lane = '', signal } = {}) => enter(state, id, lane, signal),
    close: () => close(state),
  };
}

function enter(state: State, id: string, name: string, signal: AbortSignal | undefined): Promise<LimiterPlace> {
  const { lanes, owners } = state;
  if (state.closed) return Promise.reject(new LimiterClosed());
  if (signal?.aborted) return Promise.reject(signal.reason);
  const lane = lanes.get(name) ?? { name, inFlight: 0, waiting: 0, parked: new Set() };
  lanes.set(name, lane);
  const owner = owners.get(id) ?? {
    id,
    waiting: new Map(),
    queued: 0,
    inFlight: 0,
    weight: 0,
    listed: undefined,
    via: undefined,
  };
  owners.set(id, owner);
  const { promise, resolve, reject } = Promise.withResolvers<LimiterPlace>();
  const waiter: Waiter = { resolve, reject };
  wait(state, owner, lane, waiter);
  if (state.waiting > state.mostWaiting || owner.queued > state.mostOfOne) {
    // whoever found a place does not wait, however many others do
    if (withdraw(state, owner, lane, waiter)) reject(busy(RETRY_BUSY_MS));
    return promise;
  }
  if (!signal) return promise;
  const giveUp = () => {
    withdraw(state, owner, lane, waiter);
    reject(signal.reason);
  };
  signal.addEventListener('abort', giveUp, { once: true });
  return promise.finally(() => signal.removeEventListener('abort', giveUp));
}

function close(state: State): void {
  const { lanes, owners } = state;
  state.closed = true;
  for (const owner of owners.values()) {
    for (const queue of owner.waiting.values()) for (const waiter of queue) waiter.reject(new LimiterClosed());
    owner.waiting.clear();
    owner.queued = 0;
    unlist(state, owner);
  }
  for (const lane of lanes.values()) {
    lane.parked.clear();
    lane.waiting = 0;
  }
  state.waiting = 0;
}
