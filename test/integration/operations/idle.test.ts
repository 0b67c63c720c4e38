import { expect, test } from '@jest/globals';
import { setTimeout as pause } from 'node:timers/promises';
import { startActors } from '../../../actors/host/start.ts';
import { type Clock, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { vapidSettings } from '../../support/wire/push-service.ts';
import { WITH_MAIL } from '../../support/worlds/app.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';

// What a process asks of the database when nobody asks anything of it. Rests are over in the order of their times, one
// after another, so that a minute has the same rounds on every machine.

const MINUTE = 60_000;
/**
 * The heartbeat is sent 60 times; each of the three listeners, the signs of the reconciler and its lease, and the
 * workers of runs, transforms and short links are asked 12 times, media jobs 6 times, mails and pushes are off.
 */
const MOST_A_MINUTE = 180; // 170, and some where a minute's borders fall otherwise on a busy machine
/** Whoever rests no more after a rest, such as a limit of time, is waited for so long. */
const GOES_ON_MS = 100;

function clockOfRests() {
  const resting = new Set<{ until: number; over(): void }>();
  let now = 0;
  let rests = 0;
  const sleep: Clock['sleep'] = (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const one = { until: now + ms, over: resolve };
      signal?.addEventListener('abort', () => resting.delete(one) && reject(signal.reason), { once: true });
      resting.add(one);
      rests += 1;
    });
  /** Ends the rests of so many milliseconds, each when the work after the one before it has come to a rest. */
  async function pass(ms: number): Promise<void> {
    for (const end = now + ms; ;) {
      const [next] = [...resting].toSorted((a, b) => a.until - b.until);
      if (!next || next.until > end) return void (now = end);
      now = next.until;
      resting.delete(next);
      const before = rests;
      next.over();
      for (const since = performance.now(); rests === before && performance.now() - since < GOES_ON_MS;) await pause(1);
    }
  }
  return { clock: { ...systemClock, sleep, monotonic: () => systemClock.monotonic() + now }, pass };
}

test('a process that has nothing to do sends at most 180 statements a minute', async () => {
  await using db = await testDatabase();
  const statements: string[] = [];
  const { clock, pass } = clockOfRests();
  await using context = await openPublishing({ url: db.url, clock, onStatement: (text) => void statements.push(text) });
  await using _running = await startActors(context);
  await pass(MINUTE); // leases are taken, and every sweep has had its first round
  statements.length = 0;
  await pass(MINUTE);
  const kinds = Map.groupBy(statements, (text) => text.replaceAll(/\s+/g, ' ').slice(0, 120));
  const most = [...kinds].map(([text, all]) => `${all.length} ${text}`);
  expect(statements.length > MOST_A_MINUTE ? most : []).toEqual([]);
  expect(statements.length).toBeGreaterThan(100);
}, 120_000);

/** What each listener and worker of the wings looks for, in its own statement. */
const LOOKS = {
  mails: 'update emails e set attempts',
  pushes: 'from pushes',
  'short links': 'from short_links l',
  'media jobs': 'from media_jobs where provider',
  'runs of agents': 'from run_steps s where s.next_at',
  'media transforms': 'from media_transforms w where w.ended_at is null',
  'numbers of networks': 'from analytics_collections where due_at <= now() and day =',
};

test('a host of actors runs every listener and worker, and sends nothing after its end', async () => {
  await using db = await testDatabase();
  const statements: string[] = [];
  const { clock, pass } = clockOfRests();
  await using context = await openPublishing({
    url: db.url,
    clock,
    env: { ...WITH_MAIL, ...vapidSettings() },
    onStatement: (text) => void statements.push(text.replaceAll(/\s+/g, ' ')),
  });
  {
    await using _running = await startActors(context);
    await pass(MINUTE);
    const names = (await db.sql`select name from leases where name like 'listener %' order by name`).map(
      ({ name }) => name as string,
    );
    expect(names).toEqual(['listener notifications', 'listener streaks', 'listener webhooks']);
    const works = (look: string) => statements.some((text) => text.includes(look));
    expect(Object.entries(LOOKS).filter(([, look]) => !works(look))).toEqual([]);
  }
  statements.length = 0;
  await pass(MINUTE);
  // the engine looks for reminders, by the clock of the database, until the process ends
  expect(
    statements.filter((text) => !/from actor_reminders|^select extract\(epoch from clock_timestamp/.test(text)),
  ).toEqual([]);
}, 120_000);
