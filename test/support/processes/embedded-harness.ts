import { setImmediate as nextRound, setTimeout as sleep } from 'node:timers/promises';
import { openEmbeddedEngine } from '../../../src/platform/actor-runtime/embedded/index.ts';
import { actorsOf, createHost } from '../../../src/platform/actor-runtime/index.ts';
import { openDatabase } from '../../../src/platform/db/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../wire/database.ts';
import type { EngineUnderTest } from './engine-harness.ts';
import { quietLog } from '../worlds/quiet-log.ts';

const RETRY_MS = 40;

/** Takes one database away for a while: nobody is let in, and who was in is put out. */
export async function takeDatabaseAway(url: string, ms: number): Promise<void> {
  const name = new URL(url).pathname.slice(1);
  const root = openDatabase({ url: Object.assign(new URL(url), { pathname: '/postgres' }).href, connections: 1 });
  try {
    await root.unsafe(`alter database ${name} with allow_connections false`);
    await root`select pg_terminate_backend(pid) from pg_stat_activity where datname = ${name}`;
    await sleep(ms);
    await root.unsafe(`alter database ${name} with allow_connections true`);
  } finally {
    await root.end();
  }
}

/**
 * The embedded engine on a database of its own; each start is an engine of its own, as after a restart of the process.
 */
export const embeddedEngine: EngineUnderTest = {
  name: 'embedded',
  many: 10_000,
  async open() {
    const database = await testDatabase();
    const sql = openDatabase({ url: database.url });
    return {
      sql,
      retryMs: RETRY_MS,
      setMs: 3_000,
      async startHost({ implementations, needs, limits = {} }) {
        const log = quietLog();
        const engine = await openEmbeddedEngine({
          sql,
          clock: systemClock,
          log,
          address: 'in the test',
          incarnation: newId(),
          retryMs: RETRY_MS,
          sweepMs: 2_000,
          nearMs: 6_000,
        });
        const actors = actorsOf(engine);
        const host = createHost({ implementations, needs, actors, clock: systemClock, log, limits });
        const running = await engine.host(host);
        let stopped: Promise<void> | undefined;
        const stop = async () => {
          await running[Symbol.asyncDispose]();
          await engine[Symbol.asyncDispose]();
        };
        return { actors, engine, host, stop: () => (stopped ??= stop()) };
      },
      async abandon({ engine }, to, method, input) {
        engine.invoke(to, method, input).catch(() => {}); // in one process nobody can hang up: the call is left alone
        await nextRound();
      },
      outage: (ms) => takeDatabaseAway(database.url, ms),
      async [Symbol.asyncDispose]() {
        await sql.end({ timeout: 5 }); // a pool whose database was away may never end by itself
        await database[Symbol.asyncDispose]();
      },
    };
  },
};
