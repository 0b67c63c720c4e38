// bullmq: a delayed job that does nothing for each reminder.
import { Queue, Worker } from 'bullmq';
import { answering, settings } from './answering.mjs';
import { each } from './reminders.mjs';

const connection = { host: '127.0.0.1', port: settings.redisPort };
const queue = new Queue('reminders', { connection });
let fired = [];
const worker = new Worker(queue.name, async () => void fired.push(Date.now()), { connection, concurrency: settings.concurrency });

answering({
  start: () => worker.waitUntilReady().then(() => undefined),
  register({ count, due, callers }) {
    fired = [];
    return each(count, callers, () =>
      queue.add('reminder', {}, { delay: Math.max(0, due - Date.now()), removeOnComplete: true, removeOnFail: true }),
    );
  },
  count: () => fired.length,
  fired: () => fired,
});
