// node scripts/wiring.ts [--file <path>] [--lines <pattern>] [--from <line>] [--to <line>]: drops each line of the composition in turn, and puts
// the default in the place of each setting that a line passes on, in a copy, and asks whether anything notices: the types first, then the tests that show what the composition does. Prints the lines that nothing
// noticed. Hours for the whole; not part of CI.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const FILES = ['src/context.ts', 'actors/main.ts', 'actors/sweeper.ts'];
/** What should notice a dropped line, in the order in which it is asked. */
const TESTS = [
  ['test/integration/settings-effect'],
  ['test/integration/operate-', 'test/integration/limits-api', 'test/integration/webhooks-api', 'test/integration/posts-api', 'test/integration/billing-life'],
];

const { values } = parseArgs({ options: { file: { type: 'string' }, lines: { type: 'string' }, from: { type: 'string' }, to: { type: 'string' } } });
const wanted = new RegExp(values.lines ?? '');

/** Lines that say something by themselves: no comment, no import, no type, no bracket alone. */
function droppable(text: string): number[] {
  let isType = false;
  return text.split('\n').flatMap((line, n) => {
    if (/^(export )?(interface|type) /.test(line)) isType = !/;\s*$/.test(line);
    const counts = !isType && !/^\s*(\/\/|\/?\*|import |export (\{|type))/.test(line) && /\w/.test(line) && wanted.test(line);
    if (line.startsWith('}')) isType = false;
    return counts && n + 1 >= Number(values.from ?? 1) && n + 1 <= Number(values.to ?? Infinity) ? [n] : [];
  });
}

interface Change {
  what: string;
  text: string;
}
/** The text of the file without this line, and once for each setting in the line, with the default in its place. */
function changesOf(file: string, text: string, n: number): Change[] {
  const lines = text.split('\n');
  const line = lines[n]!;
  const config = file.startsWith('src/') ? './config/index.ts' : '../src/config/index.ts';
  const usual = `import { readConfig as readUsual } from '${config}';\nconst USUAL = readUsual({ JWT_SECRET: 'x'.repeat(32) }).config;\n`;
  const settings = [...line.matchAll(/\bconfig(?=\.[a-z])/g)].map(({ index }) => ({
    what: `default for ${/^config[.\w]+/.exec(line.slice(index))![0]}`,
    text: usual + lines.with(n, `${line.slice(0, index)}USUAL${line.slice(index + 'config'.length)}`).join('\n'),
  }));
  return [{ what: 'dropped', text: lines.toSpliced(n, 1).join('\n') }, ...settings];
}

const copy = mkdtempSync(join(tmpdir(), 'rookery-wiring-'));
try {
  const SKIP = /^(\.git|\.data|\.cache|node_modules|coverage)$/;
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !SKIP.test(path.slice(ROOT.length)) && !path.endsWith('/node_modules') });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const run = (command: string, args: readonly string[]) =>
    spawnSync(command, args, { cwd: copy, encoding: 'utf8', env: { ...process.env, NODE_OPTIONS: '--experimental-vm-modules --no-warnings' } });
  const compiles = () => run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', '.']).status === 0;
  const passes = (tests: readonly string[]) =>
    run(process.execPath, ['node_modules/jest/bin/jest.js', '--runInBand', '--forceExit', '--bail', ...tests]).status === 0;

  if (!compiles() || !TESTS.every(passes)) throw new Error('The types or the tests fail without a dropped line: mend that first');
  const survivors: string[] = [];
  let changes = 0;
  for (const file of FILES.filter((name) => values.file === undefined || name === values.file)) {
    const text = readFileSync(join(ROOT, file), 'utf8');
    const lines = text.split('\n');
    for (const n of droppable(text))
      for (const change of changesOf(file, text, n)) {
        changes += 1;
        writeFileSync(join(copy, file), change.text);
        const noticed = !compiles() ? 'types' : TESTS.find((tests) => !passes(tests))?.[0];
        const named = `${file}:${n + 1}  ${change.what}: ${lines[n]!.trim()}`;
        process.stdout.write(`${noticed ?? 'SURVIVES'}  ${named}\n`);
        if (noticed === undefined) survivors.push(named);
      }
    writeFileSync(join(copy, file), text);
  }
  process.stdout.write(`\n${changes} changes, ${survivors.length} survivors${survivors.length > 0 ? `:\n${survivors.join('\n')}` : ''}\n`);
  process.exitCode = survivors.length > 0 ? 1 : 0;
} finally {
  rmSync(copy, { recursive: true, force: true });
}
