// postgres: an org's limit, the post and its timeline in one commit for each request, in one of two usual ways; in the process, or behind fastify without a ladder.
import { randomUUID } from 'node:crypto';
import fastify from 'fastify';
import postgres from 'postgres';
import { answering, settings } from './answering.mjs';

const sql = postgres(settings.databaseUrl, { max: settings.connections, onnotice() {} });
const { raceFor } = await import(settings.grants);

const ways = {
  /** Everything in one statement; the row of the limit is written when there is room. */
  async cte(orgId, channelId, content) {
    const id = randomUUID();
    const { count } = await sql`
      with room as (update org_limits set used = used + 1 where org_id = ${orgId} and used < most returning org_id),
      post as (
        insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, creation_method)
        select ${id}::uuid, org_id, ${channelId}::uuid, ${id}::text, 'DRAFT', ${content}, now(), 'API' from room returning id, org_id
      )
      insert into post_timeline (org_id, post_id, kind, message) select org_id, id, 'created', 'Created as a draft' from post`;
    return count > 0;
  },
  /** The row of the limit is locked, looked at, and written. */
  forUpdate(orgId, channelId, content) {
    const id = randomUUID();
    return sql.begin(async (tx) => {
      const [{ used, most }] = await tx`select used, most from org_limits where org_id = ${orgId} for update`;
      if (used >= most) return false;
      await Promise.all([
        tx`update org_limits set used = used + 1 where org_id = ${orgId}`,
        tx`insert into posts (id, org_id, channel_id, group_id, state, content, publish_date, creation_method) values (${id}, ${orgId}, ${channelId}, ${id}, 'DRAFT', ${content}, now(), 'API')`,
        tx`insert into post_timeline (org_id, post_id, kind, message) values (${orgId}, ${id}, 'created', 'Created as a draft')`,
      ]);
      return true;
    });
  },
};
const take = ways[settings.way];

answering({
  async prepare({ most }) {
    await sql`create table if not exists org_limits (org_id uuid primary key, used int not null, most int not null)`;
    await sql`insert into org_limits select id, 0, ${most} from organizations on conflict (org_id) do update set used = 0, most = excluded.most`;
  },
  race: ({ orgId, channelId, callers, requests }) => raceFor(callers, requests, () => take(orgId, channelId, '<p>Hi</p>')),
  async listen({ tenants }) {
    const orgs = new Map(tenants.map(({ key, orgId }) => [key, orgId]));
    const app = fastify({ logger: false });
    app.post('/public/v1/posts', async (request, reply) => {
      const orgId = orgs.get(request.headers.authorization);
      if (orgId === undefined) return reply.code(401).send({});
      const { posts: [{ integration, value: [{ content }] }] } = request.body;
      return (await take(orgId, integration.id, content)) ? reply.code(201).send([{ integration: integration.id }]) : reply.code(402).send({});
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    return { url: `http://127.0.0.1:${app.server.address().port}` };
  },
});
