import { expect, test } from '@jest/globals';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { engines } from '../support/processes/service.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F4: `kill -9` of the scheduler in the middle of a wave; its data are lost with it, so that every reminder is gone.

const AWAY_MS = isFull ? 60_000 : 5_000;
const random = chance('f04');
const [, dapr] = engines;
(dapr!.missing === undefined ? test : test.skip).each(rounds(3))(
  `round $round of $of: the scheduler is killed and comes back without its data, and every post is out once${dapr!.missing ? ` [skipped: ${dapr!.missing}]` : ''}`,
  async () => {
    await using database = await testDatabase();
    await using service = await dapr!.start({ database, hosts: 2 });
    expect(
      await brokenBy({
        service,
        sql: database.sql,
        random,
        async breaks() {
          const scheduler = service.dapr!.scheduler();
          scheduler.signal('SIGKILL');
          await scheduler.exited;
          rmSync(join(service.dapr!.logs, 'scheduler'), { recursive: true, force: true });
          await sleep(AWAY_MS);
          await service.dapr!.restartScheduler();
        },
      }),
    ).toEqual(WHOLE);
  },
  600_000,
);
