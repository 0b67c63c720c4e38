import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { styleText } from 'node:util';
import { endOnSignal } from './src/operations/cli/signals.ts';
import { migrateDatabase, NEWER, prepare, StartError, startOwnDatabase } from './src/operations/cli/start.ts';
import { readUsage, type CommandUsage } from './src/operations/cli/usage.ts';
import { type Config, describeIssues, environment, readConfig } from './src/platform/config/index.ts';
import { embeddedAddress, hasDatabase } from './src/platform/db/embedded/index.ts';
import { type Database, lockHoldersText, openDatabase } from './src/platform/db/index.ts';
import { atMost } from './src/platform/flow/index.ts';
import { openVault, systemClock } from './src/platform/kernel/index.ts';
import { openLogs, startMetricsListener } from './src/platform/telemetry/index.ts';

/** What a start opens has so long when an end is asked for: it may wait for others, such as a sidecar. */
const OPENING_MS = 4_000;

/** Whoever reads what is printed may be gone: those lines are lost then, and the work goes on. */
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
const say = (line: string) => void process.stdout.write(`${line}\n`);
const complain = (line: string) => void process.stderr.write(`${styleText('red', line)}\n`);

/** Reads the settings, prints every issue at once, and ends the process when one is fatal. */
function configure() {
  const { config, issues, exits } = readConfig(environment());
  if (issues.length > 0) complain(describeIssues(issues, exits));
  if (exits) process.exit(1);
  return config;
}

/** The database of the configuration, or that of the service that runs from its data folder. */
async function databaseOf({ database }: Config, applicationName: string): Promise<Database> {
  const url = database.url ?? (await embeddedAddress(join(database.dataFolder, 'postgres')));
  if (url === undefined)
    throw new StartError('DATABASE_URL is missing, and no service runs from DATA_FOLDER: start it first.');
  return openDatabase({ url, connections: 1, applicationName });
}

/**
 * The address of the database of the configuration, or of that of the data folder, which is started where no service
 * runs from there.
 */
async function addressOf(config: Config, running: AsyncDisposableStack): Promise<string> {
  const folder = join(config.database.dataFolder, 'postgres');
  const known = config.database.url ?? (await embeddedAddress(folder));
  if (known !== undefined) return known;
  if (!(await hasDatabase(folder)))
    throw new StartError('DATABASE_URL is missing, and DATA_FOLDER has no database: set one of them.');
  return running.use(await startOwnDatabase(config)).url;
}

/** Runs the roles of one process until a signal: `npm start` has both, a deployment one each. */
async function serve(roles: { api: boolean; actors: boolean }): Promise<void> {
  const given = configure();
  const alone = roles.api && roles.actors;
  if (!alone && given.actors.engine === 'embedded')
    throw new StartError(
      'The embedded engine runs in one process: use `npm start`, or start this process beside a Dapr sidecar (DAPR_HTTP_PORT, DAPR_GRPC_PORT).',
    );
  const logs = openLogs({
    level: given.telemetry.logLevel,
    format: given.telemetry.logFormat ?? (process.stdout.isTTY ? 'plain' : 'json'),
  });
  const [{ openContext }, { actorTypes, startActors }, { dueReminder }, { startApi }, { startSandbox }] =
    await Promise.all([
      import('./src/context.ts'),
      import('./actors/host/start.ts'),
      import('./actors/channel/contract.ts'),
      import('./api/main.ts'),
      import('./sandbox/index.ts'),
    ]);
  const running = new AsyncDisposableStack();
  const [ending, started] = [new AbortController(), Promise.withResolvers<void>()];
  async function stop(): Promise<void> {
    ending.abort();
    await atMost(systemClock, OPENING_MS, () => started.promise); // what is being opened would be left behind
    await running.disposeAsync();
  }
  const end = endOnSignal(stop, {
    clock: systemClock,
    say,
    extraMs: roles.api ? given.http.shutdownDelayMs : 0,
  });
  process.on('uncaughtException', (error) => {
    logs.of('start').error({ err: error }, 'an error that nobody caught');
    void end('A fault', 1);
  });
  try {
    const prepared = running.use(await prepare(given, { log: logs.of('start'), say, alone }));
    const { config } = prepared;
    ending.signal.throwIfAborted();
    let sandboxUrl = config.social.sandboxUrl;
    if (config.social.sandboxEnabled && sandboxUrl === undefined) {
      const ledger = openDatabase({ url: config.database.url!, connections: 2, applicationName: 'rookery-sandbox' });
      running.defer(() => ledger.end({ timeout: 2 }));
      sandboxUrl = running.use(await startSandbox({ sql: ledger, port: config.social.sandboxPort })).url;
    }
    const context = running.use(
      await openContext(config, { logs, actorTypes, channelReminder: dueReminder, sandboxUrl }),
    );
    ending.signal.throwIfAborted();
    const { metricsPort: port, metricsHost: host, metricsToken: token } = config.telemetry;
    if (!roles.api && port !== undefined)
      running.use(
        await startMetricsListener(context.metrics, { port, host, token }).catch((cause: unknown) => {
          throw new StartError(
            `Port ${port} on ${host} cannot be used for the metrics: set METRICS_PORT to a free one, METRICS_LISTEN_HOST to an own address.`,
            {
              cause,
            },
          );
        }),
      );
    const actors = roles.actors ? running.use(await startActors(context)) : undefined;
    if (roles.api) running.use(await startApi(context));
    running.defer(async () => {
      context.health.draining = true;
      if (roles.api) await systemClock.sleep(config.http.shutdownDelayMs);
      actors?.leave().catch(() => undefined); // beside the end of the API; its failure is told by the disposal
    });
    const said = await prepared.listening(roles.api ? await context.identity.setupToken() : undefined);
    started.resolve();
    ending.signal.throwIfAborted();
    say(said);
  } catch (error) {
    started.resolve();
    if (ending.signal.aborted) return end('A signal'); // which is under way: nothing of the start is told any more
    await running.disposeAsync().catch((failure: unknown) => complain(String(failure)));
    throw error;
  }
}

