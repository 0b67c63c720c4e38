import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { engines } from '../support/processes/service.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F2: `kill -9` of the sidecar of a host in the middle of a wave; the host stays.

const AWAY_MS = isFull ? [0, 5_000, 20_000] : [0, 5_000];
const random = chance('f02');
const [, dapr] = engines;
(dapr!.missing === undefined ? test : test.skip).each(rounds(5))(
  `round $round of $of: the sidecar of a living host is killed and comes back, and every post is out once${dapr!.missing ? ` [skipped: ${dapr!.missing}]` : ''}`,
  async () => {
    await using database = await testDatabase();
    await using service = await dapr!.start({ database, hosts: 2 });
    expect(
      await brokenBy({
        service,
        sql: database.sql,
        random,
        async breaks() {
          const index = random.pick(service.hosts.length);
          await service.killSidecar!(index);
          await sleep(AWAY_MS[random.pick(AWAY_MS.length)]!);
          await service.restartSidecar!(index);
        },
      }),
    ).toEqual(WHOLE);
  },
  600_000,
);
