import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import { msFrom, watchRecovery } from '../support/processes/recovery.ts';
import { engines } from '../support/processes/service.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F2: `kill -9` of the sidecar of a host in the middle of a wave; the host stays.

const AWAY_MS = isFull ? [0, 5_000, 20_000] : [0, 5_000];
const random = chance('f02');
const { missing, start } = engines.find(({ name }) => name === 'dapr')!;

(missing === undefined ? test : test.skip).each(rounds(5))(
  `round $round of $of: the sidecar of a living host is killed and comes back, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]${missing ? ` [skipped: ${missing}]` : ''}`,
  async ({ round }) => {
    await using database = await testDatabase();
    const { sql } = database;
    await using thirdParties = await startThirdParties();
    await using service = await start({ database, env: thirdParties.env });
    let at = 0;
    let recovery: Awaited<ReturnType<typeof watchRecovery>> | undefined;
    const outcome = await brokenBy({
      service,
      sql,
      random,
      thirdParties,
      async breaks() {
        const index = random.pick(service.hosts.length);
        const awayMs = AWAY_MS[random.pick(AWAY_MS.length)]!;
        at = performance.now();
        await service.killSidecar!(index);
        recovery = await watchRecovery(sql);
        await sleep(awayMs);
        await service.restartSidecar!(index);
        note({ round, host: index, awayMs });
      },
    });
    const { claimsSettledAt, backlogNormalAt } = await recovery!();
    note({ round, claimsSettledMs: msFrom(at, claimsSettledAt), backlogNormalMs: msFrom(at, backlogNormalAt) });
    expect(outcome).toEqual(WHOLE);
  },
  600_000,
);
