// bullmq alone: adds delayed jobs, many at a time, without HTTP, rows or limits.
import { Queue } from 'bullmq';
import { answering, settings } from './answering.mjs';

const queue = new Queue('schedule', { connection: { host: '127.0.0.1', port: settings.redisPort } });

answering({
  async ready() {
    await queue.waitUntilReady();
  },
  async add({ callers, ms, dueInMs }) {
    const started = performance.now();
    let added = 0;
    await Promise.all(Array.from({ length: callers }, async () => {
      while (performance.now() - started < ms) {
        await queue.add('post', { id: added }, { delay: dueInMs });
        added += 1;
      }
    }));
    const perSecond = (added * 1000) / (performance.now() - started);
    await queue.obliterate({ force: true });
    return perSecond;
  },
});
