// How the places of a limiter are dealt to those who wait.

/** Disposing of it gives it back. */
export interface LimiterPlace extends Disposable {
  /**
   * The same. `hung`: the work ended because its time was over; the next places in that lane count twice, until one is
   * given back otherwise.
   */
  leave(hung?: boolean): void;
}

export interface Waiter {
  resolve(place: LimiterPlace): void;
  reject(reason: Error): void;
}

export interface LimiterLane {
  name: string;
  inFlight: number;
  waiting: number;
  /** Owners whose lanes are all full, this one among them. */
  parked: Set<LimiterOwner>;
}

export interface LimiterOwner {
  id: string;
  waiting: Map<LimiterLane, Waiter[]>;
  /** Callers in all of its lanes. */
  queued: number;
  inFlight: number;
  /** Places held; those in lanes that hang count twice. */
  weight: number;
  /** Its rank where it is listed. */
  listed: number | undefined;
  via: LimiterLane | undefined;
}

/** Lanes that hang and are remembered; the oldest is forgotten first. */
const MOST_HANGING = 10_000;

/** What one limiter knows. */
export interface State {
  readonly total: number;
  readonly perLane: number;
  readonly perOwner: number | 'share';
  readonly mostWaiting: number;
  readonly mostOfOne: number;
  readonly lanes: Map<string, LimiterLane>;
  readonly owners: Map<string, LimiterOwner>;
  /** By rank. */
  readonly listed: Set<LimiterOwner>[];
  readonly hanging: Set<string>;
  /** Lanes that may have a place for those who are parked there. */
  readonly offered: Set<LimiterLane>;
  onList: number;
  /** No owner that is listed ranks lower: a look at every rank for each place would cost more than the place. */
  lowest: number;
  inFlight: number;
  waiting: number;
  closed: boolean;
}

const isOpen = ({ perLane }: State, lane: LimiterLane) => lane.inFlight < perLane;

const rankOf = ({ perOwner }: State, { weight }: LimiterOwner) =>
  perOwner === 'share' ? weight : weight < perOwner ? 0 : 1;

/** Owners of this rank and above have to wait. */
const boundOf = ({ perOwner, total, inFlight }: State) =>
  perOwner === 'share' ? total - inFlight : Math.min(total - inFlight, 1);

export function unlist(state: State, owner: LimiterOwner): void {
  if (owner.listed === undefined) return;
  state.listed[owner.listed]!.delete(owner);
  state.onList -= 1;
  owner.listed = undefined;
}

function list(state: State, owner: LimiterOwner, via?: LimiterLane): void {
  for (const lane of owner.waiting.keys()) lane.parked.delete(owner);
  unlist(state, owner);
  owner.via = via;
  const rank = (owner.listed = rankOf(state, owner));
  (state.listed[rank] ??= new Set()).add(owner);
  state.onList += 1;
  state.lowest = Math.min(state.lowest, rank);
}

/** Lists those who are parked at a lane, up to the first who may have its place now. */
function offer(state: State, lane: LimiterLane): void {
  for (const owner of lane.parked) {
    if (!isOpen(state, lane)) break;
    list(state, owner, lane);
    // the lane stays offered: others may come before this owner, who then holds too much
    if (rankOf(state, owner) < boundOf(state)) return;
  }
  state.offered.delete(lane);
}

function forget({ lanes, owners }: State, owner: LimiterOwner, lane: LimiterLane): void {
  if (lane.inFlight === 0 && lane.waiting === 0) lanes.delete(lane.name);
  if (owner.inFlight === 0 && owner.waiting.size === 0) owners.delete(owner.id);
}

function leave(state: State, owner: LimiterOwner, lane: LimiterLane, weight: number, hung: boolean): void {
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
export function withdraw(state: State, owner: LimiterOwner, lane: LimiterLane, waiter: Waiter): boolean {
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

function give(state: State, owner: LimiterOwner, lane: LimiterLane): void {
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
function openLaneOf(state: State, owner: LimiterOwner): LimiterLane | undefined {
  for (const lane of owner.waiting.keys()) if (isOpen(state, lane)) return lane;
  return undefined;
}

function serve(state: State, owner: LimiterOwner): void {
  unlist(state, owner);
  const { via } = owner;
  const lane = via && isOpen(state, via) && owner.waiting.has(via) ? via : openLaneOf(state, owner);
  if (lane) {
    give(state, owner, lane);
    if (owner.waiting.size > 0) list(state, owner);
  } else for (const full of owner.waiting.keys()) full.parked.add(owner);
  if (via && via !== lane) state.offered.add(via); // its place was not used
}

export function wait(state: State, owner: LimiterOwner, lane: LimiterLane, waiter: Waiter): void {
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
