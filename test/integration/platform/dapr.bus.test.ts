import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type DaprEngine, openDaprEngine } from '../../../src/platform/actor-runtime/dapr/index.ts';
import { actorsOf, createHost } from '../../../src/platform/actor-runtime/index.ts';
import { AppError, newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { API_TOKEN, APP_TOKEN, CALLER_TOKEN, startDaprCaller } from '../../support/processes/dapr-engine.ts';
import { type DaprCluster, startDapr } from '../../support/processes/dapr-harness.ts';
import { describeDapr } from '../../support/processes/describe-dapr.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { startRedis } from '../../support/wire/services.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

const hasRedis = spawnSync('redis-server', ['--version']).status === 0;

/** Real daprd and a real Redis: what their acknowledgements are worth shows only here. */
(hasRedis
  ? describeDapr
  : (name: string, cases: () => void) => describe.skip(`${name} [skipped: no redis-server]`, cases))(
  'the bus of Dapr on Redis streams',
  () => {
    let database: Awaited<ReturnType<typeof testDatabase>>;
    let redis: Awaited<ReturnType<typeof startRedis>>;
    let dapr: DaprCluster;
    let engine: DaprEngine;
    let api: Awaited<ReturnType<typeof startDaprCaller>>;
    let stop: () => Promise<void>;
    const log = quietLog();
    const heard = new Map<string, unknown[]>();
    const tries = (topic: string) => heard.get(topic)?.length ?? 0;

    beforeAll(async () => {
      database = await testDatabase();
      redis = await startRedis(); // of its own: the hosts of another test would take the dead letters
      dapr = await startDapr({
        databaseUrl: database.url,
        redisUrl: redis!.url,
        apiToken: API_TOKEN,
        appToken: APP_TOKEN,
      });
      const ports = await dapr.reserve();
      engine = await openDaprEngine({
        httpPort: ports.http,
        grpcPort: ports.grpc,
        appPort: ports.app,
        apiToken: API_TOKEN,
        appToken: APP_TOKEN,
        callerToken: CALLER_TOKEN,
        clock: systemClock,
        log,
        sql: database.sql,
        incarnation: newId(),
        types: [],
      });
      const listen = (name: string, answer: (count: number) => void) =>
        engine.bus.subscribe(name, async (message) => {
          heard.set(name, [...(heard.get(name) ?? []), message]);
          answer(tries(name));
        });
      listen('plain', () => {});
      listen('fails-thrice', (count) => {
        if (count <= 3) throw new Error('not yet');
      });
      listen('fails-always', () => {
        throw new Error('never');
      });
      listen('unreadable', () => {
        throw new AppError('validation_failed', 'cannot be read');
      });
      const host = createHost({ implementations: [], needs: {}, actors: actorsOf(engine), clock: systemClock, log });
      const sidecar = dapr.sidecar(ports);
      const hosting = await engine.host(host);
      api = await startDaprCaller(dapr, database.sql, []);
      stop = async () => {
        await api.stop();
        await hosting[Symbol.asyncDispose]();
        await engine.close();
        await sidecar.process.stop();
      };
    }, 60_000);
    afterAll(async () => {
      await stop?.();
      await dapr?.[Symbol.asyncDispose]();
      await redis?.[Symbol.asyncDispose]();
      await database?.[Symbol.asyncDispose]();
    }, 60_000);

    test('a wake-up reaches a subscriber in another process with its data', async () => {
      const messages = Array.from({ length: 250 }, (_, n) => ({ n, text: 'ü' }));
      await api.engine.bus.publish('plain', messages);
      await eventually('all are heard', () => tries('plain') >= 250);
      const numbers = (heard.get('plain') as typeof messages).map(({ n }) => n);
      expect(new Set(numbers).size).toBe(250);
      expect(heard.get('plain')).toContainEqual({ n: 7, text: 'ü' });
    }, 60_000);

    test('a handler is tried up to six times before the dead letter, and an unreadable message once', async () => {
      await Promise.all(
        ['fails-thrice', 'fails-always', 'unreadable'].map((name) => api.engine.bus.publish(name, [{ name }])),
      );
      const dead = () =>
        log.lines
          .filter(({ message }) => message === 'a message was given up after all its tries')
          .map(({ detail }) => (detail as { message: { name: string } }).message.name);
      await eventually(
        'the dead letter arrives, and the others their end',
        () => dead().includes('fails-always') && tries('fails-thrice') >= 4 && tries('unreadable') >= 1,
        80_000,
      );
      expect([tries('fails-thrice'), tries('fails-always'), tries('unreadable')]).toEqual([4, 6, 1]);
      expect(dead()).not.toContain('fails-thrice');
    }, 90_000);
  },
);
