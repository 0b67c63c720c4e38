import { expect, test } from '@jest/globals';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { engines } from '../support/processes/service.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F14: each host ends in order and is started again, one after another, in the middle of a wave.

const HOSTS = isFull ? 4 : 2;
const random = chance('f14');
const [, dapr] = engines;
(dapr!.missing === undefined ? test : test.skip).each(rounds(1))(
  `round $round of $of: the hosts are replaced one after another, and every post is out once${dapr!.missing ? ` [skipped: ${dapr!.missing}]` : ''}`,
  async () => {
    await using database = await testDatabase();
    await using service = await dapr!.start({ database, hosts: HOSTS });
    expect(
      await brokenBy({
        service,
        sql: database.sql,
        random,
        async breaks() {
          for (const index of service.hosts.keys()) {
            const { signal } = await service.end(index);
            expect(signal).toBeNull(); // it has drained by itself
            await service.restart(index);
          }
        },
      }),
    ).toEqual(WHOLE);
  },
  600_000,
);
