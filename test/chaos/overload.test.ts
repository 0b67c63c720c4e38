import { describe, expect, test } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { openDatabase } from '../../src/platform/db/index.ts';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { note } from '../support/processes/chaos.ts';
import { violationsOf } from '../support/processes/history.ts';
import { enginesAtDepth } from '../support/processes/service.ts';
import { comes, openCrowd, outOf, waveOf } from '../support/processes/wave.ts';
import { settlesAlone } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// R15: more creates at once than a process takes of one organization, while the database takes none.

/** Requests of one organization whose handlers may run in a process. */
const PLACES = 2_000;
const AT_ONCE = 2_500;
/** One after another, before: the load that the memory is compared with. */
const BEFORE = 400;
const LEAD_MS = 45_000;

const Refusal = z.object({ statusCode: z.literal(503), code: z.literal('busy'), retryAfter: z.number().min(1) });
const peakMib = (pid: number) =>
  Math.round(Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1_024);

describe.each(enginesAtDepth)('overload on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip)(
    `of ${AT_ONCE} creates at once those that find no place are refused as busy at once, and each other one is out once [I1, I2, I3, I4, R15]${missing ? ` [skipped: ${missing}]` : ''}`,
    async () => {
      await using database = await testDatabase();
      await using service = await start({ database });
      await using crowd = await openCrowd(service.url, { orgs: 1, channels: 40 });
      const peaks = () => service.hosts.map(({ pid }) => peakMib(pid));
      const wave = (posts: number) => waveOf(crowd.channels, posts, systemClock.in(LEAD_MS), { latencyMs: 10 });
      await crowd.post(wave(BEFORE));
      const normal = peaks();

      const full = await holdPosts(database.url);
      const burst = crowd.postAtOnce(wave(AT_ONCE));
      expect(await comes(async () => crowd.created.length > BEFORE, 60_000)).toBe(true);
      const early = crowd.created.slice(BEFORE);
      await full.end();
      const answers = await burst;
      note({ engine: name, early: early.length, peakMib: { normal, overloaded: peaks() } });

      expect(early.filter(({ status }) => status !== 503)).toEqual([]);
      const taken = answers.filter(({ status }) => status === 201);
      for (const { status, said } of answers.filter((one) => !taken.includes(one)))
        expect([status, Refusal.safeParse(JSON.parse(said!)).error]).toEqual([503, undefined]);
      expect(taken.length).toBeGreaterThanOrEqual(PLACES);
      const [channel] = crowd.channels;
      expect(await crowd.post([{ channel: channel!, due: systemClock.in(LEAD_MS) }])).toMatchObject([{ status: 201 }]);

      const settledAfterMs = await settlesAlone(service, database.sql, crowd);
      note({ engine: name, taken: taken.length, settledAfterMs });
      const history = await crowd.history(database.sql);
      expect(violationsOf(history)).toEqual([]);
      const all = BEFORE + taken.length + 1;
      expect(history.posts).toHaveLength(all);
      expect(outOf(history)).toEqual({ published: all, accepted: all });
    },
    600_000,
  );
});

/** Keeps every post from being written, until it ends. */
async function holdPosts(url: string) {
  const sql = openDatabase({ url, connections: 1, applicationName: 'overload' });
  const { promise: held, resolve: isHeld } = Promise.withResolvers<void>();
  const { promise: over, resolve: goOn } = Promise.withResolvers<void>();
  const holding = sql.begin(async (tx) => {
    await tx`lock table posts in share row exclusive mode`;
    isHeld();
    await over;
  });
  await held;
  return {
    async end() {
      goOn();
      await holding;
      await sql.end();
    },
  };
}
