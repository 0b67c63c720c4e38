/**
 * Deals the provider calls of this process: at most `total` at a time and `perLane` in one lane. An organization gets a
 * turn only while it holds fewer than are free, so that one alone takes half of them, two a third each, and whoever
 * comes next finds a turn however many calls of others hang.
 */
export interface Gate {
  /** Waits for a turn; the answer gives it back. Rejects with `Closed` once the gate is closed. */
  enter(orgId: string, lane: string): Promise<Leave>;
  /** Refuses whoever waits and whoever comes. */
  close(): void;
  readonly inFlight: number;
  readonly waiting: number;
}
/** `hung`: the call ended because its time was over. The next ones in that lane count twice, until one answers. */
export type Leave = (hung?: boolean) => void;
export class Closed extends Error {}

interface Waiter {
  resolve(leave: Leave): void;
  reject(reason: Closed): void;
}
interface Lane {
  name: string;
  inFlight: number;
  waiting: number;
  /** Organizations whose lanes are all full, this one among them. */
  parked: Set<Org>;
}
interface Org {
  id: string;
  waiting: Map<Lane, Waiter[]>;
  inFlight: number;
  /** Turns held; those in lanes that hang count twice. */
  weight: number;
  listed: boolean;
  via: Lane | undefined;
}

/** Lanes that hang and are remembered; the oldest is forgotten first. */
const MOST_HANGING = 10_000;

/**
 * Organizations that can go on are listed by the weight they hold, and the lightest is first; one whose lanes are all
 * full is parked there, and each turn that a lane gives back lists one of them. So a turn costs the same however many wait.
 */
export function openGate({ total, perLane }: { total: number; perLane: number }): Gate {
  const lanes = new Map<string, Lane>();
  const orgs = new Map<string, Org>();
  /** By weight. */
  const listed: Set<Org>[] = [];
  const hanging = new Set<string>();
  let onList = 0;
  /** No organization that is listed weighs less: a look at every weight for each turn would cost more than the turn. */
  let lightest = 0;
  let inFlight = 0;
  let waiting = 0;
  let closed = false;

  const open = (lane: Lane) => lane.inFlight < perLane;
  const mayEnter = ({ weight }: Org) => weight < total - inFlight;

  function unlist(org: Org): void {
    if (!org.listed) return;
    listed[org.weight]?.delete(org);
    onList -= 1;
    org.listed = false;
  }
  function list(org: Org, via?: Lane): void {
    for (const lane of org.waiting.keys()) lane.parked.delete(org);
    unlist(org);
    org.via = via;
    org.listed = true;
    (listed[org.weight] ??= new Set()).add(org);
    onList += 1;
    lightest = Math.min(lightest, org.weight);
  }
  function weigh(org: Org, more: number): void {
    const { listed: was, via } = org;
    unlist(org);
    org.weight += more;
    if (was) list(org, via);
  }

  /** The place in this lane goes to one who waits for it: the first of those who may enter now, and those before may later. */
  function offer(lane: Lane): void {
    for (const org of lane.parked) {
      list(org, lane);
      if (mayEnter(org)) return;
    }
  }

  function leave(org: Org, lane: Lane, weight: number, hung: boolean): void {
    if (hung) {
      hanging.delete(lane.name);
      hanging.add(lane.name);
      if (hanging.size > MOST_HANGING) hanging.delete(hanging.values().next().value!);
    } else hanging.delete(lane.name);
    lane.inFlight -= 1;
    inFlight -= 1;
    org.inFlight -= 1;
    weigh(org, -weight);
    offer(lane);
    deal();
    if (lane.inFlight === 0 && lane.waiting === 0) lanes.delete(lane.name);
    if (org.inFlight === 0 && org.waiting.size === 0) orgs.delete(org.id);
  }

  function give(org: Org, lane: Lane): void {
    const queue = org.waiting.get(lane)!;
    const waiter = queue.shift()!;
    org.waiting.delete(lane);
    if (queue.length > 0) org.waiting.set(lane, queue); // lanes of one organization take turns
    const weight = hanging.has(lane.name) ? 2 : 1;
    waiting -= 1;
    lane.waiting -= 1;
    lane.inFlight += 1;
    inFlight += 1;
    org.inFlight += 1;
    org.weight += weight;
    let left = false;
    waiter.resolve((hung = false) => {
      if (left) return;
      left = true;
      leave(org, lane, weight, hung);
    });
  }

  function deal(): void {
    while (onList > 0 && lightest < total - inFlight) {
      const [org] = listed[lightest] ?? [];
      if (!org) {
        lightest += 1;
        continue;
      }
      unlist(org);
      const { via } = org;
      const lane = via && open(via) && org.waiting.has(via) ? via : [...org.waiting.keys()].find(open);
      if (lane) {
        give(org, lane);
        if (org.waiting.size > 0) list(org);
      } else for (const full of org.waiting.keys()) full.parked.add(org);
      if (via && via !== lane && open(via)) offer(via); // its turn was not used: the next one there may have it
    }
  }

  return {
    get inFlight() {
      return inFlight;
    },
    get waiting() {
      return waiting;
    },
    enter(orgId, name) {
      if (closed) return Promise.reject(new Closed());
      return new Promise((resolve, reject) => {
        const lane = lanes.get(name) ?? { name, inFlight: 0, waiting: 0, parked: new Set() };
        lanes.set(name, lane);
        const org = orgs.get(orgId) ?? { id: orgId, waiting: new Map(), inFlight: 0, weight: 0, listed: false, via: undefined };
        orgs.set(orgId, org);
        const queue = org.waiting.get(lane);
        if (queue) queue.push({ resolve, reject });
        else org.waiting.set(lane, [{ resolve, reject }]);
        waiting += 1;
        lane.waiting += 1;
        if (!org.listed) {
          if (open(lane)) list(org);
          else lane.parked.add(org);
        }
        deal();
      });
    },
    close() {
      closed = true;
      for (const org of orgs.values()) {
        for (const queue of org.waiting.values()) for (const waiter of queue) waiter.reject(new Closed());
        org.waiting.clear();
        unlist(org);
      }
      for (const lane of lanes.values()) {
        lane.parked.clear();
        lane.waiting = 0;
      }
      waiting = 0;
    },
  };
}
