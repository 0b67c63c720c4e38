import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { openAuthTokens } from '../../../src/people/auth/index.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { newId, randomHex, systemClock } from '../../../src/platform/kernel/index.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import type { Child } from '../kit/child.ts';
import { type Figures, spread } from '../kit/figures.ts';
import { needFiles } from '../kit/open-files.ts';
import { CannotRun, type Options } from '../kit/options.ts';
import { interleave } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { seedPeople } from '../kit/seed.ts';
import { openWorld } from '../kit/world.ts';
import type { Heard } from './processes/live-readers.ts';

const path = (name: string) => fileURLToPath(new URL(`./processes/${name}.ts`, import.meta.url));
const BARE = 'bare node:http';
/** As many as a person may have open. */
const STREAMS_OF_PERSON = 5;
const PEOPLE_OF_ORG = 100;
/** Connections that a process of the product takes. */
const MOST_STREAMS = 10_000;
/** Of the streams those that are open before memory is counted: what the first ones bring with them is not of each. */
const FIRST = 0.05;
/** Notices in front of those that are counted: code that has just begun is slow on both sides. */
const UNCOUNTED = 2;
/** Notices that a person has read long ago: the table of a product is not empty. */
const OLD = 10;
/** The use of sessions is written up to a second behind the requests. */
const SETTLE_MS = 2_000;
/** What could not be told at once is looked for again within half a second. */
const LATE_MS = 1_000;
const MOST_KB = 25;

/** What there is of each side: a process, and how it tells everybody of a notice. */
interface Served {
  child: Child;
  /** Answers when it began to. */
  announce(n: number): Promise<number>;
}
interface Use {
  cpuMs: number;
  rssMib: number;
}

/**
 * Open streams of notifications: what each takes of the memory, and what notices to everybody take of the processor,
 * beside a server of node:http that writes the same bytes.
 */
export async function live(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('open files are counted by /proc');
  const people = Math.ceil((options.size ?? (options.quick ? 500 : MOST_STREAMS)) / STREAMS_OF_PERSON);
  const size = people * STREAMS_OF_PERSON;
  if (size > MOST_STREAMS) throw new CannotRun(`a process of the product takes ${MOST_STREAMS} connections`);
  needFiles(size);
  await using world = await openWorld(options);
  const { url: databaseUrl, sql } = await world.database();
  const jwtSecret = randomHex(32);
  const cookies = await seed(sql, people, jwtSecret);
  const readers = world.script(path('live-readers'), {});
  const notices = options.quick ? 5 : 20;
  /** Events as the product writes them: it has its turn first. */
  let text = '';

  /** Tells everybody of some notices, one after the other: each when the one before has come to all. */
  async function tell({ announce }: Served, from: number, count: number): Promise<Heard[]> {
    const heard: Heard[] = [];
    for (let n = from; n < from + count; n += 1) {
      await readers.ask({ do: 'expect' });
      const at = await announce(n);
      heard.push((await readers.ask({ do: 'all', at })) as Heard);
    }
    return heard;
  }

  async function measure(served: Served): Promise<{ figures: Figures; sample: string }> {
    const { child } = served;
    const use = (isCollected: boolean) => child.ask({ do: 'use', isCollected }) as Promise<Use>;
    const port = (await child.ask({ do: 'port' })) as number;
    const open = (some: readonly string[]) => readers.ask({ do: 'open', port, cookies: some }) as Promise<number>;
    const first = Math.ceil(cookies.length * FIRST);
    const each = (before: Use, after: Use) => ((after.rssMib - before.rssMib) * 1_024) / (cookies.length - first);

    await open(cookies.slice(0, first));
    const empty = await use(true);
    const openMs = await open(cookies.slice(first));
    await sleep(SETTLE_MS);
    const full = await use(true);
    await tell(served, 0, UNCOUNTED);
    const [before, postgres] = [await use(false), world.postgresCpuMs()];
    const heard = await tell(served, UNCOUNTED, notices);
    const [after, postgresCpuMs] = [await use(false), world.postgresCpuMs() - postgres];
    const told = await use(true);
    await sleep(LATE_MS);
    const doubled = (await readers.ask({ do: 'close' })) as number;

    const deliveries = heard.flatMap(({ delays }) => delays);
    const ms = heard.reduce((sum, { delays }) => sum + Math.max(...delays), 0);
    const bytes = heard.reduce((sum, one) => sum + one.bytes, 0);
    return {
      figures: {
        kb_per_stream: each(empty, full),
        kb_per_stream_told: each(empty, told),
        open_ms: openMs,
        deliveries_per_cpu_s: deliveries.length / ((after.cpuMs - before.cpuMs) / 1_000),
        deliveries_per_s: deliveries.length / (ms / 1_000),
        ...spread('delay', deliveries),
        bytes_per_delivery: bytes / deliveries.length,
        postgres_cpu_ms_per_notice: postgresCpuMs / notices,
        doubled,
      },
      sample: heard.at(-1)!.sample,
    };
  }

  const compared = await interleave(
    [
      {
        name: 'rookery',
        async run() {
          await beginAnew(sql);
          await using host = world.script(path('live-host'), { databaseUrl, jwtSecret }); // memory is not given back
          const { figures, sample } = await measure({
            child: host,
            async announce(n) {
              await write(sql, n);
              return (await host.ask({ do: 'announce' })) as number;
            },
          });
          text = sample;
          return figures;
        },
      },
      {
        name: BARE,
        async run() {
          await using bare = world.script(path('live-bare'), {});
          const announce = () => bare.ask({ do: 'announce', text }) as Promise<number>;
          const { figures } = await measure({ child: bare, announce });
          return figures;
        },
      },
    ],
    [
      {
        name: `deliveries for a second of processor time, ${BARE}`,
        figure: 'deliveries_per_cpu_s',
        peer: BARE,
        better: 'greater',
        goal: 0.5,
      },
      { name: `deliveries a second, ${BARE}`, figure: 'deliveries_per_s', peer: BARE, better: 'greater', goal: 0.5 },
    ],
    options,
  );
  const own = compared.figures['rookery']!;
  return {
    bench: 'live',
    size,
    ...compared,
    goals: [
      { name: 'memory of an open stream, kB', value: own['kb_per_stream']!, most: MOST_KB },
      { name: 'doubled', value: own['doubled']!, most: 0 },
    ],
    settings: { people, streamsOfPerson: STREAMS_OF_PERSON, notices, cache: 'in the process' },
    leavesOut: [
      'processor time is that of the process that serves, from the announcement on: rows are written beside it before',
      'the server of node:http asks nobody who comes, reads no database, writes one text to everybody, and neither looks at its streams every 15 seconds nor says that they live',
    ],
    skipped: [],
  };
}

