import { describe, expect, test } from '@jest/globals';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { brokenFor, type Fault, type FaultProxy, startFaultProxy } from '../support/processes/fault-proxy.ts';
import { enginesAtDepth } from '../support/processes/service.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { brokenBy, type Wave, wholeOf } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F10: the network is slow, answers byte by byte, or never, in the middle of a wave.

const [SLOW_MS, STILL_MS] = isFull ? [10_000, 30_000] : [1_500, 3_000];
/** Longer than a request is on its way, and shorter than an answer that comes byte by byte. */
const TIMEOUT_MS = isFull ? 60_000 : 8_000;
/** One byte each time. */
const DRIP_BYTES_PER_SECOND = 20;
/** One after another; the first one leaves each request that is open without an answer for ever. */
const SLOW: readonly { fault: Fault; ms: number }[] = [
  { fault: { kind: 'half-open' }, ms: 500 },
  { fault: { kind: 'delay', ms: SLOW_MS }, ms: 2 * SLOW_MS },
  { fault: { kind: 'slow', bytesPerSecond: DRIP_BYTES_PER_SECOND, ways: ['down'] }, ms: STILL_MS },
  { fault: { kind: 'stop' }, ms: STILL_MS },
];
const ALL_MS = SLOW.reduce((sum, { ms }) => sum + ms, 0);
const POSTS = isFull ? 2_000 : 200;
const WAVE: Wave = { posts: POSTS, overMs: ALL_MS, before: POSTS / 10, later: POSTS / 10, laterMs: ALL_MS + 1_000 };
const random = chance('f10');

describe.each(enginesAtDepth)('a slow network on the $name engine', ({ missing, start }) => {
  (missing === undefined ? test : test.skip).each(rounds(3))(
    `round $round of $of: the network is slow, answers byte by byte or never, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]${missing ? ` [skipped: ${missing}]` : ''}`,
    async () => {
      await using database = await testDatabase();
      await using thirdParties = await startThirdParties();
      let network: FaultProxy | undefined;
      await using service = await start({
        database,
        env: { ...thirdParties.env, OUTBOUND_HTTP_TIMEOUT_MS: String(TIMEOUT_MS) },
        beforeNetwork: async (port) => (network = await startFaultProxy(port)),
      });
      const outcome = await brokenBy({
        service,
        sql: database.sql,
        random,
        thirdParties,
        wave: WAVE,
        async breaks() {
          for (const { fault, ms } of SLOW) await brokenFor(network!, fault, ms);
        },
      });
      expect(outcome).toEqual(wholeOf(WAVE));
    },
    600_000,
  );
});
