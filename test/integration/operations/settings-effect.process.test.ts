import { describe, expect } from '@jest/globals';
import { join } from 'node:path';
import { Client, JWT_SECRET } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { freePort } from '../../support/wire/ports.ts';
import { startRookery } from '../../support/processes/scripts/rookery-process.ts';
import { effectsOf } from '../../support/worlds/settings/settings-table.ts';
import { type Env, newcomer, settingsWorld, startSilence } from '../../support/worlds/settings/settings-world.ts';

// Settings given to the product as a user runs it, and seen from outside: a process, its database and its cache.

const world = settingsWorld();
const { at, open, whole } = world;
const effect = effectsOf('process');

describe('process settings', () => {
  effect(
    ['SANDBOX_PORT', 'LOG_LEVEL', 'LOG_FORMAT'],
    'the sandbox listens there; as much is logged as was asked for, in that form',
    async () => {
      await using own = await testDatabase();
      const [port, sandbox] = [await freePort(), await freePort()];
      const env = {
        JWT_SECRET,
        DATABASE_URL: own.url,
        BACKEND_LISTEN_HOST: '127.0.0.1',
        PORT: String(port),
        DATA_FOLDER: join(world.folder, 'process'),
      };
      const asks = async () => {
        await fetch(`http://127.0.0.1:${port}/user/self`);
        await fetch(`http://127.0.0.1:${port}/auth/login`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: '{"provider":1}',
        });
      };
      await using quiet = await startRookery({
        ...env,
        SANDBOX_PORT: String(sandbox),
        LOG_LEVEL: 'silent',
        LOG_FORMAT: 'json',
      });
      expect((await fetch(`http://127.0.0.1:${sandbox}/health`)).status).toBe(200);
      await asks();
      await quiet[Symbol.asyncDispose]();
      expect(quiet.said()).not.toContain('/user/self');
      for (const [LOG_FORMAT, ...lines] of [
        [
          'json',
          /^\{"level":"info".*"route":"\/user\/self".*"code":"unauthenticated".*\}$/m,
          /^\{.*"route":"\/auth\/login".*"code":"validation_failed"/m,
        ],
        ['plain', /^(?!\{).*\/user\/self/m],
      ] as const) {
        await using loud = await startRookery({ ...env, SANDBOX_ENABLED: 'false', LOG_LEVEL: 'info', LOG_FORMAT });
        await asks();
        await loud[Symbol.asyncDispose]();
        for (const line of lines) expect(loud.said()).toMatch(line); // refusals, with route and code
      }
    },
  );
  effect(
    ['SANDBOX_URL', 'SANDBOX_ENABLED'],
    'the sandbox is the one that runs there, and is offered only where it is on',
    async () => {
      await using own = await testDatabase();
      await using network = await startSilence();
      const port = await freePort();
      await using _one = await startRookery({
        JWT_SECRET,
        DATABASE_URL: own.url,
        BACKEND_LISTEN_HOST: '127.0.0.1',
        PORT: String(port),
        DATA_FOLDER: join(world.folder, 'process'),
        SANDBOX_URL: network.url,
      });
      const who = new Client(`http://127.0.0.1:${port}`);
      await who.post('/auth/register', newcomer());
      const connecting = who.post('/integrations/social-connect/sandbox', {
        fields: { name: 'A' },
        allowPreview: true,
      });
      await eventually('the sandbox is asked', () => network.sockets.size > 0);
      await network[Symbol.asyncDispose]();
      expect((await connecting).status).toBeGreaterThanOrEqual(400);
      const offers = async (env: Env) => {
        await using app = await open(env);
        return (await at(app).get('/providers/catalog')).text.includes('"sandbox"');
      };
      expect([await offers({}), await offers({ SANDBOX_ENABLED: 'false' })]).toEqual([true, false]);
    },
  );
});

describe('database and cache', () => {
  effect(
    ['DATABASE_CONNECTION_LIMIT', 'DATABASE_POOL_TIMEOUT'],
    'the pool has so many connections, and gives up on a new one after so long [DE33, DE34]',
    async () => {
      await using product = await whole({ DATABASE_CONNECTION_LIMIT: '3', DATABASE_POOL_TIMEOUT: '7' });
      const { sql } = product.context;
      const pids = new Set<unknown>();
      const full = Promise.withResolvers<void>();
      const works = Array.from({ length: 12 }, () =>
        sql.begin(async (tx) => {
          pids.add((await tx`select pg_backend_pid() as pid`)[0]!['pid']);
          if (pids.size === 3) full.resolve();
          await full.promise;
        }),
      );
      await Promise.all(works);
      expect(pids.size).toBe(3);
      expect(sql.options.connect_timeout).toBe(7); // of the driver itself
    },
  );
  effect(['REDIS_URL'], 'the cache is there', async () => {
    await using redis = await startSilence();
    const opening = open({ REDIS_URL: `redis://${redis.host}` });
    await eventually('it is called', () => redis.sockets.size > 0);
    await redis[Symbol.asyncDispose]();
    await using _app = await opening;
  });
});
