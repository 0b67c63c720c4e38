import { fileURLToPath } from 'node:url';
import type { Child } from '../kit/child.ts';
import { PER_SECOND, Server, type Shape, twoProcesses } from '../kit/collab-server.ts';
import type { Figures } from '../kit/figures.ts';
import { needFiles } from '../kit/open-files.ts';
import { CannotRun, type Options } from '../kit/options.ts';
import { type Comparison, interleave, type Side } from '../kit/pairs.ts';
import { type Goal, type Report, skippedWithout } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));
const MOST_KB = 25;
const MOST_MIB = 1_024;
const HOCUSPOCUS = 'hocuspocus@4.7.0';
const TWO = 'two over Redis';

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
    usage: path('../kit/usage.ts'),
  });
  const own = async () => world.script(path('./processes/collab-host.ts'), await settings());
  const clients = world.script(path('./processes/collab-clients.ts'), {});
  const alone = (child: Child) => new Server(world, { processes: [child] }, clients);
  const writes = async (server: Server): Promise<Figures> => ({
    ...(await server.with(shapes.many, () => server.write('many', ms))),
    ...(await server.with(shapes.few, async () => ({
      ...(await server.write('few', ms)),
      ...(await server.reconnect()),
    }))),
  });
  const side = async (name: string, program: () => Promise<Child>): Promise<Side> => {
    const server = alone(await program());
    return {
      name,
      async run() {
        await using fresh = alone(await program());
        return { ...(await fresh.idle(shapes.warm, shapes.idle)), ...(await writes(server)) };
      },
    };
  };
  const skipped: string[] = [];
  const two = await skippedWithout(skipped, TWO, async () => {
    const redis = await world.redis('everysec');
    return new Server(world, await twoProcesses(world, await settings(), redis.url), clients);
  });
  const sides = [
    await side('rookery', own),
    await side(HOCUSPOCUS, async () => world.peer('collab-hocuspocus.mjs', await settings())),
    await side('ws', async () => world.script(path('./processes/collab-bare.ts'), {})),
    ...(two ? [{ name: TWO, run: () => writes(two) }] : []),
  ];
  const compared = await interleave(sides, comparisons(shapes, two !== undefined), options);
  const full = await skippedWithout(skipped, fullName(shapes.full), async () => {
    needFiles(shapes.full.documents * shapes.full.readers);
    await using server = alone(await own());
    return await server.idle(shapes.warm, shapes.full); // before it ends
  });
  return {
    bench: 'collab',
    size: shapes.few.documents * shapes.few.readers,
    ...compared,
    goals: goalsOf(compared.figures['rookery']!, full, fullName(shapes.full)),
    settings: {
      ...shapes,
      updatesPerSecond: PER_SECOND,
      ms,
      peer: '@hocuspocus/server 4.7.0, extension-database, debounce and maxDebounce 2000',
    },
    leavesOut: [
      'hocuspocus and ws ask nobody who comes, judge no update and have no limits; ws keeps nothing',
      'the product saves posts beside documents, and reads credentials again every two seconds',
      'processor time is that of the processes that serve, with their threads: of two, that of both, without Redis',
    ],
    skipped,
  };
}

const comparisons = ({ few, many }: typeof SHAPES, hasTwo: boolean): Comparison[] =>
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
        ...(hasTwo
          ? [
              {
                name: `${TWO} beside one, ${what}`,
                of: TWO,
                figure,
                peer: 'rookery',
                better: 'greater',
                goal: 0.7,
              } as const,
            ]
          : []),
      ];
    })
    .concat(
      { name: 'reconnects, hocuspocus', figure: 'reconnect_all_ms', peer: HOCUSPOCUS, better: 'smaller', goal: 2 },
      { name: 'memory of an idle connection, hocuspocus', figure: 'idle_kb', peer: HOCUSPOCUS, better: 'smaller' },
    );

const fullName = ({ documents, readers }: Shape): string =>
  `memory with ${documents * readers} connections to ${documents} documents, MiB`;
const goalsOf = (own: Figures, full: Figures | undefined, what: string): Goal[] => [
  { name: 'an idle connection with its part of the document, kB', value: own['idle_kb']!, most: MOST_KB },
  ...(full ? [{ name: what, value: full['idle_mib']!, most: MOST_MIB }] : []),
];
