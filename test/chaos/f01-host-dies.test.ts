import { describe, expect, test } from '@jest/globals';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import { testDatabase } from '../support/wire/database.ts';
import { violationsOf } from '../support/processes/history.ts';
import { engines, type Service } from '../support/processes/service.ts';
import { acceptedCount, comes, openCrowd, publishingOf, allSettled, waveOf } from '../support/processes/wave.ts';

// F1: `kill -9` of an actor host in the middle of a wave, judged by the network's own ledger.

const POSTS = isFull ? 2_000 : 200;
/** Channels whose first post the network holds for 20 s, with one more post behind it. */
const HELD = 6;
const HELD_MS = 20_000;
const LATENCY_MS = 50;
const CREATE_MS = 20; // for one create on a busy machine
const random = chance('f01');

describe.each(engines)('kill of a host on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip).each(rounds(10))(
    `round $round of $of: each of ${POSTS} posts is published once and in order, also those whose request was held for 20 s${missing ? ` [skipped: ${missing}]` : ''}`,
    async ({ round }) => {
      await using database = await testDatabase();
      await using service = await start({ database });
      await using crowd = await openCrowd(service.url, { orgs: 10, channels: POSTS / 10 + HELD });
      const [held, usual] = [crowd.channels.slice(0, HELD), crowd.channels.slice(HELD)];

      const from = systemClock.in(3_000 + POSTS * CREATE_MS);
      const before = new Date(from.getTime() - 1_500);
      await crowd.post([
        ...waveOf(held, HELD, before, { latencyMs: HELD_MS }),
        ...waveOf(held, HELD, from, { latencyMs: LATENCY_MS }),
        ...waveOf(usual, POSTS, from, { latencyMs: LATENCY_MS }),
      ]);
      expect(crowd.created.filter(({ status }) => status !== 201)).toEqual([]);
      note({
        round,
        engine: name,
        created: crowd.created.length,
        leftMs: from.getTime() - systemClock.now().getTime(),
      });

      const moment = 1 + random.pick(POSTS - 1);
      const index = random.pick(service.hosts.length);
      const sidecar = random.pick(2) === 1;
      const sending = () => publishingOf(database.sql, held);
      expect(
        await comes(async () => (await acceptedCount(database.sql)) >= moment && (await sending()) === HELD, 120_000),
      ).toBe(true);
      const heldNow = await sending();
      const at = performance.now();
      await service.kill(index, { sidecar });
      expect(heldNow).toBe(HELD);
      const acceptedAtKill = await acceptedCount(database.sql);
      if (name === 'embedded') await service.restart(index);
      const restartMs = Math.round(performance.now() - at);
      await settledOr(service, database.sql);
      note({
        round,
        engine: name,
        posts: POSTS,
        moment,
        acceptedAtKill,
        heldNow,
        ...(name === 'dapr' && { host: index, sidecar }),
        restartMs,
        settledAfterMs: Math.round(performance.now() - at),
      });

      const history = await crowd.history(database.sql);
      expect(violationsOf(history)).toEqual([]);
      expect(history.posts.filter(({ state }) => state !== 'PUBLISHED')).toEqual([]);
      expect(history.ledger.filter(({ accepted }) => accepted)).toHaveLength(POSTS + 2 * HELD);
    },
    600_000,
  );
});

const settledOr = (service: Service, sql: Parameters<typeof allSettled>[0]) =>
  allSettled(sql).catch((error: unknown) => Promise.reject(new Error(`${String(error)}\n${service.lastWords()}`)));
