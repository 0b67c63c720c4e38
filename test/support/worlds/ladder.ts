import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { z } from 'zod';
import { type AnyRoute, routesOf } from '../../../api/http/route.ts';
import { routes as allRoutes } from '../../../api/resources/routes.gen.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase } from '../wire/database.ts';
import { testApp } from './app.ts';

const route = routesOf();

/** What the handlers of the probes saw, and what they do. */
export const probeState = {
  seen: [] as unknown[],
  /** Thrown by each handler. */
  refusal: undefined as (() => unknown) | undefined,
  /** Awaited by each handler. */
  gate: undefined as Promise<void> | undefined,
};

const echo = (more: Partial<AnyRoute> & Pick<AnyRoute, 'method' | 'path' | 'auth'>): AnyRoute =>
  route({
    summary: 'A probe',
    answer: z.unknown(),
    async handle({ body, query, params, request }) {
      probeState.seen.push({ body, query, params });
      await probeState.gate;
      if (probeState.refusal) throw probeState.refusal();
      return { body: body ?? null, query: query ?? null, params, ip: request.ip };
    },
    present: (result: unknown) => result,
    ...more,
  });
const Note = z.strictObject({
  text: z.string().min(1),
  count: z.int().optional(),
  inner: z.strictObject({ a: z.string() }).optional(),
  open: z.record(z.string(), z.unknown()).optional(),
});
/** Routes that show what a request climbs before its handler. */
export const probes: AnyRoute[] = [
  echo({
    method: 'get',
    path: '/probe',
    auth: ['none'],
    query: z.strictObject({ page: z.coerce.number().int().optional() }),
  }),
  echo({ method: 'post', path: '/probe', auth: ['none'], body: Note }),
  echo({ method: 'delete', path: '/probe/:id', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/:id', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/fixed', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/by/:name', auth: ['none'] }),
  echo({ method: 'get', path: '/probe/limited', auth: ['none'], limit: '2/minute' }),
  echo({ method: 'get', path: '/probe/limited-too', auth: ['session'], limit: '2/minute' }),
  echo({
    method: 'post',
    path: '/probe/order',
    auth: ['session'],
    limit: '3/minute',
    permission: 'billing:manage',
    body: Note,
    idempotent: true,
  }),
  echo({
    method: 'post',
    path: '/probe/created',
    auth: ['session', 'api-key'],
    body: Note,
    creates: true,
    idempotent: true,
  }),
  echo({ method: 'post', path: '/public/v1/probe', auth: ['api-key'], body: Note, idempotent: true }),
  echo({ method: 'put', path: '/public/v1/probe', auth: ['api-key'], body: Note }),
  echo({ method: 'get', path: '/public/v1/both', auth: ['api-key', 'session'] }),
  echo({ method: 'get', path: '/probe/admin', auth: ['super-admin'] }),
  echo({
    method: 'get',
    path: '/probe/bytes',
    auth: ['none'],
    output: 'bytes',
    present: () => Readable.from([Buffer.from('ab'), Buffer.from('cd')]),
  }),
  {
    ...echo({
      method: 'get',
      path: '/probe/header',
      auth: ['none'],
      query: z.strictObject({ name: z.string(), value: z.string() }),
    }),
    async handle({ query, reply }) {
      reply.header(query.name, query.value);
    },
    present: () => 1,
  },
  echo({ method: 'post', path: '/probe/small', auth: ['none'], body: Note, bodyLimit: 100 }),
  routesOf(
    'clock',
    'health',
  )({
    method: 'get',
    path: '/probe/rooms',
    summary: 'A probe',
    auth: ['none'],
    answer: z.array(z.string()),
    handle: async ({ rooms }) => Object.keys(rooms),
    present: (names) => names,
  }),
];

/** What waits does so for longer: a machine that is slow is no outage. */
const patient = {
  ...systemClock,
  sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(10 * ms, signal),
};

/** The product with the probes beside its routes, and a user who is not its super-admin. */
export async function openLadder() {
  const db = await testDatabase();
  const app = await testApp({ sql: db.sql, routes: [...allRoutes, ...probes], clock: patient });
  await app.signUp(); // the first user is super-admin: not the one we ask with
  const ann = await app.signUp();
  return {
    db,
    app,
    ann,
    client: app.client(),
    async close() {
      await app[Symbol.asyncDispose]();
      await db[Symbol.asyncDispose]();
    },
  };
}

/** Lets the probes answer again. */
export function resetProbes(): void {
  probeState.refusal = undefined;
  probeState.gate = undefined;
  probeState.seen.length = 0;
}

/** A request as bytes on the wire, for what a proper client refuses to send. */
export const sendRaw = (address: string, text: string) =>
  new Promise<string>((resolve, reject) => {
    const { hostname, port } = new URL(address);
    const socket = connect(Number(port), hostname, () => socket.write(text));
    let answer = '';
    socket
      .setEncoding('utf8')
      .on('data', (chunk: string) => (answer += chunk))
      .on('end', () => resolve(answer))
      .on('error', reject);
  });
