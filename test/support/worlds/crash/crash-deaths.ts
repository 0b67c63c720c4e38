import { describe, expect, test } from '@jest/globals';
import { note } from '../../processes/chaos.ts';
import type { CrashingHost, Place } from './crashing.ts';
import { type CrashWorld, HOUR, type Seeded } from './crash-world.ts';

/** A piece of work whose process dies at each place where it waits. */
export interface DyingTask {
  name: string;
  /** What there is to do, for an organization of its own. */
  seed(): Promise<Seeded>;
  /** Does it, as the product does; a second time it does what is left. */
  work(host: CrashingHost, seeded: Seeded): Promise<unknown>;
  /** Before two processes do the work at once: what a person asks for once. */
  ask?(host: CrashingHost, seeded: Seeded): Promise<unknown>;
  /** What is there afterwards, without ids and times. */
  state(seeded: Seeded): Promise<unknown>;
  /** The share of its places that a second run comes to at least. */
  leastDeaths?: number;
  /** What has reached others; the same message may have come twice. */
  arrived?(seeded: Seeded): unknown;
}

/**
 * A statement that leaves nothing at the server: a death behind it finds the same as one before it, and inside a
 * transaction as one before the statement that follows.
 */
const isRead = (text: string): boolean =>
  text === 'begin' ||
  (/^(?:\/\*.*?\*\/ ?)?(?:select|with)\b/.test(text) &&
    !/\b(?:insert|update|delete|merge|set_config|nextval|pg_notify|pg_advisory\w*)\b/.test(text));

/** Where a death can leave what no other does; inside a transaction it is as if what was not answered was not sent. */
const placesAt = ({ text, isInside }: CrashingHost['sent'][number], at: number): Place[] => {
  if (isRead(text)) return isInside ? [] : [{ at, cut: 'before' }];
  return [{ at, cut: 'before' }, ...(isInside ? [] : [{ at, cut: 'after' } as const])];
};

/** Each task to its end; with a death at each place where it waits; and by two processes at once. */
export const describeDeaths = (worldOf: () => CrashWorld, tasks: readonly DyingTask[]): void =>
  describe.each([...tasks])('$name', (task) => {
    const { seed, state, arrived, ask, leastDeaths = 0.8 } = task;
    const work = task.work.bind(task);
    let places: Place[];
    let wanted: { state: unknown; arrived: unknown };

    async function judge(seeded: Seeded) {
      return { state: await state(seeded), arrived: arrived?.(seeded) };
    }

    test('come to their end where nothing happens', async () => {
      await worldOf().begin();
      const seeded = await seed();
      await using host = await worldOf().open();
      host.count();
      await work(host, seeded);
      const { sent, requests } = host;
      wanted = await judge(seeded);
      places = [
        ...sent.flatMap((one, n) => placesAt(one, n + 1)),
        ...Array.from({ length: requests }, (_, n) => ({ request: n + 1 })),
      ];
      expect(sent.length).toBeGreaterThan(0);
      expect(await judge(seeded)).toEqual(wanted);
    });

    test('are ended by another process, once and whole, wherever the first one dies', async () => {
      let deaths = 0;
      for (const place of places) {
        await worldOf().begin();
        const seeded = await seed();
        await using host = await worldOf().open();
        host.count(place);
        await Promise.race([work(host, seeded), host.died]);
        if (host.isDead) {
          deaths += 1;
          await host.buried();
        }
        // until leases of the dead are over, and what it left is due
        for (let rounds = 0; rounds < 3; rounds++) {
          await worldOf().pass(HOUR);
          await work(worldOf().host, seeded);
        }
        expect({ place, ...(await judge(seeded)) }).toEqual({ place, ...wanted });
      }
      note({ places: places.length, deaths });
      expect(deaths).toBeGreaterThanOrEqual(leastDeaths * places.length); // what two loops ask is not always asked in one order
    }, 240_000);

    test('come to the same end by two processes at once', async () => {
      await worldOf().begin();
      const seeded = await seed();
      await using host = await worldOf().open();
      for (const { context } of [host, worldOf().host])
        await worldOf().db.sql`
        insert into actor_hosts (incarnation, engine, address, types)
        values (${context.incarnation}, 'embedded', '', '{}')
        on conflict (incarnation) do update set last_heartbeat = now()`; // both are there: neither takes over
      await ask?.(host, seeded);
      await Promise.all([work(host, seeded), work(worldOf().host, seeded)]);
      await worldOf().pass(HOUR);
      await work(worldOf().host, seeded);
      expect(await judge(seeded)).toEqual(wanted);
    });
  });
