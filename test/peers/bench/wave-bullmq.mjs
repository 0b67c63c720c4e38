// bullmq: a delayed job for each post, one transaction for each result.
import { Queue, Worker } from 'bullmq';
import { answering, settings } from './answering.mjs';
import { publish, sql } from './publish.mjs';

const connection = { host: '127.0.0.1', port: settings.redisPort };
const queue = new Queue('posts', { connection });
let left = 0;
let finished = Promise.withResolvers();
const failures = [];
const worker = new Worker(queue.name, (job) => publish(job.data), { connection, concurrency: settings.concurrency });
const one = () => {
  left -= 1;
  if (left === 0) finished.resolve();
};
worker.on('completed', one);
worker.on('failed', (_job, error) => {
  failures.push(String(error));
  one();
});

answering({
  async ready() {
    await Promise.all([worker.waitUntilReady(), sql`select 1`]);
  },
  /** Answers how many milliseconds before the first due time the last job was there. */
  async add({ posts }) {
    finished = Promise.withResolvers();
    left = posts.length;
    for (let n = 0; n < posts.length; n += 1000)
      await queue.addBulk(posts.slice(n, n + 1000).map((data) => ({ name: 'post', data, opts: { delay: Math.max(0, data.due - Date.now()), removeOnComplete: true, removeOnFail: true } })));
    return Math.min(...posts.map(({ due }) => due)) - Date.now();
  },
  async finished() {
    await finished.promise;
    return failures.splice(0);
  },
});
