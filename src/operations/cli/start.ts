import { createServer } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../../platform/config/index.ts';
import {
  type EmbeddedPostgres,
  type EmbeddedPostgresOptions,
  HeldError,
  startEmbeddedPostgres,
} from '../../platform/db/embedded/index.ts';
import { migrate, type MigrateOptions, openDatabase } from '../../platform/db/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';
import { type Running, StartError, takeFolder } from './running.ts';

export { StartError } from './running.ts';

export interface Prepared extends AsyncDisposable {
  /** With the addresses that were unknown before: database, port. */
  config: Config;
  /**
   * To be called once the service listens: notes the address for others, and answers what a person is to read;
   * `setupToken` while there is no super-admin.
   */
  listening(setupToken?: string): Promise<string>;
}
interface Options {
  log: Log;
  /** Told what takes longer, one sentence at a time. */
  say: (line: string) => void;
  /** One process with everything, which owns the data folder. Replicas of a deployment share theirs. Default true. */
  alone?: boolean;
}

/**
 * Everything that must be there before the rooms are built: a free port, the database (the embedded one where none is
 * given), its migrations. Throws `StartError` for what a person must change. Disposed of last, after all that uses the
 * database.
 */
export async function prepare(given: Config, { log, say, alone = true }: Options): Promise<Prepared> {
  await using begun = new AsyncDisposableStack();
  let running: Running | undefined;
  if (alone) begun.use((running = await takeFolder(given.database.dataFolder)));
  const config = withAddresses(given, await claimPort(given.http.host, given.http.port));

  let embedded: EmbeddedPostgres | undefined;
  if (config.database.url === undefined) {
    embedded = begun.use(
      await startOwnDatabase(config, {
        revive: true,
        warn: (line) => log.warn({}, line),
        log: (line) => {
          log.debug({}, line);
          if (/^(Making|Ending)/.test(line)) say(`${line} …`);
        },
      }),
    );
    config.database.url = embedded.url;
  }
  const applied = await migrateDatabase(config, {
    onNewer: (migrations) => log.warn({ migrations }, NEWER),
    onWait: (wait) => log.warn(wait, 'a migration waits for other sessions, and is tried again'),
  });
  if (applied.length > 0) log.info({ migrations: applied }, 'the database was migrated');

  const end = begun.move();
  return {
    config,
    async listening(setupToken) {
      await running?.tell(config.http.internalUrl);
      return banner(config, embedded, setupToken);
    },
    [Symbol.asyncDispose]: () => end.disposeAsync(),
  };
}

