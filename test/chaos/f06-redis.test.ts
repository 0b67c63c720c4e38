import { describe, expect, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { ask } from '../../dapr/processes.ts';
import { chance, isFull, rounds } from '../support/processes/chaos.ts';
import { enginesAtDepth } from '../support/processes/service.ts';
import { startThirdParties } from '../support/processes/third-parties/start.ts';
import { comes } from '../support/processes/wave.ts';
import { brokenBy, WHOLE } from '../support/processes/wave-fault.ts';
import { testDatabase } from '../support/wire/database.ts';
import { startRedis } from '../support/wire/services.ts';

// F6: the Redis of the product is emptied, is killed, and is away for a while in the middle of a wave.

const AWAY_MS = isFull ? 30_000 : 4_000;
const random = chance('f06');
const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

describe.each(enginesAtDepth)('Redis on the $name engine', ({ missing, start }) => {
  (hasRedis && missing === undefined ? test : test.skip).each(rounds(4))(
    `round $round of $of: Redis is emptied, then killed and away: the service says that it is not ready, and every post is out once [I1, I2, I3, I4, I5, I6, I7, I8, I9, I10, I11, I12, R1, R2, R4, R19]${missing ? ` [skipped: ${missing}]` : ''}`,
    async () => {
      await using database = await testDatabase();
      await using begun = new AsyncDisposableStack();
      const redis = (await startRedis())!;
      const port = Number(new URL(redis.url).port);
      begun.use(redis);
      await using thirdParties = await startThirdParties();
      await using service = await start({
        database,
        redisUrl: redis.url,
        env: { ...thirdParties.env, REDIS_URL: redis.url },
      });
      const readyWhileAway: number[] = [];
      const outcome = await brokenBy({
        service,
        sql: database.sql,
        random,
        thirdParties,
        async breaks() {
          expect(spawnSync('redis-cli', ['-p', String(port), 'flushall']).status).toBe(0);
          process.kill(redis.pid, 'SIGKILL');
          await sleep(AWAY_MS);
          readyWhileAway.push((await ask(`${service.url}/health/ready`)).status);
          begun.use((await startRedis([], port))!);
        },
      });
      expect(readyWhileAway).toEqual([503]);
      expect(outcome).toEqual(WHOLE);
      const isReady = async () => (await ask(`${service.url}/health/ready`)).status === 200;
      expect(await comes(isReady, 60_000)).toBe(true);
    },
    600_000,
  );
});
