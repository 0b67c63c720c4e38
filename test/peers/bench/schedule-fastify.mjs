// fastify and postgres: one transaction with the org's limit, the post, its timeline, its outbox row and its job. No ladder: the key is looked up in memory.
import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import { Logger, makeWorkerUtils } from 'graphile-worker';
import { PgBoss } from 'pg-boss';
import postgres from 'postgres';
import { answering, settings } from './answering.mjs';

const sql = postgres(settings.databaseUrl, { max: settings.connections, onnotice() {} });
const orgs = new Map();

const queues = {
  async graphile() {
    const utils = await makeWorkerUtils({ connectionString: settings.databaseUrl, logger: new Logger(() => () => {}) });
    await utils.migrate();
    return (tx, payload, due) => tx`select graphile_worker.add_job('publish', payload := ${JSON.stringify(payload)}::text::json, run_at := ${due})`;
  },
  async pgboss() {
    const boss = new PgBoss({ connectionString: settings.databaseUrl, supervise: false, schedule: false });
    boss.on('error', () => {});
    await boss.start();
    await boss.createQueue('publish');
    return (tx, payload, due) => boss.send('publish', payload, { startAfter: due, db: { executeSql: async (text, values) => ({ rows: await tx.unsafe(text, values, { prepare: true }) }) } });
  },
};

const app = fastify({ logger: false });
const schema = {
  type: 'object', required: ['type', 'date', 'posts'],
  properties: {
    type: { type: 'string' }, date: { type: 'string' }, shortLink: { type: 'boolean' }, tags: { type: 'array' },
    posts: {
      type: 'array', minItems: 1, maxItems: 1,
      items: {
        type: 'object', required: ['integration', 'value'],
        properties: { integration: { type: 'object', required: ['id'], properties: { id: { type: 'string' } } }, value: { type: 'array', minItems: 1 }, settings: { type: 'object' } },
      },
    },
  },
};

answering({
  async listen({ tenants, queue }) {
    for (const { key, orgId } of tenants) orgs.set(key, orgId);
    await sql`create table if not exists org_limits (org_id uuid primary key, used int not null, most int not null)`;
    await sql`insert into org_limits select id, 0, 1000000000 from organizations on conflict do nothing`;
    const addJob = await queues[queue]();
    app.post('/public/v1/posts', { schema: { body: schema } }, async (request, reply) => {
      const orgId = orgs.get(request.headers.authorization);
      if (orgId === undefined) return reply.code(401).send({});
      const { date, posts: [{ integration, value: [{ content }], settings: own }] } = request.body;
      const id = randomUUID();
      const due = new Date(date);
      await sql.begin(async (tx) => {
        const [limit] = await tx`update org_limits set used = used + 1 where org_id = ${orgId} and used < most returning used`;
        if (!limit) throw new Error('limit');
        await Promise.all([
          tx`insert into posts (id, org_id, channel_id, group_id, state, detail, content, settings, publish_date, due_at, creation_method) values (${id}, ${orgId}, ${integration.id}, ${id}, 'QUEUE', 'scheduled', ${content}, ${tx.json(own)}, ${due}, ${due}, 'API')`,
          tx`insert into post_timeline (org_id, post_id, kind, message, data) values (${orgId}, ${id}, 'created', 'Created and scheduled', ${tx.json({ publishDate: date })})`,
          tx`insert into outbox (org_id, topic, entity_id, payload) values (${orgId}, 'post.scheduled', ${id}, ${tx.json({ channelId: integration.id })})`,
          addJob(tx, { id, orgId }, due),
        ]);
      });
      return reply.code(201).send([{ postId: id, integration: integration.id }]);
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    return { url: `http://127.0.0.1:${app.server.address().port}` };
  },
});
