import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../../src/platform/db/index.ts';
import type { Channel } from './wave.ts';

// Figures of a recovery, read from the product's rows while it goes on. They are printed, never asserted.

/** From so long after its time a post is late: a wave of short depth takes less without a fault. */
const LATE_MS = 1_000;
const LOOK_MS = 50;

/** Moments by `performance.now()`; undefined: there was nothing to wait for. */
interface Recovery {
  /** When none of the claims held at the beginning was left: those of hosts that are gone, or of all where none is. */
  claimsSettledAt: number | undefined;
  /** When no post was late any more, but those whose answer was lost. */
  backlogNormalAt: number | undefined;
}

/** Watches from now on, a kill, until it is asked. `held`: channels whose posts wait for more than the hosts. */
export async function watchRecovery(sql: Database, held: readonly Channel[] = []): Promise<() => Promise<Recovery>> {
  const ids = held.map(({ id }) => id);
  const [row] = await sql<{ at: Date }[]>`select clock_timestamp() as at`;
  const claimed = await sql<{ id: string; incarnation: string }[]>`
    select id, incarnation from posts where state = 'QUEUE' and detail = 'publishing'`;
  const heldAt = new Map<string, number>();
  let lateAt: number | undefined;
  let isOver = false;
  async function look(): Promise<void> {
    const still = await sql<{ incarnation: string }[]>`
      select distinct p.incarnation
      from posts p
      join json_to_recordset(${JSON.stringify(claimed)}::text::json) as c (id uuid, incarnation text)
        on c.id = p.id and c.incarnation = p.incarnation::text
      where p.state = 'QUEUE' and p.detail = 'publishing'`;
    for (const { incarnation } of still) heldAt.set(incarnation, performance.now());
    const late = await sql`
      select id
      from posts
      where state = 'QUEUE'
        and detail is distinct from 'unconfirmed'
        and deleted_at is null
        and channel_id <> all(${ids}::uuid[])
        and due_at < clock_timestamp() - ${LATE_MS}::float8 * interval '1 ms'
      limit 1`;
    if (late.length > 0) lateAt = performance.now();
  }
  const watching = (async () => {
    for (; !isOver; await sleep(LOOK_MS)) await look();
  })();
  watching.catch(() => undefined); // told to whoever asks
  return async () => {
    isOver = true;
    await watching;
    const living = await sql<{ incarnation: string }[]>`
      select incarnation from actor_hosts where last_heartbeat > ${row!.at}::timestamptz`;
    const gone = [...heldAt].filter(([one]) => !living.some(({ incarnation }) => incarnation === one));
    const last = (gone.length > 0 ? gone : [...heldAt]).map(([, at]) => at);
    return { claimsSettledAt: last.length > 0 ? Math.max(...last) : undefined, backlogNormalAt: lateAt };
  };
}

/** How long after a moment another one was; 0 where there was none. */
export const msFrom = (from: number, at: number | undefined): number => Math.max(0, Math.round((at ?? from) - from));
