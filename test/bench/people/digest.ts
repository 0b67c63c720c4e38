import { fileURLToPath } from 'node:url';
import type { Options } from '../kit/options.ts';
import { interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import type { Child } from '../kit/child.ts';
import { openWorld } from '../kit/world.ts';

const HOST = fileURLToPath(new URL('./processes/digest-host.ts', import.meta.url));
const LINES = 10;
const PEER = 'bullmq@6.7.0';
const CONNECTIONS = 8;
const MOST_STATEMENTS = 2;

/** Digests that are due, of ten notices each: the mails of all of them, beside a job for each person. */
export async function digest(options: Options): Promise<Report> {
  await using world = await openWorld(options);
  const people = options.size ?? (options.quick ? 1_000 : 100_000);
  const { url: databaseUrl, sql } = await world.database();
  const host = world.script(HOST, { databaseUrl });
  const redis = await world.redis();
  const settings = { databaseUrl, redisPort: redis.port, connections: CONNECTIONS, concurrency: 64 };
  const peer = await world.peer('digest-bullmq.mjs', settings);
  const side = (name: string, child: Child): Side => ({
    name,
    async run() {
      await host.ask({ do: 'seed', people, lines: LINES });
      const { ms, statements } = (await child.ask({ do: 'close' })) as { ms: number; statements?: number };
      const [row] = await sql<{ mails: number; people: number; left: number }[]>`
        select count(*)::int as mails, count(distinct to_address)::int as people, (
            select count(*)::int from notification_lines) as left
        from emails`;
      return {
        notifications_per_s: (people * LINES) / (ms / 1_000),
        ...(statements !== undefined && { statements_per_1000_users: statements / (people / 1_000) }),
        doubled: row!.mails - row!.people,
        missing: people - row!.people + row!.left,
      };
    },
  });
  const compared = await interleave(
    [side('rookery', host), side(PEER, peer)],
    [{ name: `notifications, ${PEER}`, figure: 'notifications_per_s', peer: PEER, better: 'greater', goal: 10 }],
    options,
  );
  const own = compared.figures['rookery']!;
  return {
    bench: 'digest',
    size: people,
    ...compared,
    goals: [
      { name: 'notifications a second', value: own['notifications_per_s']!, least: 100_000 },
      { name: 'statements for 1,000 users', value: own['statements_per_1000_users']!, most: MOST_STATEMENTS },
      { name: 'doubled', value: own['doubled']!, most: 0 },
      { name: 'missing', value: own['missing']!, most: 0 },
    ],
    settings: { lines: LINES, connections: CONNECTIONS, concurrency: settings.concurrency },
    leavesOut: ['the peer judges no preferences, seals no mail and signs no way to unsubscribe'],
    skipped: [],
  };
}
