import { z } from 'zod';
import { instant } from '../../http/fields.ts';
import { type Call, routesOf } from '../../http/route.ts';

const route = routesOf('cache', 'clock', 'config', 'documents', 'engine', 'health');

const CHECK_MS = 2_000;
const PARTS = 8;
const Dependency = z.object({ ok: z.boolean(), error: z.string().optional() });

type Rooms = Call<'clock'>['rooms'];

/**
 * In parts: when the process stood still one of them is over, and what was answered meanwhile is read in the others.
 */
async function patience({ clock }: Rooms, signal: AbortSignal): Promise<false> {
  for (let part = 0; part < PARTS; part += 1) await clock.sleep(CHECK_MS / PARTS, signal);
  return false;
}

/**
 * One dependency asked, for two seconds at most. What it says is for the log: the body names the kind of failure only.
 */
async function asked(rooms: Rooms, check: () => Promise<unknown>): Promise<z.input<typeof Dependency>> {
  const given = new AbortController();
  try {
    const answered = check().then(() => true);
    answered.catch(() => {}); // it may fail after the waiting has ended
    if (await Promise.race([answered, patience(rooms, given.signal)])) return { ok: true };
    return { ok: false, error: 'timeout' };
  } catch {
    return { ok: false, error: 'unreachable' };
  } finally {
    given.abort();
  }
}

export default [
  route({
    method: 'get',
    path: '/health/live',
    summary: 'Check that the process is running',
    description: 'Asks no other service.',
    auth: ['none'],
    limit: 'none',
    answer: z.object({ status: z.literal('ok'), timestamp: instant }),
    handle: async ({ rooms }) => rooms.clock.now(),
    present: (now) => ({ status: 'ok' as const, timestamp: now.toISOString() }),
  }),

  route({
    method: 'get',
    path: '/health/ready',
    summary: 'Check that the process can serve requests',
    description: '503 when the database or the cache cannot be reached, or the process is ending.',
    auth: ['none'],
    limit: 'none',
    answer: z.object({
      status: z.enum(['ok', 'unavailable']),
      timestamp: instant,
      dependencies: z.object({ database: Dependency, redis: Dependency, actors: Dependency.optional() }),
    }),
    async handle({ rooms, reply }) {
      const [database, redis] = await Promise.all([
        asked(rooms, () => rooms.health.askDatabase()),
        asked(rooms, () => rooms.cache.ping()),
      ]);
      const isAway = rooms.engine.isAway?.() === true; // named only then: the body is that of the interface otherwise
      const ok = database.ok && redis.ok && !isAway && !rooms.health.draining;
      if (!ok) reply.status(503);
      return {
        ok,
        now: rooms.clock.now(),
        dependencies: { database, redis, ...(isAway && { actors: { ok: false, error: 'unreachable' } }) },
      };
    },
    present: ({ ok, now, dependencies }) => ({
      status: ok ? ('ok' as const) : ('unavailable' as const),
      timestamp: now.toISOString(),
      dependencies,
    }),
  }),

  route({
    method: 'get',
    path: '/health',
    summary: 'Get background jobs and publishing lateness',
    auth: ['none'],
    limit: 'none',
    answer: z.object({
      status: z.literal('ok'),
      timestamp: instant,
      version: z.string(),
      jobs: z.object({ engine: z.string(), wired: z.array(z.string()), pending: z.int() }),
      crons: z.array(
        z.object({
          name: z.string(),
          lastRunAt: instant.nullable(),
          lastStatus: z.string().nullable(),
          lastDurationMs: z.number().nullable(),
        }),
      ),
      lateness: z.object({ p50Ms: z.number().nullable(), p99Ms: z.number().nullable() }),
      outbox: z.object({ refused: z.int() }),
      // named only then: the body is that of the interface otherwise
      collaboration: z.object({ isShared: z.literal(true) }).optional(),
    }),
    handle: async ({ rooms }) => ({
      report: await rooms.health.report(),
      now: rooms.clock.now(),
      version: rooms.config.version,
      isShared: rooms.documents.isShared,
    }),
    present: ({ report: { jobs, crons, lateness, refusedFacts }, now, version, isShared }) => ({
      status: 'ok' as const,
      timestamp: now.toISOString(),
      version,
      jobs: { ...jobs, wired: [...jobs.wired] },
      crons: crons.map((cron) => ({ ...cron, lastRunAt: cron.lastRunAt?.toISOString() ?? null })),
      lateness,
      outbox: { refused: refusedFacts },
      ...(isShared && { collaboration: { isShared: true as const } }),
    }),
  }),
];
