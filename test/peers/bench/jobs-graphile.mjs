// graphile-worker: a job with `run_at` for each post, one transaction for each result.
import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import { answering, settings } from './answering.mjs';
import { publish, sql } from './publish.mjs';

const logger = new Logger(() => () => {});
const options = { connectionString: settings.databaseUrl, logger };
const utils = await makeWorkerUtils(options);
await utils.migrate();
let left = 0;
let finished = Promise.withResolvers();
const runner = await run({
  ...options, concurrency: settings.concurrency, maxPoolSize: settings.connections, pollInterval: settings.pollMs, noHandleSignals: true,
  preset: { worker: { localQueue: { size: 500 } } },
  taskList: { publish },
});
const failures = [];
const one = () => {
  left -= 1;
  if (left === 0) finished.resolve();
};
runner.events.on('job:success', one);
runner.events.on('job:error', ({ error }) => {
  failures.push(String(error));
  one();
});

answering({
  ready: () => sql`select 1`.then(() => undefined),
  async add({ posts }) {
    finished = Promise.withResolvers();
    left = posts.length;
    for (let n = 0; n < posts.length; n += 500)
      await utils.addJobs(posts.slice(n, n + 500).map((payload) => ({ identifier: 'publish', payload, runAt: new Date(payload.due) })));
    return Math.min(...posts.map(({ due }) => due)) - Date.now();
  },
  async finished() {
    await finished.promise;
    return failures.splice(0);
  },
});
