import type { Bus } from '../actor-runtime/index.ts';
import type { Database, Sql } from '../db/index.ts';
import { type FactRow } from './store.ts';
import { parsedFact } from './hear.ts';
import type { Listener } from './listener.ts';

/** Counts the facts that were set aside, each for each listener that could not hear it. */
export async function countRefused(sql: Database): Promise<number> {
  const [row] = await sql<{ n: number }[]>`/* all orgs */
    select count(*)::int as n
    from (select from outbox_refused limit 10000) refused`;
  return row!.n;
}

/** The listeners that heard a fact after all, and those that still cannot. */
export interface Retried {
  heard: string[];
  refused: string[];
}

/**
 * Has a fact that was set aside heard again, by each listener that could not hear it, in a transaction that also ends
 * its being set aside; undefined: no such fact.
 */
export async function retryRefused(
  { sql, bus, listeners }: { sql: Database; bus: Pick<Bus, 'publish'>; listeners: readonly Listener[] },
  id: string,
): Promise<Retried | undefined> {
  const names = await sql<{ listener: string }[]>`/* all orgs */
    select listener
    from outbox_refused
    where id = ${id}
    order by listener`;
  if (names.length === 0) return undefined;
  const retried: Retried = { heard: [], refused: [] };
  for (const { listener: name } of names) {
    const listening = listeners.find((one) => one.name === name);
    const wakeUps: [topic: string, keys: readonly string[]][] = [];
    const acts: (() => Promise<unknown>)[] = [];
    try {
      if (!listening || listening.isOff) throw new Error('This listener is not there any more');
      await sql.begin(async (tx) => {
        const [row] = await tx<FactRow[]>`/* all orgs */
          delete from outbox_refused
          where listener = ${name}
            and id = ${id}
          returning id, org_id as "orgId", topic, entity_id as "entityId", payload, created_at as at`;
        if (!row) return;
        const fact = parsedFact(row);
        await listening.tell?.([fact]);
        await listening.hear(
          tx,
          [fact],
          (topic, keys) => wakeUps.push([topic, keys]),
          (act) => acts.push(act),
        );
      });
      retried.heard.push(name);
    } catch (error) {
      await sql`/* all orgs */
        update outbox_refused
        set error = ${String(error)}
        where listener = ${name}
          and id = ${id}`;
      retried.refused.push(name);
    }
    // a wake-up that is lost is a delay: whoever is woken looks by itself as well
    for (const [topic, keys] of wakeUps) await bus.publish(topic, [{ keys: [...keys] }]).catch(() => undefined);
    for (const act of acts) await act().catch(() => undefined);
  }
  return retried;
}

/** Forgets what was set aside of an organization that is deleted, in the caller's transaction. */
export const forgetRefused = (sql: Sql, orgId: string) => sql`delete from outbox_refused where org_id = ${orgId}`;
