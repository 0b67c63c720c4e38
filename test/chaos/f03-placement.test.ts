import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { engines } from '../support/processes/service.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F3: `kill -9` of placement in the middle of a wave.

const AWAY_MS = isFull ? 30_000 : 5_000;
const random = chance('f03');
const [, dapr] = engines;
(dapr!.missing === undefined ? test : test.skip).each(rounds(3))(
  `round $round of $of: placement is killed and away for a while, and every post is out once${dapr!.missing ? ` [skipped: ${dapr!.missing}]` : ''}`,
  async () => {
    await using database = await testDatabase();
    await using service = await dapr!.start({ database, hosts: 2 });
    expect(
      await brokenBy({
        service,
        sql: database.sql,
        random,
        async breaks() {
          const placement = service.dapr!.placement();
          placement.signal('SIGKILL');
          await placement.exited;
          await sleep(AWAY_MS);
          await service.dapr!.restartPlacement();
        },
      }),
    ).toEqual(WHOLE);
  },
  600_000,
);
