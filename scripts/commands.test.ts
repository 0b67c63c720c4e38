import { describe, expect, jest, test } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// Each command that a page names is one that can be typed: the parts of a command are compared with what there is, and
// `--help` is run. Each link leads to a file and a heading, each path of code to a file.

jest.setTimeout(300_000); // each command of ours is a process

interface Command {
  page: string;
  words: readonly string[];
}
/** What the shell makes of a line: settings in front, comments and what follows a pipe left out. */
function words(line: string): string[] {
  const all = line.replace(/\s+#.*$/, '').match(/"[^"]*"|'[^']*'|\S+/g) ?? [];
  return all.slice(all.findIndex((word) => !/^[A-Z][A-Z0-9_]*=/.test(word)));
}
const OURS = /^(npm|npx|node|jest|\.\/rookery\.mjs)$/;

const pages = ['*.md', '{src,api,actors,clients,dapr,docs,components,sandbox,test}/**/*.md'].flatMap((pattern) =>
  globSync(pattern, { exclude: (name) => name.includes('node_modules') }),
);
const commands: Command[] = pages.flatMap((page) => {
  const text = readFileSync(page, 'utf8');
  const blocks = [...text.matchAll(/^```(?:sh|bash)?\n([^]*?)^```/gm)].flatMap(([, body]) => body!.split('\n'));
  const spans = [...text.replaceAll(/^```[^]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!);
  return [...blocks, ...spans]
    .map((line) => ({ page, words: words(line) }))
    .filter((one) => OURS.test(one.words[0] ?? '') && one.words.length > 1);
});
const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: Record<string, string> };
const testFiles = [
  '{src,actors,api,clients,sandbox,dapr,scripts}/**/*.test.ts',
  'test/{integration,contract,e2e,sim,chaos}/**/*.test.ts',
].flatMap((pattern) => globSync(pattern));
/** `[address]` and `<folder>` stand for what a person puts there. */
const isGap = (word: string) => /^[[<].*[\]>]$/.test(word);
const helped = new Map<string, string>();
/** Answers why `--help` of a command of ours is no success; empty when it is. */
function help(...args: string[]): string {
  const key = args.join(' ');
  if (!helped.has(key)) {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...args, '--help'], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    helped.set(key, status === 0 && stdout.includes('Usage: ') ? '' : `--help ends with ${status}: ${stderr}`);
  }
  return helped.get(key)!;
}

/** Why nobody can type this; undefined when it can be typed. */
function fault([program, first = '', ...rest]: readonly string[]): string | undefined {
  if (program === 'npm' && ['audit', 'ci', 'install', 'start'].includes(first)) return undefined;
  if (program === 'npm' && first === 'test') {
    if (rest.length === 0) return undefined;
    if (rest[0] !== '--') return 'arguments follow a --';
    const option = rest.slice(1).find((word) => word.startsWith('-'));
    if (option) return `a page chooses tests by their paths, not by ${option}`;
    return rest.slice(1).find((path) => !testFiles.some((file) => file.includes(path)));
  }
  if (program === 'npm' && first === 'run') {
    const named = rest[0] === '-s' ? rest.slice(1) : rest; // npm says nothing of its own
    const [script = '', dashes, ...args] = named.flatMap((word) => word.replace(/^\[--$/, '--').split(' '));
    const runs = manifest.scripts[script];
    if (runs === undefined) return `there is no script ${script}`;
    if (dashes !== undefined && dashes !== '--') return 'arguments follow a --';
    if (script === 'bench')
      return (
        help('test/bench/main.ts') ||
        (args[0] && !isGap(args[0]) && !/^(all|\w[\w-]*)$/.test(args[0]) ? args[0] : undefined)
      );
    if (script === 'chaos') return help('test/chaos/main.ts') || undefined;
    return undefined;
  }
  if (program === 'node' && !first.startsWith('rookery')) return existsSync(first) ? undefined : `there is no ${first}`;
  if (program === './rookery.mjs' || first === 'rookery.mjs') {
    const name = program === 'node' ? rest[0] : first;
    return name === undefined || isGap(name) ? undefined : help('rookery.mjs', name) || undefined;
  }
  return `it does not run here: ${program} ${first}`; // npx jest lacks what ES modules need; Node 18 cannot run rookery.ts
}

describe('the pages', () => {
  test('name commands that can be typed as they stand', () => {
    expect(commands.length).toBeGreaterThan(50);
    expect(
      commands.map((one) => ({ ...one, fault: fault(one.words) })).filter((one) => one.fault !== undefined),
    ).toEqual([]);
  });
  test('what cannot be typed is seen', () => {
    for (const line of [
      'npx jest --selectProjects contract -- test/contract/providers',
      'npm test -- --selectProjects integration -- test/integration/api',
      'npm test -- test/integration/away.test.ts',
      'npm run away',
      'node rookery.ts gen',
      'node rookery.mjs away',
      'node scripts/away.mjs',
    ])
      expect([line, fault(words(line))]).toEqual([line, expect.any(String)]);
  });
});

/** A heading as a link names it. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\s-]/g, '')
    .trim()
    .replaceAll(/\s+/g, '-');
const anchorsOf = (page: string) =>
  [...readFileSync(page, 'utf8').matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading!));

/** The links and paths of a page that lead nowhere. Pages of decisions tell of their day: only their links count. */
function deadEnds(page: string, text: string): string[] {
  const prose = text.replaceAll(/^```[^]*?^```/gm, '');
  const links = [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, link]) => link!)
    .filter((link) => !/^(https?|mailto):/.test(link));
  const dead = links.filter((link) => {
    const [path = '', anchor] = link.split('#');
    const to = path === '' ? page : join(dirname(page), path);
    return !existsSync(to) || (anchor !== undefined && !anchorsOf(to).includes(anchor));
  });
  if (page.startsWith('docs/adr/')) return dead;
  const paths = [
    ...prose.matchAll(
      /`((?:src|api|actors|test|scripts|docs|dapr|components|sandbox)\/[\w./-]+\.(?:[cm]?[jt]s|json|md|sql|yaml|sh))`/g,
    ),
  ].map(([, path]) => path!);
  return [...dead, ...paths.filter((path) => !existsSync(path))];
}

describe('links and paths of the pages', () => {
  test('lead to files and headings that are there', () => {
    expect(pages.flatMap((page) => deadEnds(page, readFileSync(page, 'utf8')).map((to) => ({ page, to })))).toEqual([]);
  });
  test('dead ends are seen', () => {
    const text =
      '[a](away.md) [b](../README.md) [c](security.md#away) [d](security.md#duties-of-the-operator) `src/away.ts` `src/context.ts`';
    expect(deadEnds('docs/operations.md', text)).toEqual(['away.md', 'security.md#away', 'src/away.ts']);
    expect(deadEnds('docs/adr/a.md', '`src/away.ts` [a](away.md)')).toEqual(['away.md']);
  });
});

describe('npm test', () => {
  const npmTest = (...args: string[]) =>
    spawnSync(process.execPath, ['scripts/test.ts', ...args], {
      encoding: 'utf8',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
  test('a path without tests is a failure, also beside one that has some', () => {
    const none = npmTest('src/confgi');
    expect([none.status, none.stdout]).toEqual([
      1,
      expect.stringMatching(/no test file: src\/confgi\n[^]*0 passed, 1 failed\n$/),
    ]);
    const one = npmTest('src/operations/cli/usage.test.ts', 'src/confgi');
    expect([one.status, one.stdout]).toEqual([
      1,
      expect.stringMatching(/no test file: src\/confgi\n[^]*6 passed, 1 failed\n$/),
    ]);
  });
  test('options may stand in front of a -- and paths behind it', () => {
    const { status, stdout } = npmTest('--selectProjects', 'unit', '--', 'src/operations/cli/usage.test.ts');
    expect([status, stdout]).toEqual([0, expect.stringMatching(/6 passed, 0 failed\n$/)]);
  });
});
