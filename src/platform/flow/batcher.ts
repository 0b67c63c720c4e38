import { FairQueue } from './queues.ts';

export interface BatcherOptions<Item> {
  /** Never rejects: each item learns by itself what became of it. */
  send(batch: readonly Item[]): Promise<void>;
  /** Items of one batch. */
  max: number;
  /**
   * What an item weighs, such as its length, and what the items of one batch may weigh together; one that is heavier
   * travels alone.
   */
  weigh?: (item: Item) => number;
  heaviest?: number;
  /** Batches under way at once; one by default. */
  atOnce?: number;
  /** Calls back when a batch is to be made: what comes before that is in it. */
  soon?: (make: () => void) => void;
  /** Nothing waits and nothing is under way any more. */
  onIdle?: () => void;
}

/**
 * Sends items together that meet: as soon as they come, and while batches are under way with the next one. Owners take
 * turns where not all fit.
 */
export function openBatcher<Item>({
  send,
  max,
  weigh,
  heaviest = Infinity,
  atOnce = 1,
  soon = queueMicrotask,
  onIdle,
}: BatcherOptions<Item>) {
  const queue = new FairQueue<Item>();
  let ahead: Item | undefined; // did not fit into the batch before
  let underWay = 0;
  let planned = false;

  function next(): Item[] {
    const batch: Item[] = [];
    let weight = 0;
    for (let item = ahead ?? queue.shift(); item !== undefined; item = queue.shift()) {
      weight += weigh?.(item) ?? 0;
      ahead = batch.length > 0 && weight > heaviest ? item : undefined;
      if (ahead !== undefined) break;
      batch.push(item);
      if (batch.length === max) break;
    }
    return batch;
  }
  function plan(): void {
    if (planned || underWay >= atOnce) return;
    if (queue.length === 0 && ahead === undefined) return void (underWay === 0 && onIdle?.());
    planned = true;
    soon(() => {
      planned = false;
      underWay += 1;
      void send(next()).then(() => {
        underWay -= 1;
        plan();
      });
      plan();
    });
  }
  return (item: Item, owner?: string): void => {
    queue.push(owner, item);
    plan();
  };
}
