import { busy } from '../kernel/index.ts';

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
/** Disposing of it gives it back. */
export interface LimiterPlace extends Disposable {
  /**
   * The same. `hung`: the work ended because its time was over; the next places in that lane count twice, until one is
   * given back otherwise.
   */
  leave(hung?: boolean): void;
}
export class LimiterClosed extends Error {}

interface Waiter {
  resolve(place: LimiterPlace): void;
  reject(reason: Error): void;
}
interface Lane {
  name: string;
  inFlight: number;
  waiting: number;
  /** Owners whose lanes are all full, this one among them. */
  parked: Set<Owner>;
}
interface Owner {
  id: string;
  waiting: Map<Lane, Waiter[]>;
  /** Callers in all of its lanes. */
  queued: number;
  inFlight: number;
  /** Places held; those in lanes that hang count twice. */
  weight: number;
  /** Its rank where it is listed. */
  listed: number | undefined;
  via: Lane | undefined;
}

/** Lanes that hang and are remembered; the oldest is forgotten first. */
const MOST_HANGING = 10_000;
/** Callers that wait where nothing else is said: a queue without an end would take the memory of what is served. */
const MOST_WAITING = 20_000;
/** After which somebody who was refused may come again. */
const RETRY_BUSY_MS = 1_000;

/** What one limiter knows. */
interface State {
  readonly total: number;
  readonly perLane: number;
  readonly perOwner: number | 'share';
  readonly mostWaiting: number;
  readonly mostOfOne: number;
  readonly lanes: Map<string, Lane>;
  readonly owners: Map<string, Owner>;
  /** By rank. */
  readonly listed: Set<Owner>[];
  readonly hanging: Set<string>;
  /** Lanes that may have a place for those who are parked there. */
  readonly offered: Set<Lane>;
  onList: number;
  /** No owner that is listed ranks lower: a look at every rank for each place would cost more than the place. */
  lowest: number;
  inFlight: number;
  waiting: number;
  closed: boolean;
}

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

const isOpen = ({ perLane }: State, lane: Lane) => lane.inFlight < perLane;
const rankOf = ({ perOwner }: State, { weight }: Owner) => (perOwner === 'share' ? weight : weight < perOwner ? 0 : 1);
/** Owners of this rank and above have to wait. */
const boundOf = ({ perOwner, total, inFlight }: State) =>
  perOwner === 'share' ? total - inFlight : Math.min(total - inFlight, 1);

function unlist(state: State, owner: Owner): void {
  if (owner.listed === undefined) return;
  state.listed[owner.listed]!.delete(owner);
  state.onList -= 1;
  owner.listed = undefined;
}
function list(state: State, owner: Owner, via?: Lane): void {
  for (const lane of owner.waiting.keys()) lane.parked.delete(owner);
  unlist(state, owner);
  owner.via = via;
  const rank = (owner.listed = rankOf(state, owner));
  (state.listed[rank] ??= new Set()).add(owner);
  state.onList += 1;
  state.lowest = Math.min(state.lowest, rank);
}

/** Lists those who are parked at a lane, up to the first who may have its place now. */
function offer(state: State, lane: Lane): void {
  for (const owner of lane.parked) {
    if (!isOpen(state, lane)) break;
    list(state, owner, lane);
    // the lane stays offered: others may come before this owner, who then holds too much
    if (rankOf(state, owner) < boundOf(state)) return;
  }
  state.offered.delete(lane);
}
function forget({ lanes, owners }: State, owner: Owner, lane: Lane): void {
  if (lane.inFlight === 0 && lane.waiting === 0) lanes.delete(lane.name);
  if (owner.inFlight === 0 && owner.waiting.size === 0) owners.delete(owner.id);
}

function leave(state: State, owner: Owner, lane: Lane, weight: number, hung: boolean): void {
  const { hanging } = state;
  hanging.delete(lane.name);
  if (hung) hanging.add(lane.name);
  if (hanging.size > MOST_HANGING) hanging.delete(hanging.values().next().value!);
  lane.inFlight -= 1;
  state.inFlight -= 1;
  owner.inFlight -= 1;
  owner.weight -= weight;
  if (owner.listed !== undefined && owner.listed !== rankOf(state, owner)) list(state, owner, owner.via);
  state.offered.add(lane);
  deal(state);
  forget(state, owner, lane);
}

/**
 * Gives up waiting; a place that the owner was listed for goes to the next one who waits there. False: it waited no
 * longer.
 */
function withdraw(state: State, owner: Owner, lane: Lane, waiter: Waiter): boolean {
  const queue = owner.waiting.get(lane);
  const at = queue?.lastIndexOf(waiter) ?? -1;
  if (!queue || at < 0) return false;
  queue.splice(at, 1);
  owner.queued -= 1;
  state.waiting -= 1;
  lane.waiting -= 1;
  if (queue.length > 0) return true;
  owner.waiting.delete(lane);
  lane.parked.delete(owner);
  if (owner.waiting.size === 0) unlist(state, owner);
  state.offered.add(lane);
  deal(state);
  forget(state, owner, lane);
  return true;
}

function give(state: State, owner: Owner, lane: Lane): void {
  const queue = owner.waiting.get(lane)!;
  const waiter = queue.shift()!;
  owner.waiting.delete(lane);
  if (queue.length > 0) owner.waiting.set(lane, queue); // lanes of one owner take turns
  const weight = state.hanging.has(lane.name) ? 2 : 1;
  owner.queued -= 1;
  state.waiting -= 1;
  lane.waiting -= 1;
  lane.inFlight += 1;
  state.inFlight += 1;
  owner.inFlight += 1;
  owner.weight += weight;
  let left = false;
  const once = (hung = false) => {
    if (left) return;
    left = true;
    leave(state, owner, lane, weight, hung);
  };
  waiter.resolve({ leave: once, [Symbol.dispose]: once });
}

function deal(state: State): void {
  do {
    for (const lane of state.offered) offer(state, lane);
    while (state.onList > 0 && state.lowest < boundOf(state)) {
      const [owner] = state.listed[state.lowest] ?? [];
      if (owner) serve(state, owner);
      else state.lowest += 1;
    }
  } while (state.offered.size > 0);
}
/** Where the owner waits and a place is free. */
function openLaneOf(state: State, owner: Owner): Lane | undefined {
  for (const lane of owner.waiting.keys()) if (isOpen(state, lane)) return lane;
  return undefined;
}
function serve(state: State, owner: Owner): void {
  unlist(state, owner);
  const { via } = owner;
  const lane = via && isOpen(state, via) && owner.waiting.has(via) ? via : openLaneOf(state, owner);
  if (lane) {
    give(state, owner, lane);
    if (owner.waiting.size > 0) list(state, owner);
  } else for (const full of owner.waiting.keys()) full.parked.add(owner);
  if (via && via !== lane) state.offered.add(via); // its place was not used
}

function wait(state: State, owner: Owner, lane: Lane, waiter: Waiter): void {
  const queue = owner.waiting.get(lane);
  if (queue) queue.push(waiter);
  else owner.waiting.set(lane, [waiter]);
  owner.queued += 1;
  state.waiting += 1;
  lane.waiting += 1;
  if (owner.listed === undefined) {
    if (isOpen(state, lane)) list(state, owner);
    else lane.parked.add(owner);
  }
  deal(state);
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
