import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Database } from '../../../src/platform/db/index.ts';
import { type Child, startChild } from '../kit/child.ts';
import { type Beside, duePosts } from '../kit/due-posts.ts';
import { rounded } from '../kit/figures.ts';
import { writeFilm } from '../kit/film.ts';
import { CannotRun, type Options } from '../kit/options.ts';
import { type Compared, type Comparison, interleave, latenessBeside, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { seedTenants } from '../kit/seed.ts';
import { type FilmToSend, WAYS } from '../kit/uploading.ts';
import { ENCRYPTION_KEY, openWorld } from '../kit/world.ts';

const MIB = 1024 * 1024;
const PART_BYTES = 8 * MIB;
const MOST_MIB = 64;
const KEY = 'film.mp4';
const ORGS = 100;
const DUE_PER_SECOND = 100;
/** So many times as late as without the uploads, in the 99th hundredth. */
const MOST_LATENESS = 1.2;
const WITHOUT = 'without the uploads';
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** What all processes of this benchmark share: a film in the folder of the library, and a server that takes it. */
interface Stage {
  film: FilmToSend;
  /** Of the library. */
  files: string;
  sink: Child;
  start(name: string, script: string, settings: object): Child;
}

/**
 * One file of the library to a network, by each helper for uploads: bytes a second, processor time, how much memory it
 * takes at most, how often a byte is read, and how late posts of other channels are that fall due meanwhile.
 */
export async function publishFile(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('memory is counted by /proc');
  await using begun = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'rookery-bench-publish-file-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));
  const bytes = (options.size ?? (options.quick ? 128 : 1_024)) * MIB;
  const files = join(folder, 'files');
  await mkdir(files);
  await writeFilm(join(files, KEY), bytes);

  const start = (name: string, script: string, settings: object) =>
    begun.use(
      startChild(name, ['--expose-gc', path(script), JSON.stringify(settings)], {
        logFile: join(folder, `${name}.log`),
      }),
    );
  const sink = start('sink', './processes/publish-file-sink.ts', {});
  const { url } = (await sink.ask({ do: 'address' })) as { url: string };
  const stage: Stage = { film: { key: KEY, bytes, partBytes: PART_BYTES, url }, files, sink, start };

  const alone = await sentAlone(stage, options);
  const due = options.quick ? 100 : 1_000;
  const beside = await sentBeside(stage, due, options);
  const figures = { ...alone.figures['rookery']!, ...beside.figures['rookery']! };
  const lateness = beside.ratios[latenessBeside(WITHOUT).name]!;
  return {
    bench: 'publish-file',
    size: bytes / MIB,
    pairs: alone.pairs,
    figures: { ...alone.figures, rookery: figures, [WITHOUT]: beside.figures[WITHOUT]! },
    ratios: { ...alone.ratios, ...beside.ratios },
    goals: [
      {
        name: 'peak of memory beyond that of the idle process, MiB',
        value: figures['peak_mib']!,
        most: MOST_MIB,
      },
      { name: 'times that a byte is read', value: figures['read']!, most: 1 },
      { name: `p99 of lateness, times that ${WITHOUT}`, value: rounded(1 / lateness.median), most: MOST_LATENESS },
      { name: 'posts that fell due while a file was sent, of all that did', value: figures['due_beside']!, least: 1 },
      { name: 'early', value: figures['early']!, most: 0 },
      { name: 'doubled', value: figures['doubled']!, most: 0 },
    ],
    settings: {
      partMib: PART_BYTES / MIB,
      server: 'a process of node:http that counts',
      storage: 'the local disk',
      due,
      duePerSecond: DUE_PER_SECOND,
    },
    leavesOut: [
      'the product reads through its storage and goes through its outbound guard; the peer opens the file and calls the address as they are',
      'beside the posts the film is sent again and again, by one helper after another, as fast as this machine can: networks take it more slowly',
    ],
    skipped: [],
  };
}

/** The film by each helper, with nothing beside it, and by the peer. */
function sentAlone({ film, files, sink, start }: Stage, options: Options): Promise<Compared> {
  const { bytes, partBytes, url } = film;
  const own = start('rookery', './processes/publish-file-host.ts', { ...film, folder: files });
  const bare = start('bare', './processes/publish-file-bare.ts', { bytes, partBytes, url, path: join(files, KEY) });

  const side = (name: string, child: Child): Side => ({
    name,
    async run() {
      const figures: Record<string, number> = { cpu_ms: 0, peak_mib: 0, read: 0 };
      for (const by of WAYS) {
        const { ms, cpuMs, peakMib, read = 0 } = (await child.ask({ do: 'send', by })) as Record<string, number>;
        await checkArrived(sink, name, bytes);
        figures[`${by}_mib_per_s`] = bytes / MIB / (ms! / 1_000);
        figures['cpu_ms']! += cpuMs!;
        figures['peak_mib'] = Math.max(figures['peak_mib']!, peakMib!);
        figures['read'] = Math.max(figures['read']!, read);
      }
      return figures;
    },
  });
  const comparisons: Comparison[] = [
    ...WAYS.map((by) => {
      return { name: by, figure: `${by}_mib_per_s`, peer: 'bare', better: 'greater', goal: 0.8 } as const;
    }),
    { name: 'cpu', figure: 'cpu_ms', peer: 'bare', better: 'smaller' },
    { name: 'memory', figure: 'peak_mib', peer: 'bare', better: 'smaller' },
  ];
  return interleave([side('rookery', own), side('bare', bare)], comparisons, options);
}

/** Fails unless so many bytes have come since it was asked last. */
async function checkArrived(sink: Child, name: string, bytes: number): Promise<void> {
  const { bytes: arrived } = (await sink.ask({ do: 'bytes' })) as { bytes: number };
  if (arrived !== bytes) throw new Error(`${name} sent ${arrived} bytes of ${bytes}`);
}

/** Text posts of other channels that fall due in the process that sends the film meanwhile, and the same without it. */
async function sentBeside({ film, files, sink }: Stage, due: number, options: Options): Promise<Compared> {
  await using world = await openWorld(options);
  const provider = await world.provider();
  const { sql, url: databaseUrl } = await world.database();
  const tenants = await seedTenants(sql, { orgs: ORGS, channels: due });
  const dataFolder = join(world.folder, 'publish-file');
  await mkdir(dataFolder);
  const host = world.script(path('./processes/publish-file-beside.ts'), {
    ...film,
    databaseUrl,
    encryptionKey: ENCRYPTION_KEY,
    dataFolder,
    folder: files,
    networkUrl: provider.url,
  });
  await host.ask({ do: 'ready' });

  const uploads = async (until: number): Promise<Beside> => {
    const sent = (await host.ask({ do: 'upload', until })) as { began: number; ms: number; files: number };
    await checkArrived(sink, 'the product', sent.files * film.bytes);
    return {
      figures: { files: sent.files, files_mib_per_s: (sent.files * film.bytes) / MIB / (sent.ms / 1_000) },
      ranAt: (moment) => moment >= sent.began && moment <= sent.began + sent.ms,
    };
  };
  const run = async (beside?: (until: number) => Promise<Beside>) => {
    await clear(sql);
    return duePosts({ sql, tenants, provider, due, perSecond: DUE_PER_SECOND }, beside);
  };
  return await interleave(
    [
      { name: 'rookery', run: () => run(uploads) },
      { name: WITHOUT, run: () => run() },
    ],
    [latenessBeside(WITHOUT, MOST_LATENESS)],
    options,
  );
}

/** Takes away the posts of the run before, once their results are written. */
async function clear(sql: Database): Promise<void> {
  const isBusy = async () => (await sql`select 1 from posts where state = 'QUEUE' limit 1`).length > 0;
  while (await isBusy()) await sleep(100);
  await sql`truncate posts, outbox cascade`;
}
