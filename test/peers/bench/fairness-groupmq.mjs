// groupmq: a job for each post, in the group of its organization, one transaction for each result. Its delayed jobs
// come 32 at a time, so the jobs wait in a paused queue, which goes on when they are due.
import { Redis } from 'ioredis';
import { Queue, Worker } from 'groupmq';
import { answering, settings } from './answering.mjs';
import { publish, sql } from './publish.mjs';

const redis = new Redis({ host: '127.0.0.1', port: settings.redisPort, maxRetriesPerRequest: null });
const queue = new Queue({ redis, namespace: 'posts', maxAttempts: 1, autoBatch: { size: 500, maxWaitMs: 5 } });
let left = 0;
let finished = Promise.withResolvers();
const failures = [];
const worker = new Worker({ queue, handler: (job) => publish(job.data), concurrency: settings.concurrency });
const one = () => {
  left -= 1;
  if (left === 0) finished.resolve();
};
worker.on('completed', one);
worker.on('failed', (job) => {
  failures.push(String(job.failedReason));
  one();
});

answering({
  async ready() {
    void worker.run();
    await sql`select 1`;
  },
  /** Answers how many milliseconds before the first due time the last job was there. */
  async add({ posts }) {
    finished = Promise.withResolvers();
    left = posts.length;
    await queue.pause();
    await Promise.all(posts.map((data) => queue.add({ groupId: data.orgId, data })));
    const ahead = Math.min(...posts.map(({ due }) => due)) - Date.now();
    setTimeout(() => void queue.resume(), ahead);
    return ahead;
  },
  async finished() {
    await finished.promise;
    return failures.splice(0);
  },
});
