// `npm run check`: format, lint, types, boundaries, unused, generated files fresh, requirement codes, retired words,
// licenses, unit tests. Two lanes, for two cores. `--without-tests` leaves the unit tests to the `npm test` that follows.
import { jest } from './jest.ts';
import { type Ran, run } from './run.ts';

const lanes: (() => Promise<Ran>)[][] = [
  [
    () => run('types', ['tsc', '-p', '.']),
    () => run('lint', ['oxlint', '--type-aware']),
    () => run('unused', ['knip', '--no-progress']),
  ],
  [
    () => run('format', ['oxfmt', '--check', '.']),
    () =>
      run('boundaries', [
        'depcruise',
        '--config',
        '.dependency-cruiser.cjs',
        'src',
        'actors',
        'api',
        'clients',
        'sandbox',
        'dapr',
        'rookery.ts',
      ]),
    () => run('generated', [process.execPath, 'rookery.ts', 'gen', '--check']),
    () => run('requirements', [process.execPath, 'scripts/requirements.ts']),
    () => run('words', [process.execPath, 'scripts/words.ts']),
    () => run('licenses', [process.execPath, 'scripts/licenses.ts']),
    ...(process.argv.includes('--without-tests') ? [] : [() => jest('unit', ['--selectProjects', 'unit'])]),
  ],
];

const results = await Promise.all(
  lanes.map(async (lane) => {
    const ran: Ran[] = [];
    for (const step of lane) {
      const one = await step();
      ran.push(one);
      const isGood = one.status === 0;
      process.stdout.write(
        `${isGood ? 'ok  ' : 'FAIL'} ${one.name.padEnd(12)} ${one.seconds.toFixed(1)} s\n${isGood ? '' : `\n${one.output.trim()}\n\n`}`,
      );
    }
    return ran;
  }),
);
const failed = results.flat().filter(({ status }) => status !== 0);
if (failed.length > 0) process.stdout.write(`\nFAIL: ${failed.map(({ name }) => name).join(', ')}\n`);
process.exitCode = failed.length > 0 ? 1 : 0;
