import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { installPeer } from '../support/peers/peer-install.ts';
import { versitygwPeer } from '../support/peers/versitygw.ts';
import { type Child, startChild } from './kit/child.ts';
import { writeFilm } from './kit/film.ts';
import { CannotRun, type Options } from './kit/options.ts';
import { type Comparison, interleave, type Side } from './kit/pairs.ts';
import type { Report } from './kit/report.ts';

const MIB = 1024 * 1024;
const PART_BYTES = 8 * MIB;
const TOGETHER = 4;
const MOST_MIB = 100;
const path = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/**
 * One large file from this machine's disk into a bucket: bytes a second, processor time, and how much memory it takes
 * at most.
 */
export async function upload(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('memory is counted by /proc');
  const found = await versitygwPeer().catch((error: Error) => ({ missing: error.message }));
  if ('missing' in found) throw new CannotRun(`versitygw is not there: ${found.missing}`);
  await using begun = new AsyncDisposableStack();
  const server = begun.use(await found.start());
  const folder = await mkdtemp(join(tmpdir(), 'rookery-bench-upload-'));
  begun.defer(() => rm(folder, { recursive: true, force: true }));

  const bytes = (options.size ?? (options.quick ? 256 : 1_024)) * MIB;
  const file = join(folder, 'film.mp4');
  await writeFilm(file, bytes);
  const values = { ...(server.env as Record<string, string>), endpoint: server.url, bucket: 'bench' };
  const start = (name: string, args: string[], cwd?: string) =>
    begun.use(
      startChild(name, ['--expose-gc', ...args], {
        logFile: join(folder, `${name}.log`),
        ...(cwd !== undefined && { cwd }),
      }),
    );
  const home = await installPeer('bench');
  const settings = { values, partBytes: PART_BYTES, together: TOGETHER, memory: path('./kit/memory.ts') };
  const peer = start('lib-storage', [join(home, 'upload.mjs'), JSON.stringify(settings)], home);
  await peer.ask({ do: 'makeBucket' });
  const { accessKeyId, secretAccessKey, region, endpoint, bucket } = values as Record<string, string>;
  const own = start('rookery', [
    path('./processes/upload-host.ts'),
    JSON.stringify({ values: { accessKeyId, secretAccessKey, region, endpoint, bucket } }),
  ]);

  let uploads = 0;
  const side = (name: string, child: Child): Side => ({
    name,
    async run() {
      const { ms, cpuMs, peakMib, size } = (await child.ask({
        do: 'upload',
        key: `film-${(uploads += 1)}`,
        path: file,
        bytes,
      })) as Record<string, number>;
      if (size !== bytes) throw new Error(`${name} left ${size} bytes of ${bytes}`);
      return { mib_per_s: bytes / MIB / (ms! / 1_000), cpu_ms: cpuMs!, peak_mib: peakMib! };
    },
  });
  const comparisons: Comparison[] = [
    { name: 'rate', figure: 'mib_per_s', peer: 'lib-storage', better: 'greater', goal: 1 },
    { name: 'memory', figure: 'peak_mib', peer: 'lib-storage', better: 'smaller' },
    { name: 'cpu', figure: 'cpu_ms', peer: 'lib-storage', better: 'smaller' },
  ];
  const compared = await interleave([side('rookery', own), side('lib-storage', peer)], comparisons, options);
  return {
    bench: 'upload',
    size: bytes / MIB,
    ...compared,
    goals: [
      {
        name: 'peak of memory beyond that of the idle process, MiB',
        value: compared.figures['rookery']!['peak_mib']!,
        most: MOST_MIB,
      },
    ],
    settings: {
      partMib: PART_BYTES / MIB,
      together: TOGETHER,
      server: 'versitygw v1.8.0, files on disk',
      peer: '@aws-sdk/lib-storage 3.1162.0',
    },
    leavesOut: ['the product goes through its outbound guard; the peer calls the address as it is'],
    skipped: [],
  };
}
