import { z } from 'zod';
import { instant } from '../../http/fields.ts';
import { type Call, routesOf } from '../../http/route.ts';

const route = routesOf('clock', 'hosts', 'engine', 'incarnation', 'posts', 'webhooks', 'health');

const Mailbox = z.object({ queued: z.int(), longest: z.int() });
const Host = z.object({
  incarnation: z.string(),
  engine: z.string(),
  address: z.string(),
  startedAt: instant,
  lastBeatAt: instant,
  /** Its work is taken over by others. */
  silent: z.boolean(),
  /** This host has answered. */
  here: z.boolean(),
  types: z.array(z.string()),
  /** Active actors by type. */
  active: z.record(z.string(), z.int()),
  mailboxes: z.record(z.string(), Mailbox),
  /** Channels and webhooks that it holds at the moment, under way or waiting for their turn. */
  publishing: z.int(),
  delivering: z.int(),
});

/** All that operators are shown, as each part tells it. */
async function read({
  rooms: { clock, hosts: listed, engine, incarnation, posts, webhooks, health },
}: Call<'clock' | 'hosts' | 'engine' | 'incarnation' | 'posts' | 'webhooks' | 'health'>) {
  const [hosts, reminders, ofPosts, ofWebhooks, lateness, crons, runtime] = await Promise.all([
    listed.list(),
    health.reminders(),
    posts.work(),
    webhooks.work(),
    posts.lateness(),
    health.runs(),
    engine.runtimeReport(),
  ]);
  return {
    hosts,
    reminders,
    ofPosts,
    ofWebhooks,
    lateness,
    crons,
    runtime,
    engine: engine.name,
    incarnation,
    now: clock.now(),
  };
}
type Read = Awaited<ReturnType<typeof read>>;

const hostsOf = ({ hosts, ofPosts, ofWebhooks, incarnation: own }: Read): z.input<typeof Host>[] =>
  hosts.map(({ incarnation, address, engine, startedAt, lastHeartbeat, silent, types, actors, mailboxes }) => ({
    incarnation,
    engine,
    address,
    startedAt: startedAt.toISOString(),
    lastBeatAt: lastHeartbeat.toISOString(),
    silent,
    here: incarnation === own,
    types: [...types],
    active: actors,
    mailboxes,
    publishing: ofPosts.underWay[incarnation] ?? 0,
    delivering: ofWebhooks.underWay[incarnation] ?? 0,
  }));

/** Each type over the hosts that live. */
function typesOf({ hosts }: Read) {
  const living = hosts.filter(({ silent }) => !silent);
  const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
  return [...new Set(hosts.flatMap(({ types }) => types))].toSorted().map((type) => {
    const hosting = living.filter(({ types }) => types.includes(type));
    return {
      type,
      hosts: hosting.length,
      active: sum(hosting.map(({ actors }) => actors[type] ?? 0)),
      queued: sum(hosting.map(({ mailboxes }) => mailboxes[type]?.queued ?? 0)),
      longest: Math.max(0, ...hosting.map(({ mailboxes }) => mailboxes[type]?.longest ?? 0)),
    };
  });
}

export default [
  route({
    method: 'get',
    path: '/admin/actors',
    summary: 'Get actor hosts, mailboxes, reminders and lateness',
    description: 'Over all processes of this service.',
    auth: ['super-admin'],
    limit: '60/minute',
    answer: z.object({
      engine: z.string(),
      now: instant,
      hosts: z.array(Host),
      types: z.array(
        z.object({ type: z.string(), hosts: z.int(), active: z.int(), queued: z.int(), longest: z.int() }),
      ),
      /**
       * `from`: the engine's own count; a process that hosts nothing cannot ask the scheduler of Dapr, and counts the
       * rows that reminders stand for.
       */
      reminders: z.object({ pending: z.int(), overdue: z.int(), from: z.enum(['engine', 'rows']) }),
      /** Over the posts of the last hour. */
      lateness: z.object({ count: z.int(), p50Ms: z.number().nullable(), p99Ms: z.number().nullable() }),
      crons: z.array(
        z.object({
          name: z.string(),
          lastRunAt: instant.nullable(),
          lastStatus: z.string().nullable(),
          lastDurationMs: z.number().nullable(),
          lastChanged: z.int().nullable(),
        }),
      ),
      /** Dapr's report on itself; null where it does not run. */
      runtime: z.unknown(),
    }),
    handle: read,
    present: (found) => ({
      engine: found.engine,
      now: found.now.toISOString(),
      hosts: hostsOf(found),
      types: typesOf(found),
      reminders: found.reminders,
      lateness: found.lateness,
      crons: found.crons.map((cron) => ({ ...cron, lastRunAt: cron.lastRunAt?.toISOString() ?? null })),
      runtime: found.runtime ?? null,
    }),
  }),
];
