import { describe, expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import { disposableDatabase, testDatabase } from '../support/wire/database.ts';
import { unjudgedIn } from '../support/processes/history/matter.ts';
import { violationsOf } from '../support/processes/history.ts';
import { startOwnPostgres } from '../support/processes/own-postgres.ts';
import { enginesAtDepth } from '../support/processes/service.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { acceptedCount, comes, openCrowd, outOf, waveOf } from '../support/processes/wave.ts';
import { settlesAlone } from '../support/processes/wave-fault.ts';
import { editSome, limitTo, mixed } from '../support/processes/wave-mix.ts';

// F5: the product's Postgres stops at once in the middle of a wave and comes back. The network's ledger is in another
// server, which stays.

const POSTS = isFull ? 2_000 : 200;
const STOPS = isFull ? 3 : 2;
const CHANNELS = POSTS / 10;
const LATENCY_MS = 50;
const CREATE_MS = 20;
const random = chance('f05');

describe.each(enginesAtDepth)('a database that stops at once, on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip).each(rounds(10))(
    `round $round of $of: Postgres stops at once ${STOPS} times in a wave of ${POSTS} posts, and nothing acknowledged is lost or sent twice [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4, R8]${missing ? ` [skipped: ${missing}]` : ''}`,
    async ({ round }) => {
      await using ledger = await testDatabase();
      await using postgres = await startOwnPostgres();
      await using thirdParties = await startThirdParties();
      await using service = await start({ database: postgres, ledger, env: thirdParties.env });
      await using sql = disposableDatabase(postgres.url);
      await thirdParties.record(sql);
      await using crowd = await openCrowd(service.url, { orgs: 10, channels: CHANNELS, plans: sql, thirdParties });
      await thirdParties.open(service.url, sql);
      await crowd.plantCanary(sql);

      const from = systemClock.in(3_000 + POSTS * CREATE_MS);
      const wanted = mixed(waveOf(crowd.channels, POSTS, from, { latencyMs: LATENCY_MS }), crowd);
      await limitTo(sql, crowd, wanted);
      const posts = await crowd.post(wanted);
      expect(crowd.created.filter(({ status }) => status !== 201)).toEqual([]);

      const moments = Array.from({ length: STOPS }, () => 1 + random.pick(POSTS - CHANNELS - 1)).toSorted(
        (a, b) => a - b,
      );
      const underWay: Promise<void>[] = [];
      for (const [n, moment] of moments.entries()) {
        expect(await comes(async () => (await acceptedCount(ledger.sql)) >= moment, 120_000)).toBe(true);
        const accepted = await acceptedCount(ledger.sql);
        underWay.push(editSome(crowd, { now: posts, later: [] }), crowd.askForCanary());
        if (n === 0) thirdParties.begin(service.url);
        await postgres.stopAtOnce();
        const downMs = 500 + random.pick(isFull ? 6_500 : 2_500);
        await sleep(downMs);
        await postgres.start();
        note({ round, engine: name, moment, accepted, downMs });
      }
      const settledAfterMs = await settlesAlone(service, sql, crowd);
      await Promise.all(underWay);
      await thirdParties.end();
      note({ round, engine: name, posts: POSTS, settledAfterMs });
      expect(service.hosts.filter((host) => host.exit())).toEqual([]);

      const history = await crowd.history(sql, ledger.sql);
      expect([violationsOf(history), unjudgedIn(history)]).toEqual([[], []]);
      expect(outOf(history)).toEqual({ published: POSTS, accepted: POSTS });
    },
    900_000,
  );
});
