import { describe, expect, test } from '@jest/globals';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { signUpAt } from '../support/processes/client.ts';
import { planIn } from '../support/processes/history/canary.ts';
import { engines } from '../support/processes/service.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { brokenBy, type Wave, wholeOf } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';
import { HEADS } from '../support/worlds/samples.ts';

// F15: each process has a heap of 128 MB, a wave falls due, and somebody uploads more than he may, and more than the heap.

const HEAP_MB = 128;
/** As docs/operations.md has it: a young generation that grows to 64 MB has V8 collect all the time in so small a heap. */
const YOUNG_MB = 8;
const MIB = 1_048_576;
const MOST_BYTES = 160 * MIB;
/** A cluster shares the machine with more processes. */
const waveOn = (engine: 'embedded' | 'dapr'): Wave => {
  const posts = isFull ? 10_000 : engine === 'embedded' ? 1_000 : 300;
  return { posts, before: posts / 2, later: 0, laterMs: 0 };
};
const random = chance('f15');

/** A film that is too long by a few megabytes: whoever is refused gets to read why. */
function* film(): Generator<Uint8Array> {
  yield HEADS['mp4']!;
  const piece = Buffer.alloc(MIB, 7);
  for (let sent = 0; sent < MOST_BYTES + 4 * MIB; sent += MIB) yield piece;
}

describe.each(engines)('little memory on the $name engine', ({ name, missing, start }) => {
  const wave = waveOn(name);
  (missing === undefined ? test : test.skip).each(rounds(2))(
    `round $round of $of: with a heap of ${HEAP_MB} MB a wave of ${wave.posts} posts is out once, and an upload above the limit is refused in words [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]${missing ? ` [skipped: ${missing}]` : ''}`,
    async () => {
      await using database = await testDatabase();
      await using thirdParties = await startThirdParties();
      const { NODE_OPTIONS, ...settings } = thirdParties.env;
      await using service = await start({
        database,
        env: {
          ...settings,
          NODE_OPTIONS: `${NODE_OPTIONS} --max-old-space-size=${HEAP_MB} --max-semi-space-size=${YOUNG_MB}`,
          MEDIA_UPLOAD_MAX_BYTES: String(MOST_BYTES),
        },
      });
      const ann = await signUpAt(service.url, 'Acme', planIn(database.sql), thirdParties.codeTo);
      let refused: unknown;
      const outcome = await brokenBy({
        service,
        sql: database.sql,
        random,
        thirdParties,
        wave,
        async breaks() {
          refused = await ann
            .upload(film())
            .catch((error: unknown) => Promise.reject(new Error(`${String(error)}\n${service.lastWords()}`)));
        },
      });
      expect(refused).toMatchObject({
        status: 413,
        body: { code: 'too_large', message: `The file is larger than ${MOST_BYTES} bytes` },
      });
      expect(outcome).toEqual(wholeOf(wave));
    },
    900_000,
  );
});
