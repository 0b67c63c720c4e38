import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startEmbeddedPostgres } from '../../../src/platform/db/embedded/index.ts';
import { buildTemplate, type TestDatabase, testDatabase } from '../../support/wire/database.ts';
import { installPeer } from '../../support/peers/peer-install.ts';
import { startCluster, startEmbedded } from '../../support/processes/service.ts';
import { startRedis } from '../../support/wire/services.ts';
import { type Child, profiling, startChild } from './child.ts';
import { CannotRun, type Options } from './options.ts';
import { ownChildren, serverCpuMs } from './processes.ts';

/** As an operator would set them; the same for both sides. */
const POSTGRES_SETTINGS = {
  fsync: 'on',
  synchronous_commit: 'on',
  max_connections: '200',
  shared_buffers: '512MB',
  track_wal_io_timing: 'on',
};
/** `BENCH_PROFILE=<folder>`: each process of ours writes a CPU profile there when it ends. */
const PROFILE = process.env['BENCH_PROFILE'];
export type Durability = 'always' | 'everysec';
/** Seals what the seed writes, as the product would. */
export const ENCRYPTION_KEY = randomBytes(32).toString('hex');
const PROVIDER = fileURLToPath(new URL('../processes/provider.ts', import.meta.url));

/** What all sides of one benchmark share: a Postgres and a Redis of their own, one provider, one folder for logs. */
export interface World extends AsyncDisposable {
  readonly folder: string;
  database(): Promise<TestDatabase>;
  /** User and system time of Postgres with all its processes, in milliseconds. */
  postgresCpuMs(): number;
  /**
   * One for peers, synced to the disk at each write unless said. Rejects with `CannotRun` where there is no
   * redis-server.
   */
  redis(sync?: Durability): Promise<Redis>;
  provider(): Promise<Provider>;
  /** A script of a folder of peers, whose packages are installed when that was not done. */
  peer(script: string, settings: object, folder?: string): Promise<Child>;
  script(path: string, settings: object): Child;
  /** `hosts`: of actors, on Dapr. */
  product(database: TestDatabase, more?: { env?: Record<string, string>; hosts?: number }): Promise<Product>;
}
export interface Redis {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
}
export interface Provider {
  readonly url: string;
  readonly pid: number;
  /** `hangingMs`: how long the accounts of `kit/hanging.ts` wait for their answers. */
  reset(latencyMs: number, hangingMs?: number): Promise<void>;
  count(): Promise<number>;
  arrivals(): Promise<Arrivals>;
  /** The same of comments below posts. */
  comments(): Promise<Arrivals>;
  /** Calls that asked for numbers of channels and posts; their answers wait for nothing. */
  readings(): Promise<number>;
}
export interface Arrivals {
  keys: string[];
  at: number[];
  doubled: number;
}
export interface Product {
  readonly url: string;
  /** Of the processes that are ours: API and actor hosts. */
  readonly apps: readonly number[];
  /** Of daprd, placement and scheduler; none on the embedded engine. */
  readonly dapr: readonly number[];
  /** Of its cache. */
  readonly redis: number;
  lastWords(): string;
}

export async function openWorld({ engine, say }: Pick<Options, 'engine' | 'say'>): Promise<World> {
  const begun = new AsyncDisposableStack();
  try {
    return await build(begun, engine, say);
  } catch (error) {
    await begun.disposeAsync();
    throw error;
  }
}

