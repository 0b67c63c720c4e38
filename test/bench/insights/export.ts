import { fileURLToPath } from 'node:url';
import type { Options } from '../kit/options.ts';
import { CannotRun } from '../kit/options.ts';
import { interleave, type Side } from '../kit/pairs.ts';
import type { Report } from '../kit/report.ts';
import { openWorld } from '../kit/world.ts';

const HOST = fileURLToPath(new URL('../processes/numbers-host.ts', import.meta.url));
const METRICS = 8;
const DAYS = 500;
const PAGE = 1_000;
const MOST_MIB = 64;

/** The numbers of an organization as a file: rows a second and memory, beside `COPY` of the same rows. */
export async function exportNumbers(options: Options): Promise<Report> {
  if (process.platform !== 'linux') throw new CannotRun('memory is counted by /proc');
  await using world = await openWorld(options);
  const channels = Math.ceil((options.size ?? (options.quick ? 40_000 : 1_000_000)) / (METRICS * DAYS));
  const rows = channels * METRICS * DAYS;
  const database = await world.database();
  const start = () => world.script(HOST, { databaseUrl: database.url });
  const [host, copying] = [start(), start()]; // the memory of one side is not that of the other
  const orgId = (await host.ask({ do: 'seed', channels, days: DAYS, newest: 1 })) as string;
  const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
  const asked = { orgId, from: day(DAYS + 1), to: day(0) };
  const own: Side = {
    name: 'rookery',
    async run() {
      const { ms, cpuMs, peakMib, lines, statements } = await host.ask({ do: 'export', ...asked });
      if (lines !== rows + 1) throw new Error(`${lines} lines of ${rows} rows`);
      return {
        rows_per_s: rows / (ms / 1_000),
        cpu_us_per_row: (cpuMs * 1_000) / rows,
        peak_mib: peakMib,
        statements_per_page: statements / (rows / PAGE),
      };
    },
  };
  const copy: Side = {
    name: 'COPY',
    async run() {
      const { ms, cpuMs, peakMib, lines } = await copying.ask({ do: 'copy', ...asked });
      if (lines !== rows) throw new Error(`${lines} lines of ${rows} rows`);
      return { rows_per_s: rows / (ms / 1_000), cpu_us_per_row: (cpuMs * 1_000) / rows, peak_mib: peakMib };
    },
  };
  const compared = await interleave(
    [own, copy],
    [{ name: 'rows, COPY', figure: 'rows_per_s', peer: 'COPY', better: 'greater', goal: 0.5 }],
    options,
  );
  return {
    bench: 'export',
    size: rows,
    ...compared,
    goals: [
      {
        name: 'peak of memory beyond that of the idle process, MiB',
        value: compared.figures['rookery']!['peak_mib']!,
        most: MOST_MIB,
      },
    ],
    settings: { channels, metrics: METRICS, days: DAYS, page: PAGE },
    leavesOut: ['COPY holds one snapshot for the whole file, and lets a cell be a formula'],
    skipped: [],
  };
}
