// bullmq: a job for each person, which reads and deletes what was collected and stores the mail, in one statement.
import { Queue, Worker } from 'bullmq';
import postgres from 'postgres';
import { answering, settings } from './answering.mjs';

const connection = { host: '127.0.0.1', port: settings.redisPort };
const sql = postgres(settings.databaseUrl, { max: settings.connections });
const queue = new Queue('digest', { connection });
let left = 0;
let finished = Promise.withResolvers();
const worker = new Worker(
  'digest',
  async ({ data: { id } }) => {
    await sql`
      with w as (delete from notification_windows where user_id = ${id}),
      l as (delete from notification_lines where user_id = ${id} returning title)
      insert into emails (id, to_address, template, provider_id, provider_version, status, content)
      select gen_random_uuid(), ${`${id}@example.com`}, 'notification', 'smtp', 'v1', 'queued', string_agg(title, '')
      from l`;
    left -= 1;
    if (left === 0) finished.resolve();
  },
  { connection, concurrency: settings.concurrency, removeOnComplete: { count: 0 }, autorun: false },
);
worker.run();

answering({
  async close() {
    finished = Promise.withResolvers();
    const people = await sql`select user_id as id from notification_windows`;
    left = people.length;
    const begun = performance.now();
    for (let n = 0; n < people.length; n += 1_000)
      await queue.addBulk(people.slice(n, n + 1_000).map(({ id }) => ({ name: 'digest', data: { id } })));
    await finished.promise;
    return { ms: performance.now() - begun };
  },
});