async function build(begun: AsyncDisposableStack, engine: Options['engine'], say: Options['say']): Promise<World> {
  const folder = mkdtempSync(join(tmpdir(), 'rookery-bench-'));
  chmodSync(folder, 0o777); // Postgres runs as a user of its own when this runs as root
  begun.defer(() => rmSync(folder, { recursive: true, force: true }));
  const postgres = begun.use(
    await startEmbeddedPostgres({ folder: join(folder, 'postgres'), settings: POSTGRES_SETTINGS }),
  );
  process.env['TEST_DATABASE_URL'] = postgres.url;
  await buildTemplate();
  say(`Postgres is there, logs in ${folder}`);

  const postgresPid = ownChildren().find(({ command }) => /postgres -D /.test(command))!.pid;
  const once = <T>(make: () => Promise<T>) => {
    let made: Promise<T> | undefined;
    return () => (made ??= make());
  };
  const ownRedis = async (settings: readonly string[]) => {
    const redis = await startRedis(settings);
    if (!redis) throw new CannotRun('redis-server is not on this machine');
    begun.use(redis);
    return { url: redis.url, port: Number(new URL(redis.url).port), pid: redis.pid };
  };
  const start = (name: string, args: readonly string[], cwd?: string) =>
    begun.use(
      startChild(name, args, {
        logFile: join(folder, `${name}.log`),
        ...(cwd === undefined ? { profile: PROFILE } : { cwd }), // peers are ended as they are
      }),
    );

  const redises = {
    always: once(() => ownRedis(['--appendonly', 'yes', '--appendfsync', 'always'])),
    everysec: once(() => ownRedis(['--appendonly', 'yes', '--appendfsync', 'everysec'])),
  } satisfies Record<Durability, unknown>;
  const world: World = {
    folder,
    database: async () => begun.use(await testDatabase()),
    postgresCpuMs: () => serverCpuMs(postgresPid),
    redis: (sync = 'always') => redises[sync](),
    provider: once(async () => {
      const child = start('provider', [PROVIDER]);
      const { url } = (await child.ask({ do: 'listen' })) as { url: string };
      return {
        url,
        pid: child.pid,
        reset: (latencyMs, hangingMs = 0) => child.ask({ do: 'reset', latencyMs, hangingMs }),
        count: () => child.ask({ do: 'count' }),
        arrivals: () => child.ask({ do: 'arrivals' }),
        comments: () => child.ask({ do: 'comments' }),
        readings: () => child.ask({ do: 'readings' }),
      };
    }),
    async peer(script, settings, name = 'bench') {
      const home = await installPeer(name);
      return start(script.replace(/\.mjs$/, ''), [join(home, script), JSON.stringify(settings)], home);
    },
    script: (path, settings) => start(path.replace(/\W+/g, '-'), [path, JSON.stringify(settings)]),
    async product(database, { env = {}, hosts = 1 } = {}) {
      const provider = await world.provider();
      const redis = await ownRedis([]);
      const before = new Set(ownChildren().map(({ pid }) => pid));
      const settings = {
        database,
        redisUrl: redis.url,
        hosts,
        env: {
          NODE_ENV: 'production',
          LOG_LEVEL: 'warn',
          ENCRYPTION_KEY,
          REDIS_URL: redis.url,
          IS_GENERAL: 'true',
          SANDBOX_ENABLED: 'true',
          UPLOAD_FOLDER_SHARED: 'true',
          RATE_LIMIT_SCALE: '1000000',
          FRONTEND_URL: 'http://127.0.0.1',
          NEXT_PUBLIC_BACKEND_URL: 'http://127.0.0.1',
          BACKEND_INTERNAL_URL: 'http://127.0.0.1',
          SANDBOX_URL: provider.url,
          ...(engine === 'embedded' && { ACTOR_ENGINE: 'embedded' }),
          ...(PROFILE !== undefined && { NODE_OPTIONS: profiling(PROFILE).join(' ') }),
          ...env,
        },
      };
      const service = engine === 'embedded' ? await startEmbedded(settings) : await startCluster(settings);
      begun.defer(async () => {
        // a profile is written at a good end only
        if (PROFILE !== undefined) await Promise.all(service.hosts.map((_, n) => service.end(n)));
        await service[Symbol.asyncDispose]();
      });
      const started = ownChildren().filter(({ pid }) => !before.has(pid));
      const pids = (pattern: RegExp) => started.filter(({ command }) => pattern.test(command)).map(({ pid }) => pid);
      return {
        url: service.url,
        apps: pids(/rookery\.ts/),
        dapr: pids(/\/(daprd|placement|scheduler) /),
        redis: redis.pid,
        lastWords: () => service.lastWords(),
      };
    },
    [Symbol.asyncDispose]: () => begun.disposeAsync(),
  };
  return world;
}
