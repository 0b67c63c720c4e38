import { fileURLToPath } from 'node:url';
import type { Place } from './processes/collab-clients.ts';
import type { Child } from './kit/child.ts';
import type { Figures } from './kit/figures.ts';
import { CannotRun, type Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import type { Goal, Report } from './kit/report.ts';
import { openWorld, type World } from './kit/world.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const PER_SECOND = 10;
const MOST_KB = 25;
const MOST_MIB = 1_024;
const HOCUSPOCUS = 'hocuspocus@4.7.0';

interface Shape {
  documents: number;
  /** With its writer. */
  readers: number;
}
interface Use {
  cpuMs: number;
  rssMib: number;
}
const SHAPES = {
  few: { documents: 10, readers: 100 },
  many: { documents: 100, readers: 10 },
  warm: { documents: 100, readers: 2 },
  idle: { documents: 1_000, readers: 2 },
  full: { documents: 5_000, readers: 2 },
} satisfies Record<string, Shape>;
const QUICK = {
  few: { documents: 2, readers: 20 },
  many: { documents: 10, readers: 4 },
  warm: { documents: 10, readers: 2 },
  idle: { documents: 50, readers: 2 },
  full: { documents: 100, readers: 2 },
} satisfies typeof SHAPES;

/** A process that serves documents, and the clients that write them there. */
class Server {
  readonly #world: World;
  readonly #child: Child;
  readonly #clients: Child;

  constructor(world: World, child: Child, clients: Child) {
    [this.#world, this.#child, this.#clients] = [world, child, clients];
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#child[Symbol.asyncDispose]();
  }

  use(isCollected = false): Promise<Use> {
    return this.#child.ask({ do: 'use', isCollected }) as Promise<Use>;
  }

  async with<T>(shape: Shape, work: (openedMs: number) => Promise<T>): Promise<T> {
    const places = (await this.#child.ask({ do: 'places', ...shape })) as Place[][];
    const { ms } = (await this.#clients.ask({ do: 'open', places })) as { ms: number };
    try {
      return await work(ms);
    } finally {
      await this.#clients.ask({ do: 'close' });
    }
  }

  /** Writes into all documents that are open: deliveries to readers for a second of processor time, and how late. */
  async write(name: string, ms: number): Promise<Figures> {
    const [before, postgres] = [await this.use(), this.#world.postgresCpuMs()];
    const said = (await this.#clients.ask({ do: 'write', perSecond: PER_SECOND, ms })) as Record<string, number>;
    const cpuMs = (await this.use()).cpuMs - before.cpuMs;
    return {
      [`${name}_per_cpu_s`]: said['deliveries']! / (cpuMs / 1_000),
      [`${name}_p50_ms`]: said['p50']!,
      [`${name}_p99_ms`]: said['p99']!,
      [`${name}_cpu_ms`]: cpuMs,
      [`${name}_postgres_cpu_ms`]: this.#world.postgresCpuMs() - postgres,
    };
  }

  async reconnect(): Promise<Figures> {
    const { ms } = (await this.#clients.ask({ do: 'reopen' })) as { ms: number };
    return { reconnect_all_ms: ms };
  }

  /** Memory of a connection that nobody types on, with its part of the document; of a process that has just begun. */
  async idle(warm: Shape, shape: Shape): Promise<Figures> {
    await this.with(warm, async () => undefined); // what the first connections bring with them is not theirs
    const before = await this.use(true);
    return this.with(shape, async (openedMs) => {
      const { rssMib } = await this.use(true);
      const mib = Math.max(rssMib - before.rssMib, 0.1);
      return { idle_kb: (mib * 1_024) / (shape.documents * shape.readers), idle_mib: rssMib, open_ms: openedMs };
    });
  }
}

/**
 * Documents that people write together: deliveries to readers for a second of processor time, how late they are, memory
 * of connections that are idle, and how long a thousand take to come back at once.
 */
export async function collab(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('memory is counted by /proc');
  await using world = await openWorld(options);
  const shapes = options.quick ? QUICK : SHAPES;
  const ms = options.quick ? 2_000 : 10_000;
  const most = (of: (shape: Shape) => number) => Math.max(...Object.values(shapes).map(of));
  /** Each process has a database of its own, as actors are in one. */
  const settings = async () => ({
    databaseUrl: (await world.database()).url,
    connections: most(({ documents, readers }) => documents * readers),
    documents: most(({ documents }) => documents),
    usage: path('./kit/usage.ts'),
  });
  const programs = {
    rookery: async () => world.script(path('./processes/collab-host.ts'), await settings()),
    [HOCUSPOCUS]: async () => world.peer('collab-hocuspocus.mjs', await settings()),
    ws: async () => world.script(path('./processes/collab-bare.ts'), {}),
  };
  const clients = world.script(path('./processes/collab-clients.ts'), {});
  const begin = async (program: () => Promise<Child>) => new Server(world, await program(), clients);
  const side = async (name: string, program: () => Promise<Child>): Promise<Side> => {
    const server = await begin(program);
    return {
      name,
      async run() {
        await using fresh = await begin(program);
        return {
          ...(await fresh.idle(shapes.warm, shapes.idle)),
          ...(await server.with(shapes.many, () => server.write('many', ms))),
          ...(await server.with(shapes.few, async () => ({
            ...(await server.write('few', ms)),
            ...(await server.reconnect()),
          }))),
        };
      },
    };
  };
  const sides = await Promise.all(Object.entries(programs).map(([name, program]) => side(name, program)));
  const compared = await interleave(sides, comparisons(shapes), options);
  await using own = await begin(programs.rookery);
  const full = await own.idle(shapes.warm, shapes.full);
  return {
    bench: 'collab',
    size: shapes.few.documents * shapes.few.readers,
    ...compared,
    goals: goalsOf(compared.figures['rookery']!, full, shapes.full),
    settings: {
      ...shapes,
      updatesPerSecond: PER_SECOND,
      ms,
      peer: '@hocuspocus/server 4.7.0, extension-database, debounce and maxDebounce 2000',
    },
    leavesOut: [
      'hocuspocus and ws ask nobody who comes, judge no update and have no limits; ws keeps nothing',
      'the product saves posts beside documents, and reads credentials again every two seconds',
    ],
    skipped: [],
  };
}

const comparisons = ({ few, many }: typeof SHAPES): Comparison[] =>
  (
    [
      ['few', few],
      ['many', many],
    ] as const
  )
    .flatMap(([name, { documents, readers }]): Comparison[] => {
      const what = `${documents} × ${readers}`;
      const figure = `${name}_per_cpu_s`;
      return [
        { name: `deliveries, ${what}, hocuspocus`, figure, peer: HOCUSPOCUS, better: 'greater', goal: 3 },
        { name: `deliveries, ${what}, ws`, figure, peer: 'ws', better: 'greater', goal: 0.5 },
        { name: `p99, ${what}, hocuspocus`, figure: `${name}_p99_ms`, peer: HOCUSPOCUS, better: 'smaller', goal: 2 },
      ];
    })
    .concat(
      { name: 'reconnects, hocuspocus', figure: 'reconnect_all_ms', peer: HOCUSPOCUS, better: 'smaller', goal: 2 },
      { name: 'memory of an idle connection, hocuspocus', figure: 'idle_kb', peer: HOCUSPOCUS, better: 'smaller' },
    );

const goalsOf = (own: Figures, full: Figures, { documents, readers }: Shape): Goal[] => [
  { name: 'an idle connection with its part of the document, kB', value: own['idle_kb']!, most: MOST_KB },
  {
    name: `memory with ${documents * readers} connections to ${documents} documents, MiB`,
    value: full['idle_mib']!,
    most: MOST_MIB,
  },
];
