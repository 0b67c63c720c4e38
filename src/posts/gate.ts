/** Deals the provider calls of this process: `total` at a time, `perLane` in one lane, organizations in turn. */
export interface Gate {
  /** Waits for a turn; the answer gives it back. Rejects with `Closed` once the gate is closed. */
  enter(orgId: string, lane: string): Promise<() => void>;
  /** Refuses whoever waits and whoever comes. */
  close(): void;
  readonly inFlight: number;
  readonly waiting: number;
}
export class Closed extends Error {}

interface Waiter {
  resolve(leave: () => void): void;
  reject(reason: Closed): void;
}
interface Lane {
  name: string;
  inFlight: number;
  waiting: number;
  parked: Set<Org>;
}
interface Org {
  id: string;
  waiting: Map<Lane, Waiter[]>;
  listed: boolean;
  via: Lane | undefined;
}

/**
 * Organizations that can go on stand in a ring and get one turn each; one whose lanes are all full is parked there, and
 * each turn that a lane gives back brings one of them to the ring. So a turn costs the same however many wait, and
 * what hangs in one lane holds nothing but that lane.
 */
export function openGate({ total, perLane }: { total: number; perLane: number }): Gate {
  const lanes = new Map<string, Lane>();
  const orgs = new Map<string, Org>();
  const ring: Org[] = [];
  let inFlight = 0;
  let waiting = 0;
  let closed = false;

  const open = (lane: Lane) => lane.inFlight < perLane;

  function list(org: Org, via?: Lane): void {
    for (const lane of org.waiting.keys()) lane.parked.delete(org);
    org.via = via;
    org.listed = true;
    ring.push(org);
  }

  function leave(lane: Lane): void {
    lane.inFlight -= 1;
    inFlight -= 1;
    const [next] = lane.parked;
    if (next) list(next, lane);
    deal();
    if (lane.inFlight === 0 && lane.waiting === 0) lanes.delete(lane.name);
  }

  function give(org: Org, lane: Lane): void {
    const queue = org.waiting.get(lane)!;
    const waiter = queue.shift()!;
    if (queue.length === 0) org.waiting.delete(lane);
    else {
      org.waiting.delete(lane);
      org.waiting.set(lane, queue);
    } // lanes of one organization take turns
    if (org.waiting.size === 0) orgs.delete(org.id);
    waiting -= 1;
    lane.waiting -= 1;
    lane.inFlight += 1;
    inFlight += 1;
    let left = false;
    waiter.resolve(() => {
      if (left) return;
      left = true;
      leave(lane);
    });
  }

  function deal(): void {
    while (inFlight < total && ring.length > 0) {
      const org = ring.shift()!;
      org.listed = false;
      const { via } = org;
      const lane = via && open(via) && org.waiting.has(via) ? via : [...org.waiting.keys()].find(open);
      if (lane) {
        give(org, lane);
        if (org.waiting.size > 0) list(org);
      } else for (const full of org.waiting.keys()) full.parked.add(org);
      if (via && via !== lane && open(via)) {
        // its turn was not used: the next one there may have it
        const [next] = via.parked;
        if (next) list(next, via);
      }
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
        const org = orgs.get(orgId) ?? { id: orgId, waiting: new Map(), listed: false, via: undefined };
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
      for (const org of orgs.values()) for (const queue of org.waiting.values()) for (const waiter of queue) waiter.reject(new Closed());
      orgs.clear();
      ring.length = 0;
      for (const lane of lanes.values()) {
        lane.parked.clear();
        lane.waiting = 0;
      }
      waiting = 0;
    },
  };
}
