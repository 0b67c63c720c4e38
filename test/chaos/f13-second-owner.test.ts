import { expect, test } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { engines } from '../support/processes/service.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';

// F13: the owner of actors is stopped for longer than others wait for it, and then goes on beside them.

const STILL_MS = isFull ? 20_000 : 12_000;
const random = chance('f13');
const [, dapr] = engines;
(dapr!.missing === undefined ? test : test.skip).each(rounds(5))(
  `round $round of $of: a host stands still until others have taken over, goes on, and every post is out once${dapr!.missing ? ` [skipped: ${dapr!.missing}]` : ''}`,
  async () => {
    await using database = await testDatabase();
    await using service = await dapr!.start({ database, hosts: 2 });
    expect(
      await brokenBy({
        service,
        sql: database.sql,
        random,
        async breaks() {
          const host = service.hosts[random.pick(service.hosts.length)]!;
          host.signal('SIGSTOP');
          await sleep(STILL_MS);
          host.signal('SIGCONT');
        },
      }),
    ).toEqual(WHOLE);
  },
  600_000,
);
