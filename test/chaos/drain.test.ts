import { describe, expect, test } from '@jest/globals';
import { connect } from 'node:net';
import { systemClock } from '../../src/platform/kernel/index.ts';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import { testDatabase } from '../support/wire/database.ts';
import { violationsOf } from '../support/processes/history.ts';
import { unjudgedIn } from '../support/processes/history/matter.ts';
import { engines } from '../support/processes/service.ts';
import {
  abandoned,
  acceptedCount,
  comes,
  holdsAt,
  openCrowd,
  outOf,
  publishingOf,
  waveOf,
} from '../support/processes/wave.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { openWholeCrowd, postHeldWave, settlesAlone } from '../support/processes/wave-fault.ts';
import { editSome } from '../support/processes/wave-mix.ts';

// R17: SIGTERM in the middle of a wave. What is under way ends or is written as unconfirmed; nothing is lost, doubled
// or left claimed.

const POSTS = isFull ? 400 : 200;
/** Channels whose first post the network holds for longer than a drain lasts. */
const HELD = 3;
const HELD_MS = 26_000;
const DRAIN_MS = 12_000; // at most
const random = chance('drain');

const embedded = engines.find(({ name }) => name === 'embedded')!;

describe.each(engines)('a drain on the $name engine', ({ name, missing, start }) => {
  (missing === undefined ? test : test.skip).each(rounds(50))(
    `round $round of $of: SIGTERM in a wave of ${POSTS} posts ends the host by itself, and nothing is lost, doubled or left claimed [BO5, I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R17]${missing ? ` [skipped: ${missing}]` : ''}`,
    async ({ round }) => {
      await using database = await testDatabase();
      await using thirdParties = await startThirdParties();
      await using service = await start({ database, env: thirdParties.env });
      const size = { orgs: 10, channels: POSTS / 10 + HELD };
      await using crowd = await openWholeCrowd(service, database.sql, thirdParties, size);
      const held = crowd.channels.slice(0, HELD);
      const { made, leftMs } = await postHeldWave(database.sql, crowd, held, { posts: POSTS, heldMs: HELD_MS });
      expect(crowd.created.filter(({ status }) => status !== 201)).toEqual([]);

      const moment = 1 + random.pick(POSTS - 1);
      const index = random.pick(service.hosts.length);
      const heldNow = await holdsAt(database.sql, held, { moment, atMostMs: HELD_MS - DRAIN_MS });
      expect(heldNow).toBe(HELD);
      const underWay = Promise.all([editSome(crowd, { now: made, later: [] }), crowd.askForCanary()]);
      thirdParties.begin(service.url);
      const { ms, ...exit } = await service.end(index);
      const [acceptedAtEnd, left] = [await acceptedCount(database.sql), await abandoned(database.sql)];
      note({ round, engine: name, posts: POSTS, leftMs, moment, exitMs: ms, heldNow, acceptedAtEnd });
      expect(exit).toEqual({ code: 0, signal: null });
      expect(left).toEqual({ publishing: 0, slots: 0, sending: 0 });

      await service.restart(index);
      const settledAfterMs = await settlesAlone(service, database.sql, crowd);
      await underWay;
      await thirdParties.end();
      note({ round, engine: name, settledAfterMs });
      const history = await crowd.history(database.sql);
      expect([violationsOf(history), unjudgedIn(history)]).toEqual([[], []]);
      expect(outOf(history)).toEqual({ published: POSTS + 2 * HELD, accepted: POSTS + 2 * HELD });
    },
    600_000,
  );
});

describe('a drain of one process', () => {
  test('settles posts whose calls hang, also while a request never ends, and exits by itself [BO5]', async () => {
    await using database = await testDatabase();
    await using service = await embedded.start({ database });
    await using crowd = await openCrowd(service.url, { orgs: 1, channels: HELD });
    await crowd.post(waveOf(crowd.channels, HELD, systemClock.in(1_000), { latencyMs: HELD_MS }));
    expect(await comes(async () => (await publishingOf(database.sql, crowd.channels)) === HELD, 60_000)).toBe(true);
    const { hostname, port } = new URL(service.url);
    const slow = connect(Number(port), hostname).on('error', () => undefined);
    await new Promise((sent) =>
      slow.write(
        `POST /auth/login HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{`,
        sent,
      ),
    );
    const { ms, ...exit } = await service.end(0);
    note({ exitMs: ms, slow: true });
    expect(exit).toEqual({ code: 0, signal: null });
    expect(await abandoned(database.sql)).toEqual({ publishing: 0, slots: 0, sending: 0 });
  }, 240_000);
});
