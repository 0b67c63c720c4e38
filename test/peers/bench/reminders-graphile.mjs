// graphile-worker: a job with `run_at` that does nothing for each reminder.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { answering, settings } from './answering.mjs';
import { each } from './reminders.mjs';

const options = { connectionString: settings.databaseUrl, logger: new Logger(() => () => {}), maxPoolSize: settings.connections };
const utils = await makeWorkerUtils(options);
await utils.migrate();
let fired = [];

answering({
  async start() {
    await run({
      ...options, concurrency: settings.concurrency, pollInterval: settings.pollMs, noHandleSignals: true,
      preset: { worker: { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      taskList: { remind: async () => void fired.push(Date.now()) },
    });
  },
  register({ count, due, callers }) {
    fired = [];
    const runAt = new Date(due);
    return each(count, callers, () => utils.addJob('remind', {}, { runAt }));
  },
  count: () => fired.length,
  fired: () => fired,
});