/** People with a session each, in organizations; answers the cookies of as many streams as they may open. */
async function seed(sql: Database, people: number, jwtSecret: string): Promise<string[]> {
  const orgs = Array.from({ length: Math.ceil(people / PEOPLE_OF_ORG) }, newId);
  const ids = Array.from({ length: people }, newId);
  await sql`insert into organizations (id, name) select id, 'Bench' from unnest(${orgs}::uuid[]) id`;
  await seedPeople(
    sql,
    ids.map((id, n) => ({ id, orgId: orgs[n % orgs.length]! })),
  );
  await sql`
    insert into sessions (id, user_id, token_hash, expires_at)
    select id, id, sha256(id::text::bytea), now() + interval '30 days'
    from unnest(${ids}::uuid[]) as t (id)`;
  await sql`vacuum (analyze) organizations, users, user_profiles, memberships, sessions`;
  const tokens = openAuthTokens({ secret: jwtSecret, clock: systemClock, log: quietLog() });
  const csrf = randomHex(32);
  const cookies = await Promise.all(
    ids.map(async (id) => `auth=${await tokens.signSession({ sub: id, sid: id })}; csrf_token=${csrf}`),
  );
  return Array.from({ length: STREAMS_OF_PERSON }, () => cookies).flat();
}

/** Leaves what people have read, and nothing of the run before. */
async function beginAnew(sql: Database): Promise<void> {
  await sql`truncate notifications`;
  await sql`
    insert into notifications (id, org_id, user_id, source, category, title, content, read_at)
    select gen_random_uuid(), org_id, user_id, 'old ' || n, 'channel_issues', 'Acme is disabled',
      'A member disabled it.', now()
    from memberships, generate_series(1, ${OLD}::int) n`;
  await sql`vacuum (analyze) notifications`;
}

/** A notice to everybody, of whom nobody is told yet. */
const write = (sql: Database, n: number) => sql`
  insert into notifications (id, org_id, user_id, source, category, title, content)
  select gen_random_uuid(), org_id, user_id, ${`notice ${n}`}::text, 'channel_issues', 'Acme is disabled',
    'A member disabled it.'
  from memberships`;
