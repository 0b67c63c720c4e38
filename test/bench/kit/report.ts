import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import type { Figures } from './figures.ts';
import { CannotRun, type Options } from './options.ts';
import type { Ratio } from './pairs.ts';

/** A goal on a figure of the product itself. */
export interface Goal {
  readonly name: string;
  readonly value: number;
  readonly most?: number;
  readonly least?: number;
}
/** What one benchmark found. */
export interface Report {
  readonly bench: string;
  readonly size: number;
  readonly pairs: number;
  readonly figures: Readonly<Record<string, Figures>>;
  readonly ratios: Readonly<Record<string, Ratio>>;
  readonly goals: readonly Goal[];
  readonly settings: Readonly<Record<string, unknown>>;
  /** Where the sides do not do the same. */
  readonly leavesOut: readonly string[];
  /** `what (why)` of each part that could not run here. */
  readonly skipped: readonly string[];
}

/** Answers undefined, and notes the reason, where this machine lacks something. */
export async function skippedWithout<T>(
  skipped: string[],
  what: string,
  find: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await find();
  } catch (error) {
    if (!(error instanceof CannotRun)) throw error;
    skipped.push(`${what} (${error.message})`);
    return undefined;
  }
}

const isMet = ({ value, most, least }: Goal): boolean =>
  (most === undefined || value <= most) && (least === undefined || value >= least);
const metWord = (met: boolean | 'not shown' | undefined) =>
  met === undefined ? '' : met === 'not shown' ? met : met ? 'met' : 'missed';

/** The machine and the commit that the reports of this run are from. */
const WHERE = machine();
function machine(): { commit: string; cores: number; cpu: string; node: string } {
  let commit = 'unknown';
  try {
    commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim();
    if (
      execFileSync('git', [
        'status',
        '--porcelain',
        '--untracked-files=no',
        '--',
        ':!docs/performance.md',
      ]).toString() !== ''
    )
      commit += ' with uncommitted changes';
  } catch {
    // not a clone
  }
  return { commit, cores: cpus().length, cpu: cpus()[0]?.model ?? 'unknown', node: process.versions.node };
}

/** One line of JSON: the last one that a benchmark prints. */
export function jsonLine({ engine, quick }: Options, report: Report): string {
  const { cpu: _, ...where } = WHERE;
  const { rookery, ...peers } = report.figures;
  const verdicts = [
    ...Object.values(report.ratios).flatMap(({ met }) => (met === undefined ? [] : [met === true])),
    ...report.goals.map(isMet),
  ];
  return JSON.stringify({
    bench: report.bench,
    engine,
    quick,
    ...where,
    size: report.size,
    pairs: report.pairs,
    product: rookery,
    peers,
    ratio: report.ratios,
    goals: report.goals.map((goal) => ({ ...goal, met: isMet(goal) })),
    settings: report.settings,
    skipped: report.skipped,
    met: verdicts.every(Boolean),
  });
}

export const headingOf = (bench: string, engine: Options['engine']): string => `${bench}, ${engine}`;

/** Tables in Markdown, for people. */
export function tables({ engine, quick }: Options, report: Report): string {
  const { commit, cores, cpu, node } = WHERE;
  const names = [...new Set(Object.values(report.figures).flatMap(Object.keys))];
  const sides = Object.keys(report.figures);
  const lines = [
    `### ${headingOf(report.bench, engine)}`,
    '',
    ...(quick ? ['With `--quick`: these figures say nothing.', ''] : []),
    `${new Date().toISOString().slice(0, 10)} at commit ${commit}; ${cores} cores (${cpu}), Node ${node}, everything on one machine over loopback.`,
    `Size ${report.size}, ${report.pairs} pairs. Medians of the runs:`,
    '',
    ...grid(
      ['figure', ...sides],
      names.map((name) => [name, ...sides.map((side) => text(report.figures[side]![name]))]),
    ),
    '',
    'Ratios per pair, always "how many times better is Rookery":',
    '',
    ...grid(
      ['against', 'median', 'least', 'greatest', 'goal', ''],
      Object.entries(report.ratios).map(([name, { median, min, max, goal, met }]) => [
        name,
        text(median),
        text(min),
        text(max),
        goal === undefined ? '' : `≥ ${text(Number(goal.toPrecision(3)))}`,
        metWord(met),
      ]),
    ),
  ];
  if (report.goals.length > 0)
    lines.push(
      '',
      ...grid(
        ['goal', 'is', 'wanted', ''],
        report.goals.map((goal) => [
          goal.name,
          text(goal.value),
          goal.most === undefined ? `≥ ${goal.least}` : `≤ ${goal.most}`,
          metWord(isMet(goal)),
        ]),
      ),
    );
  lines.push(
    '',
    `Settings: ${Object.entries(report.settings)
      .map(([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
      .join('; ')}.`,
  );
  if (report.leavesOut.length > 0) lines.push('', `Not the same on all sides: ${report.leavesOut.join('; ')}.`);
  if (report.skipped.length > 0) lines.push('', `Skipped: ${report.skipped.join('; ')}.`);
  return lines.join('\n');
}

/** Three digits of a fraction say all that a run can show. */
const text = (value: number | undefined): string =>
  value === undefined
    ? ''
    : Number.isFinite(value)
      ? String(Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3)))
      : '–';
const grid = (head: readonly string[], rows: readonly (readonly string[])[]): string[] => {
  const widths = head.map((cell, at) => Math.max(3, cell.length, ...rows.map((row) => row[at]!.length)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, at) => (at === 0 ? cell.padEnd(widths[at]!) : cell.padStart(widths[at]!))).join(' | ')} |`;
  return [
    line(head),
    `|${widths.map((width, at) => (at === 0 ? '-'.repeat(width + 2) : `${'-'.repeat(width + 1)}:`)).join('|')}|`,
    ...rows.map(line),
  ];
};
