// `npm test`: everything. Arguments go to jest as they are (`npm test -- test/chaos`, `npm test -- --selectProjects unit`).
// Unit, integration and contract tests run two at a time; what starts whole services runs alone, one file after another.
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { findDapr, installDapr } from '../dapr/install/index.ts';
import { jest } from './jest.ts';

interface Report {
  numPassedTests: number;
  numFailedTests: number;
  numPendingTests: number;
  numFailedTestSuites: number;
  testResults: { name: string; status: string; message: string }[];
}

const say = (line: string) => void process.stdout.write(`${line}\n`);
if (!(await findDapr())) await installDapr({ environment: process.env, say }).catch((error: Error) => say(`Dapr: ${error.message}`)); // its tests skip by name, or fail under DAPR_REQUIRED=1

mkdirSync('.cache', { recursive: true });
const given = process.argv.slice(2);
const rounds =
  given.length > 0
    ? [given]
    : [
        ['--selectProjects', 'unit', 'integration', 'contract', '--maxWorkers', '2'],
        ['--selectProjects', 'e2e', 'chaos', '--runInBand'],
      ];

const total = { passed: 0, failed: 0, skipped: 0 };
let broken = false;
for (const [n, args] of rounds.entries()) {
  const file = `.cache/jest-${n}.json`;
  rmSync(file, { force: true });
  const { status } = await jest('tests', [...args, '--passWithNoTests', '--json', `--outputFile=${file}`, '--testLocationInResults'], { live: true });
  if (!existsSync(file)) {
    broken = true;
    continue;
  }
  const report = JSON.parse(readFileSync(file, 'utf8')) as Report;
  total.passed += report.numPassedTests;
  total.failed += report.numFailedTests;
  total.skipped += report.numPendingTests;
  if (status !== 0) broken = true;
  for (const suite of report.testResults)
    if (suite.status === 'failed' && report.numFailedTests === 0) process.stdout.write(`did not run: ${suite.name}\n${suite.message}\n`);
}
const failed = total.failed || (broken ? 1 : 0);
process.stdout.write(`\n${total.passed} passed, ${failed} failed${total.skipped ? `, ${total.skipped} skipped` : ''}\n`);
process.exitCode = failed > 0 ? 1 : 0;
