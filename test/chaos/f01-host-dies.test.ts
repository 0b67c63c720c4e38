import { describe, expect, test } from '@jest/globals';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import { testDatabase } from '../support/wire/database.ts';
import { violationsOf } from '../support/processes/history.ts';
import { unjudgedIn } from '../support/processes/history/matter.ts';
import { msFrom, watchRecovery } from '../support/processes/recovery.ts';
import { engines } from '../support/processes/service.ts';
import { acceptedCount, holdsAt, outOf } from '../support/processes/wave.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { openWholeCrowd, postHeldWave, settlesAlone } from '../support/processes/wave-fault.ts';
import { editSome } from '../support/processes/wave-mix.ts';

// F1: `kill -9` of an actor host in the middle of a wave, judged by the network's own ledger.

const POSTS = isFull ? 2_000 : 200;
/** Channels whose first post the network holds for 20 s. */
const HELD = 6;
const HELD_MS = 20_000;
const random = chance('f01');

describe.each(engines)('kill of a host on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip).each(rounds(10))(
    `round $round of $of: each of ${POSTS} posts is published once and in order, also those whose request was held for 20 s [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]${missing ? ` [skipped: ${missing}]` : ''}`,
    async ({ round }) => {
      await using database = await testDatabase();
      await using thirdParties = await startThirdParties();
      await using service = await start({ database, env: thirdParties.env });
      const size = { orgs: 10, channels: POSTS / 10 + HELD };
      await using crowd = await openWholeCrowd(service, database.sql, thirdParties, size);
      const held = crowd.channels.slice(0, HELD);
      const { made, leftMs } = await postHeldWave(database.sql, crowd, held, { posts: POSTS, heldMs: HELD_MS });
      expect(crowd.created.filter(({ status }) => status !== 201)).toEqual([]);
      note({ round, engine: name, created: crowd.created.length, leftMs });

      const moment = 1 + random.pick(POSTS - 1);
      const index = random.pick(service.hosts.length);
      const sidecar = random.pick(2) === 1;
      const heldNow = await holdsAt(database.sql, held, { moment, atMostMs: HELD_MS / 2 });
      expect(heldNow).toBe(HELD);
      const at = performance.now();
      const underWay = Promise.all([editSome(crowd, { now: made, later: [] }), crowd.askForCanary()]);
      thirdParties.begin(service.url);
      await service.kill(index, { sidecar });
      const recovery = await watchRecovery(database.sql, held);
      const acceptedAtKill = await acceptedCount(database.sql);
      if (name === 'embedded') await service.restart(index);
      const restartMs = Math.round(performance.now() - at);
      await settlesAlone(service, database.sql, crowd);
      const settledAfterMs = Math.round(performance.now() - at);
      const { claimsSettledAt, backlogNormalAt } = await recovery();
      await underWay;
      await thirdParties.end();
      // another host takes over; where there is none, the next start does
      const takenOverFrom = name === 'embedded' ? at + restartMs : at;
      note({
        round,
        engine: name,
        posts: POSTS,
        moment,
        acceptedAtKill,
        heldNow,
        ...(name === 'dapr' && { host: index, sidecar }),
        restartMs,
        claimsSettledMs: msFrom(takenOverFrom, claimsSettledAt),
        backlogNormalMs: msFrom(takenOverFrom, backlogNormalAt),
        settledAfterMs,
      });

      const history = await crowd.history(database.sql);
      expect([violationsOf(history), unjudgedIn(history)]).toEqual([[], []]);
      expect(outOf(history)).toEqual({ published: POSTS + 2 * HELD, accepted: POSTS + 2 * HELD });
    },
    600_000,
  );
});
