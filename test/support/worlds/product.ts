import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { dueReminder } from '../../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../../actors/host/start.ts';
import type { Answered } from '../../../api/app.ts';
import { reportTo } from '../../../api/http/report.ts';
import { startApi } from '../../../api/main.ts';
import { startSandbox } from '../../../sandbox/index.ts';
import { readConfig } from '../../../src/platform/config/index.ts';
import { type ContextOptions, openContext } from '../../../src/context.ts';
import { openLogs } from '../../../src/platform/telemetry/index.ts';
import type { Sweep } from '../../../src/platform/wing/index.ts';
import { Client, JWT_SECRET, signUp } from './app.ts';
import { testDatabase } from '../wire/database.ts';

interface Options extends Pick<ContextOptions, 'clock' | 'network' | 'adapters' | 'servers'> {
  env?: Record<string, string>;
  level?: string;
  /** Gets the log as JSON lines, in place of plain ones on the standard error. */
  write?: (line: string) => void;
  /** With the sandbox network, on its own port of this process. */
  sandbox?: boolean;
  /** Address of the network `sandbox` when a test has its own. */
  sandboxUrl?: string;
  /** A payment processor in the place of the real one. */
  paymentsServer?: string;
  /** Run beside those of the product. */
  sweeps?: readonly Sweep[];
}

/**
 * Every room, the actors on the embedded engine and the API, in this process, on a database of its own (`DATABASE_URL`
 * in `env` names another, migrated one).
 */
export async function wholeProduct({
  env = {},
  level = 'fatal',
  write,
  sandbox = false,
  sandboxUrl,
  paymentsServer,
  servers = {},
  sweeps = [],
  ...parts
}: Options = {}) {
  await using opened = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'rookery-product-'));
  opened.defer(() => rmSync(folder, { recursive: true, force: true }));
  const db = opened.use(await testDatabase());
  const { config } = readConfig({
    JWT_SECRET,
    PORT: '0',
    BACKEND_LISTEN_HOST: '127.0.0.1',
    RATE_LIMIT_SCALE: '1000',
    DATABASE_URL: db.url,
    DATA_FOLDER: folder,
    ...env,
  });
  const network = sandbox ? opened.use(await startSandbox({ sql: db.sql })) : undefined;
  const context = opened.use(
    await openContext(config, {
      logs: openLogs({
        level,
        format: write ? 'json' : 'plain',
        write: write ?? ((line) => void process.stderr.write(line)),
      }),
      actorTypes,
      channelReminder: dueReminder,
      sandboxUrl: sandboxUrl ?? network?.url,
      // the one source that needs no key: nobody is there
      servers: { 'contentpack/openverse': 'http://127.0.0.1:9', ...servers },
      ...(paymentsServer !== undefined && { paymentsServer }),
      ...parts,
    }),
  );
  const { host, sweeper } = opened.use(await startActors({ ...context, sweeps: [...context.sweeps, ...sweeps] }));
  const answered: Answered[] = [];
  const report = reportTo(context);
  const onAnswer = (one: Answered) => {
    answered.push(one);
    report(one);
  };
  const { address } = opened.use(await startApi(context, { checkAnswers: true, onAnswer }));
  const running = opened.move();
  return {
    db,
    context,
    host,
    sweeper,
    address,
    answered,
    client: () => new Client(address),
    signUp: () => signUp(address, {}),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
}
export type Product = Awaited<ReturnType<typeof wholeProduct>>;
