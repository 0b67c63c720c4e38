import { expect, test } from '@jest/globals';
import type { Database } from '../../../src/platform/db/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { type Chance, chance, isFull, note, rounds } from './chaos.ts';
import { type History, violationsOf } from './history.ts';
import { engines, type Service } from './service.ts';
import { acceptedCount, allSettled, comes, openCrowd, waveOf } from './wave.ts';
import { testDatabase } from '../wire/database.ts';

/** Posts of a wave that something breaks. */
const WAVE_POSTS = isFull ? 2_000 : 200;
/** Those that fall due after it on the same channels: when it breaks, nothing but a reminder and a row knows of them. */
const LATER_POSTS = WAVE_POSTS / 2;
const LATER_MS = 15_000;
const LATENCY_MS = 50;
const CREATE_MS = 20; // for one create on a busy machine

interface WaveFault {
  service: Service;
  /** The product's database, and that of the network's ledger where it is another one. */
  sql: Database;
  ledger?: Database;
  random: Chance;
  /** What breaks once the network has some of the posts, and is whole again at its end. */
  breaks: () => Promise<unknown>;
}

/**
 * Has two waves of posts fall due, breaks something in the middle of the first, and waits until all has its end. Answers what is
 * not as it must be: of the history, and posts that are not out.
 */
export async function brokenBy({ service, sql, ledger = sql, random, breaks }: WaveFault): Promise<{
  violations: unknown;
  created: number;
  published: number;
  accepted: number;
  gone: number;
}> {
  await using crowd = await openCrowd(service.url, { orgs: 10, channels: WAVE_POSTS / 10 });
  const from = systemClock.in(3_000 + (WAVE_POSTS + LATER_POSTS) * CREATE_MS);
  await crowd.post([
    ...waveOf(crowd.channels, WAVE_POSTS, from, { latencyMs: LATENCY_MS }),
    ...waveOf(crowd.channels, LATER_POSTS, new Date(from.getTime() + LATER_MS), { latencyMs: LATENCY_MS }),
  ]);
  const moment = 1 + random.pick(WAVE_POSTS / 2);
  if (!(await comes(async () => (await acceptedCount(ledger)) >= moment, 120_000)))
    throw new Error(`The wave did not begin\n${service.lastWords()}`);
  const at = performance.now();
  await breaks();
  const brokenMs = Math.round(performance.now() - at);
  const settledAfterMs = await allSettled(sql).catch((error: unknown) =>
    Promise.reject(new Error(`${String(error)}\n${service.lastWords()}`)),
  );
  note({ engine: service.engine, posts: WAVE_POSTS + LATER_POSTS, moment, brokenMs, settledAfterMs });
  const history: History = await crowd.history(sql, ledger);
  return {
    violations: violationsOf(history),
    created: crowd.created.filter(({ status }) => status === 201).length,
    published: history.posts.filter(({ state }) => state === 'PUBLISHED').length,
    accepted: history.ledger.filter(({ accepted }) => accepted).length,
    gone: service.hosts.filter((host) => host.exit() !== undefined).length,
  };
}
const ALL = WAVE_POSTS + LATER_POSTS;
/** Nothing is lost, doubled or early, and no process has ended. */
export const WHOLE = { violations: [], created: ALL, published: ALL, accepted: ALL, gone: 0 };

interface DaprFault {
  /** Seeds the draws: `f03`. */
  name: string;
  /** Rounds at short depth. */
  most: number;
  /** What happens, for the title. */
  title: string;
  hosts?: number;
  breaks: (service: Service, random: Chance) => Promise<unknown>;
}

/** Declares the rounds in which something breaks a wave on real Dapr; skipped by name where Dapr is missing. */
export function testOnDapr({ name, most, title, hosts = 2, breaks }: DaprFault): void {
  const random = chance(name);
  const dapr = engines[1]!;
  (dapr.missing === undefined ? test : test.skip).each(rounds(most))(
    `round $round of $of: ${title}, and every post is out once${dapr.missing ? ` [skipped: ${dapr.missing}]` : ''}`,
    async () => {
      await using database = await testDatabase();
      await using service = await dapr.start({ database, hosts });
      const broken = await brokenBy({ service, sql: database.sql, random, breaks: () => breaks(service, random) });
      expect(broken).toEqual(WHOLE);
    },
    600_000,
  );
}
