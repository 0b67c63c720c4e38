import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Child, startChild } from './kit/child.ts';
import { writeFilm } from './kit/film.ts';
import { CannotRun, type Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import type { Report } from './kit/report.ts';

const MIB = 1024 * 1024;
const PART_BYTES = 8 * MIB;
const MOST_MIB = 64;
const KEY = 'film.mp4';
const WAYS = ['session', 'parts', 'whole'] as const;
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * One file of the library to a network, by each helper for uploads: bytes a second, processor time, how much memory it
 * takes at most, and how often a byte is read.
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
  const shared = { bytes, partBytes: PART_BYTES, url };
  const own = start('rookery', './processes/publish-file-host.ts', { ...shared, folder: files, key: KEY });
  const bare = start('bare', './processes/publish-file-bare.ts', { ...shared, path: join(files, KEY) });

  const side = (name: string, child: Child): Side => ({
    name,
    async run() {
      const figures: Record<string, number> = { cpu_ms: 0, peak_mib: 0, read: 0 };
      for (const by of WAYS) {
        const { ms, cpuMs, peakMib, read = 0 } = (await child.ask({ do: 'send', by })) as Record<string, number>;
        const { bytes: arrived } = (await sink.ask({ do: 'bytes' })) as { bytes: number };
        if (arrived !== bytes) throw new Error(`${name} sent ${arrived} bytes of ${bytes} (${by})`);
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
  const compared = await interleave([side('rookery', own), side('bare', bare)], comparisons, options);
  const figures = compared.figures['rookery']!;
  return {
    bench: 'publish-file',
    size: bytes / MIB,
    ...compared,
    goals: [
      {
        name: 'peak of memory beyond that of the idle process, MiB',
        value: figures['peak_mib']!,
        most: MOST_MIB,
      },
      { name: 'times that a byte is read', value: figures['read']!, most: 1 },
    ],
    settings: { partMib: PART_BYTES / MIB, server: 'a process of node:http that counts', storage: 'the local disk' },
    leavesOut: [
      'the product reads through its storage and goes through its outbound guard; the peer opens the file and calls the address as they are',
    ],
    skipped: [],
  };
}
