// bullmq: a job for each delivery; the same signature, and the same rows in one transaction.
import { createHmac, randomUUID } from 'node:crypto';
import { Queue, Worker } from 'bullmq';
import postgres from 'postgres';
import { Agent, request } from 'undici';
import { answering, settings } from './answering.mjs';

const sql = postgres(settings.databaseUrl, { max: settings.connections, onnotice() {} });
const dispatcher = new Agent({ connections: 64, pipelining: 1 });
const connection = { host: '127.0.0.1', port: settings.redisPort };
const queue = new Queue('deliveries', { connection });
let left = 0;
let finished = Promise.withResolvers();

async function deliver({ id, orgId, webhookId, url, body }) {
  const begun = performance.now();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const answer = await request(url, {
    method: 'POST', dispatcher, body,
    headers: {
      'content-type': 'application/json', 'user-agent': 'service-webhooks/1', 'webhook-id': `msg_${id}`, 'webhook-timestamp': timestamp,
      'x-service-signature': `sha256=${createHmac('sha256', settings.signingKey).update(body).digest('hex')}`,
    },
  });
  await answer.body.dump();
  const durationMs = Math.round(performance.now() - begun);
  await sql.begin((tx) => [
    tx`insert into webhook_deliveries (id, org_id, webhook_id, event, body, state, attempts) values (${id}, ${orgId}, ${webhookId}, 'post.published', ${body}, 'succeeded', 1)`,
    tx`insert into webhook_attempts (id, org_id, webhook_id, delivery_id, attempt, status, duration_ms) values (${randomUUID()}, ${orgId}, ${webhookId}, ${id}, 1, ${answer.statusCode}, ${durationMs})`,
  ]);
}
const worker = new Worker(queue.name, (job) => deliver(job.data), { connection, concurrency: settings.concurrency });
const one = () => {
  left -= 1;
  if (left === 0) finished.resolve();
};
worker.on('completed', one);
const failures = [];
worker.on('failed', (_job, error) => {
  failures.push(String(error));
  one();
});

answering({
  ready: () => Promise.all([worker.waitUntilReady(), sql`select 1`]).then(() => undefined),
  async run({ deliveries }) {
    finished = Promise.withResolvers();
    left = deliveries.length;
    for (let n = 0; n < deliveries.length; n += 1000)
      await queue.addBulk(deliveries.slice(n, n + 1000).map((data) => ({ name: 'delivery', data, opts: { removeOnComplete: true, removeOnFail: true } })));
    await finished.promise;
    return failures.splice(0);
  },
});