/** Starts the database of DATA_FOLDER; throws `StartError` with the reason. */
export async function startOwnDatabase(
  { production, database: { dataFolder } }: Config,
  told: Pick<EmbeddedPostgresOptions, 'log' | 'warn' | 'revive'> = {},
): Promise<EmbeddedPostgres> {
  if (production)
    throw new StartError(
      'DATABASE_URL is missing. In production nothing embedded starts: set it to the address of your Postgres.',
    );
  try {
    return await startEmbeddedPostgres({ folder: join(dataFolder, 'postgres'), ...told });
  } catch (error) {
    if (error instanceof HeldError)
      throw new StartError(
        `The database in ${dataFolder} is used by process ${error.holder.pid}. End that one, or let DATA_FOLDER name another folder.`,
        {
          cause: error,
        },
      );
    throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Names the database without its password. */
const shown = (url: string): string => {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
};

/** The warning about a database with migrations that this version does not know. */
export const NEWER =
  'the database was migrated by a newer version: this one should serve only while the others are replaced';

/**
 * Applies the migrations to the database of the configuration; throws `StartError` with the reason.
 */
export async function migrateDatabase(
  { database: { url, allowDestructive } }: Config,
  told: Pick<MigrateOptions, 'onNewer' | 'onWait'>,
): Promise<string[]> {
  const sql = openDatabase({ url: url!, connections: 2, applicationName: 'rookery-migrate' });
  try {
    return await migrate(sql, { allowDestructive, ...told });
  } catch (cause) {
    const code = String((cause as NodeJS.ErrnoException).code);
    const message = cause instanceof Error ? cause.message : String(cause);
    if (/^(ECONN|ENOTFOUND|EAI_|ETIMEDOUT|CONNECT_|CONNECTION_|28|3D000|55000|57P03)/.test(code))
      throw new StartError(
        `The database ${shown(url!)} cannot be used: ${message || code}. Check DATABASE_URL, and that it runs.`,
        { cause },
      );
    throw new StartError(`The database ${shown(url!)} could not be migrated. ${message}`, { cause });
  } finally {
    await sql.end({ timeout: 2 });
  }
}

/** The port if it is free, or a free one for 0. Says which setting to change otherwise. */
function claimPort(host: string | undefined, port: number): Promise<number> {
  return new Promise((done, fail) => {
    const probe = createServer();
    probe.on('error', (error: NodeJS.ErrnoException) => {
      const where = `${host ?? 'every address'}, port ${port}`;
      fail(
        new StartError(
          error.code === 'EADDRINUSE'
            ? `Port ${port} is taken on ${host ?? 'this machine'}. Set PORT to another one, for example: PORT=${port === 65_535 ? 3000 : port + 1} npm start`
            : error.code === 'EACCES'
              ? `This user may not listen on port ${port}. Set PORT to one above 1023.`
              : error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND'
                ? `This machine has no address ${host}. Set BACKEND_LISTEN_HOST to one that it has, for example 127.0.0.1.`
                : `Cannot listen on ${where}: ${error.message}. Check BACKEND_LISTEN_HOST and PORT.`,
          { cause: error },
        ),
      );
    });
    probe.listen({ port, host, exclusive: true }, () => {
      const address = probe.address();
      probe.close(() => done(typeof address === 'object' && address ? address.port : port));
    });
  });
}

/** With port 0 the own addresses are known only now. */
function withAddresses(config: Config, port: number): Config {
  const at = (url: string) => (config.http.port === 0 ? url.replace(/:0$/, `:${port}`) : url);
  const { http } = config;
  return {
    ...config,
    database: { ...config.database },
    http: {
      ...http,
      port,
      frontendUrl: at(http.frontendUrl),
      mainUrl: at(http.mainUrl),
      backendUrl: at(http.backendUrl),
      internalUrl: at(http.internalUrl),
    },
  };
}

/** Composes what is printed at the start: addresses, folders, next steps. */
function banner(
  config: Config,
  embedded: Pick<EmbeddedPostgres, 'folder' | 'port'> | undefined,
  setupToken: string | undefined,
): string {
  const { http, actors, redis, social, outbound, production, database } = config;
  const rows: [string, string][] = [
    ['address', http.internalUrl],
    [
      'engine',
      actors.engine === 'dapr'
        ? `Dapr, sidecar on port ${actors.dapr.httpPort}`
        : 'embedded: one process, nothing to install',
    ],
    [
      'database',
      embedded ? `Postgres of npm on 127.0.0.1:${embedded.port}, data in ${embedded.folder}` : shown(database.url!),
    ],
    ['cache', redis.url === undefined ? 'inside this process' : new URL(redis.url).host],
    ['uploads', config.uploads.folder],
  ];
  if (social.sandboxEnabled)
    rows.push(['sandbox', 'on: a network that publishes nowhere (SANDBOX_ENABLED=false turns it off)']);
  if (outbound.allowedPrivateCidrs.length > 0)
    rows.push([
      'outbound',
      `may reach ${outbound.allowedPrivateCidrs.join(', ')} with plain http (SSRF_ALLOWED_PRIVATE_CIDRS)`,
    ]);
  if (outbound.operatorPrivateCidrs.length > 0)
    rows.push([
      'operator',
      `may reach ${outbound.operatorPrivateCidrs.join(', ')} besides, by settings of the instance (OPERATOR_ALLOWED_PRIVATE_CIDRS)`,
    ]);
  if (config.notSecured)
    rows.push(['warning', 'NOT_SECURED is set: no CSRF check, no security headers, cookies over plain http']);
  if (setupToken !== undefined)
    rows.push([
      'admin',
      `there is no super-admin yet: whoever registers with "setupToken": "${setupToken}" becomes it${production ? '' : ', or the first who registers from this machine'}`,
    ]);
  const next = production
    ? []
    : ['', 'Next: npm run demo, in a second terminal, shows the whole way of a post. Ctrl-C ends the service.'];
  return [
    `Rookery ${config.version} is ready.`,
    ...rows.map(([name, value]) => `  ${name.padEnd(9)} ${value}`),
    ...next,
  ].join('\n');
}
