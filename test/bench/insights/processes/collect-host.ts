// A process of the product for the benchmark `collect`: posts that fall due, and a collection when it is told to.
import { setTimeout as sleep } from 'node:timers/promises';
import { dueReminder } from '../../../../actors/channel/contract.ts';
import { actorTypes, startActors } from '../../../../actors/host/start.ts';
import { openContext } from '../../../../src/context.ts';
import { readConfig } from '../../../../src/platform/config/index.ts';
import { openLogs } from '../../../../src/platform/telemetry/index.ts';
import { beginCollection } from '../../../support/worlds/analytics.ts';
import { JWT_SECRET } from '../../../support/worlds/app.ts';
import { answering } from '../../kit/answering.ts';
import { measured } from '../../kit/memory.ts';
import { numbersNetwork } from '../../kit/numbers-network.ts';

interface Settings {
  databaseUrl: string;
  folder: string;
  encryptionKey: string;
  networkUrl: string;
}
const { databaseUrl, folder, encryptionKey, networkUrl } = JSON.parse(process.argv[2]!) as Settings;
const LOOK_MS = 50;
const GIVE_UP_MS = 600_000;
const { config } = readConfig({
  JWT_SECRET,
  BACKEND_LISTEN_HOST: '127.0.0.1',
  SANDBOX_ENABLED: 'true',
  ENCRYPTION_KEY: encryptionKey,
  DATABASE_URL: databaseUrl,
  DATA_FOLDER: folder,
});
const context = await openContext(config, {
  logs: openLogs({ level: 'warn', format: 'json', write: (line) => void process.stderr.write(line) }),
  actorTypes,
  channelReminder: dueReminder,
  sandboxUrl: undefined,
  adapters: [numbersNetwork],
  servers: { [`social/${numbersNetwork.id}`]: networkUrl },
});
const { sql, analytics } = context;
// Without sweeps and workers nothing is collected before it is told, or twice.
await startActors({ ...context, sweeps: [], workers: [] });

/** Ends when the run of every organization is complete. */
async function completed(): Promise<void> {
  const end = performance.now() + GIVE_UP_MS;
  for (;;) {
    const [row] = await sql<{ left: number; failed: number }[]>`
      select (select count(*)::int from analytics_runs where completed_at is null) as left,
        (select count(*)::int from analytics_collections where failures > 0) as failed`;
    if (row!.left === 0) return;
    if (row!.failed > 0) throw new Error(`${row!.failed} channels could not be read, and would be tried in an hour`);
    if (performance.now() > end) throw new Error(`${row!.left} runs were not complete after ${GIVE_UP_MS / 1_000} s`);
    await sleep(LOOK_MS);
  }
}

answering({
  /** Answers when posts can go out. */
  ready: () => undefined,
  /** The night of every organization, by the worker of the product. */
  async collect() {
    let began = 0;
    const { ms, peakMib } = await measured(async () => {
      began = Date.now();
      await beginCollection(context);
      await using _ = analytics.start();
      await completed();
    });
    return { began, ms, peakMib };
  },
});
