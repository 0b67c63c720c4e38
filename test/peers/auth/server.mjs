// fastify or express with rate-limiter-flexible on Redis. Keys are known by heart; besides them there is only the limit.
// `floor`: node:http alone, with the headers that the product sends, and nothing behind them.
import { createServer } from 'node:http';
import express from 'express';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { RateLimiterRedis } from 'rate-limiter-flexible';
import { answering, settings } from '../bench/answering.mjs';

const POINTS = 6e8;
const redis = new Redis(settings.redisUrl, { enableAutoPipelining: true });
const limiter = new RateLimiterRedis({ storeClient: redis, points: POINTS, duration: 3600, keyPrefix: `auth-${settings.server}` });
const orgs = new Map();

/** The headers of the limit, or undefined for an unknown key; throws beyond the limit. */
async function admitted(key) {
  const orgId = orgs.get(key);
  if (orgId === undefined) return undefined;
  const { remainingPoints, msBeforeNext } = await limiter.consume(`is-connected|${orgId}`);
  return { 'x-ratelimit-limit': POINTS, 'x-ratelimit-remaining': remainingPoints, 'x-ratelimit-reset': Math.ceil((Date.now() + msBeforeNext) / 1000) };
}

const HEADERS = {
  'strict-transport-security': 'max-age=31536000; includeSubDomains; preload',
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'strict-origin-when-cross-origin',
  'content-security-policy': "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'cross-origin',
  'x-request-id': '00000000-0000-4000-8000-000000000000',
  vary: 'Origin',
  'x-ratelimit-limit': POINTS,
  'x-ratelimit-remaining': POINTS - 1,
  'x-ratelimit-reset': 1_900_000_000,
  'cache-control': 'no-store',
  'content-type': 'application/json; charset=utf-8',
};

const servers = {
  async floor() {
    const text = JSON.stringify({ connected: true });
    const server = createServer((request, response) => response.writeHead(200, { ...HEADERS, 'content-length': Buffer.byteLength(text) }).end(text));
    await new Promise((done) => server.listen(0, '127.0.0.1', done));
    return server.address().port;
  },
  async fastify() {
    const app = fastify({ logger: false });
    const schema = { response: { 200: { type: 'object', properties: { connected: { type: 'boolean' } } } } };
    app.get('/public/v1/is-connected', { schema }, async (request, reply) => {
      const headers = await admitted(request.headers.authorization).catch(() => null);
      if (!headers) return reply.code(headers === null ? 429 : 401).send({});
      reply.headers(headers);
      return { connected: true };
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    return app.server.address().port;
  },
  async express() {
    const app = express().disable('x-powered-by').disable('etag');
    app.get('/public/v1/is-connected', async (request, response) => {
      const headers = await admitted(request.headers.authorization).catch(() => null);
      if (!headers) return response.status(headers === null ? 429 : 401).json({});
      response.set(headers).json({ connected: true });
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
});
