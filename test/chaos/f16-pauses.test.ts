import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startEmbeddedPostgres } from '../../src/platform/db/embedded/index.ts';
import { chance, rounds } from '../support/processes/chaos.ts';
import { enginesAtDepth } from '../support/processes/service.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { disposableDatabase, testDatabase } from '../support/wire/database.ts';
import { startRedis } from '../support/wire/services.ts';

// F16: the service, Postgres and Redis each stand still for five seconds in the middle of a wave.

const PAUSE_MS = 5_000;
const random = chance('f16');
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;
let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'rookery-f16-'));
  chmodSync(folder, 0o777); // Postgres runs as a user of its own when the tests run as root
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A process and all that it has started, which for Postgres is one for each connection. */
const treeOf = (pid: number): number[] => [
  pid,
  ...spawnSync('ps', ['-o', 'pid=', '--ppid', String(pid)])
    .stdout.toString()
    .split('\n')
    .map(Number)
    .filter((one) => one > 0),
];
async function pause(pids: readonly number[]): Promise<void> {
  for (const pid of pids) process.kill(pid, 'SIGSTOP');
  await sleep(PAUSE_MS);
  for (const pid of pids) process.kill(pid, 'SIGCONT');
}

describe.each(enginesAtDepth)('five seconds on the $name engine', ({ name, missing, start }) => {
  (hasRedis && missing === undefined ? test : test.skip).each(
    rounds(3).flatMap(({ round, of }) => ['service', 'Postgres', 'Redis'].map((what) => ({ what, round, of }))),
  )(
    `round $round of $of: $what stands still for five seconds, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4]${missing ? ` [skipped: ${missing}]` : ''}`,
    async ({ what, round }) => {
      await using ledger = await testDatabase();
      await using postgres = await startEmbeddedPostgres({
        folder: join(folder, `${name}-${what}-${round}`),
        settings: { max_connections: '100' },
      });
      await using redis = (await startRedis())!;
      await using thirdParties = await startThirdParties();
      await using service = await start({
        database: postgres,
        ledger,
        redisUrl: redis.url,
        env: { ...thirdParties.env, REDIS_URL: redis.url },
      });
      await using sql = disposableDatabase(postgres.url);
      const pids = () =>
        what === 'service' ? [service.hosts[0]!.pid] : treeOf(what === 'Postgres' ? postgres.pid : redis.pid);
      expect(
        await brokenBy({ service, sql, ledger: ledger.sql, random, thirdParties, breaks: () => pause(pids()) }),
      ).toEqual(WHOLE);
    },
    600_000,
  );
});