const commands: Record<string, CommandUsage & { run(args: readonly string[]): Promise<void> }> = {
  start: { about: 'everything in one process', run: () => serve({ api: true, actors: true }) },
  api: { about: 'the API only, beside a Dapr sidecar', run: () => serve({ api: true, actors: false }) },
  actors: { about: 'an actor host only, beside a Dapr sidecar', run: () => serve({ api: false, actors: true }) },
  demo: {
    about: 'does the main job against a running service',
    takes: '[address]',
    async run(args) {
      const { demo } = await import('./src/operations/cli/demo.ts');
      process.exitCode = await demo(args, say);
    },
  },
  admin: {
    about: 'makes the user with an address super-admin',
    takes: '[email] [provider]',
    async run([email, provider]) {
      if (email === undefined) throw new StartError('Whom? Say it like this: node rookery.mjs admin ann@example.com');
      const sql = await databaseOf(configure(), 'rookery-admin');
      const { appointSuperAdmin } = await import('./src/people/identity/index.ts');
      try {
        const reason = await appointSuperAdmin(sql, email, provider);
        if (reason !== undefined) throw new StartError(reason);
      } finally {
        await sql.end({ timeout: 5 });
      }
      say(`${email} is super-admin now.`);
    },
  },
  migrate: {
    about: 'applies the migrations to DATABASE_URL, or to the database of DATA_FOLDER',
    async run() {
      const config = configure();
      await using running = new AsyncDisposableStack();
      const url = await addressOf(config, running);
      const applied = await migrateDatabase(
        { ...config, database: { ...config.database, url } },
        {
          onNewer: (names) => say(`Note: ${NEWER} (${names.join(', ')}).`),
          onWait: ({ migration, holders }) => say(`Note: ${migration} waits. ${lockHoldersText(holders)}.`),
        },
      );
      say(applied.length === 0 ? 'Nothing to migrate.' : `Applied: ${applied.join(', ')}`);
    },
  },
  reencrypt: {
    about: 'seals every stored secret by ENCRYPTION_KEY, while the service runs',
    async run() {
      const config = configure();
      await using running = new AsyncDisposableStack();
      const url = await addressOf(config, running);
      const { secrets } = config;
      const { reencrypt } = await import('./src/operations/cli/reencrypt.ts');
      const sql = openDatabase({ url, connections: 2, applicationName: 'rookery-reencrypt' });
      process.exitCode = await reencrypt({
        sql,
        vault: openVault(secrets.encryptionKey, secrets.formerKeys),
        clock: systemClock,
        say,
      });
      await sql.end();
    },
  },
  emails: {
    about: 'writes every mail with sample data, to look at',
    takes: '[folder]',
    async run([folder = 'mails']) {
      const [{ siteOf }, { previewEmails }] = await Promise.all([
        import('./src/delivery/email/index.ts'),
        import('./src/operations/cli/emails.ts'),
      ]);
      await previewEmails(folder, siteOf(configure()), say);
    },
  },
  retention: {
    about: 'counts what the service deletes by age; --dry-run, as nothing else is done here',
    options: ['--dry-run'],
    async run(args) {
      if (!args.includes('--dry-run'))
        throw new StartError(
          'The service deletes by itself, every hour. Say it like this: node rookery.mjs retention --dry-run',
        );
      const config = configure();
      const [{ RETENTION_RULES }, { printRetention }] = await Promise.all([
        import('./src/context.ts'),
        import('./src/operations/cli/retention.ts'),
      ]);
      const sql = await databaseOf(config, 'rookery-retention');
      try {
        await printRetention({ sql, rules: RETENTION_RULES, config }, say);
      } finally {
        await sql.end({ timeout: 5 });
      }
    },
  },
  vapid: {
    about: 'makes the keys of pushes to browsers, as settings',
    async run() {
      const { printVapidKeys } = await import('./src/operations/cli/vapid.ts');
      printVapidKeys(say);
    },
  },
  gen: {
    about: 'writes the generated files; --check only compares them',
    options: ['--check'],
    async run(args) {
      const { generate } = await import('./scripts/gen.ts');
      process.exitCode = await generate({ check: args.includes('--check'), say });
    },
  },
};

const { version } = JSON.parse(readFileSync(new URL('package.json', import.meta.url), 'utf8')) as { version: string };
const asked = readUsage(process.argv.slice(2), commands, version);
if ('text' in asked) {
  (asked.status === 0 ? say : complain)(asked.text);
  process.exitCode = asked.status;
} else {
  await commands[asked.run]!.run(asked.args).catch((error: unknown) => {
    complain(
      error instanceof StartError
        ? error.message
        : error instanceof Error
          ? (error.stack ?? error.message)
          : String(error),
    );
    process.exit(1);
  });
}
