// fastify or express with the statement by which the product reads a page, and nothing else: keys are known by heart.
import express from 'express';
import fastify from 'fastify';
import postgres from 'postgres';
import { answering, settings } from './answering.mjs';

const sql = postgres(settings.databaseUrl, { max: settings.connections, onnotice() {} });
const orgs = new Map();
const rows = (orgId, from, to, most) => sql.unsafe(settings.statement, [orgId, from, to, most], { prepare: true });

async function page(key, { startDate, endDate, limit }) {
  const orgId = orgs.get(key);
  if (orgId === undefined) return undefined;
  const found = await rows(orgId, new Date(startDate), new Date(endDate), Number(limit) + 1);
  return { posts: found.slice(0, Number(limit)), nextCursor: found.length > limit ? `${found[limit - 1].at}_${found[limit - 1].seq}` : null };
}

const servers = {
  async fastify() {
    const app = fastify({ logger: false });
    app.get('/public/v1/posts', async (request, reply) => (await page(request.headers.authorization, request.query)) ?? reply.code(401).send({}));
    await app.listen({ host: '127.0.0.1', port: 0 });
    return app.server.address().port;
  },
  async express() {
    const app = express().disable('x-powered-by');
    app.get('/public/v1/posts', async (request, response) => {
      const found = await page(request.headers.authorization, request.query);
      if (found) response.json(found);
      else response.status(401).json({});
    });
    return new Promise((done) => {
      const server = app.listen(0, '127.0.0.1', () => done(server.address().port));
    });
  },
};

answering({
  async listen({ tenants }) {
    for (const { key, orgId } of tenants) orgs.set(key, orgId);
    return { url: `http://127.0.0.1:${await servers[settings.server]()}` };
  },
  /** The statement alone, without a server in front. */
  async statements({ orgId, ranges, most, callers, ms }) {
    const begun = performance.now();
    let [n, read] = [0, 0];
    await Promise.all(
      Array.from({ length: callers }, async () => {
        while (performance.now() - begun < ms) {
          const [from, to] = ranges[n++ % ranges.length];
          await rows(orgId, new Date(from), new Date(to), most);
          read += 1;
        }
      }),
    );
    return { pages_per_s: (read * 1000) / (performance.now() - begun) };
  },
});
