// pg-boss: a job that starts after its time and does nothing for each reminder; four workers that take 500 at a time.
import { PgBoss } from 'pg-boss';
import { answering, settings } from './answering.mjs';
import { each } from './reminders.mjs';

const QUEUE = 'reminders';
const boss = new PgBoss({ connectionString: settings.databaseUrl, max: settings.connections, supervise: false, schedule: false });
boss.on('error', () => {});
await boss.start();
await boss.createQueue(QUEUE);
let fired = [];

answering({
  async start() {
    for (let n = 0; n < 4; n++)
      await boss.work(QUEUE, { batchSize: 500, pollingIntervalSeconds: 0.5 }, async (jobs) => {
        for (const _ of jobs) fired.push(Date.now());
      });
  },
  register({ count, due, callers }) {
    fired = [];
    const startAfter = new Date(due);
    return each(count, callers, () => boss.send(QUEUE, {}, { startAfter }));
  },
  count: () => fired.length,
  fired: () => fired,
});
