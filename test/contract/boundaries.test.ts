import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';

// A parser that is missing makes the boundary checker report a clean tree of nothing. So a tree with one violation
// for each rule is planted, and each rule must catch its own.
const require = createRequire(import.meta.url);
const rules = (require(resolve('.dependency-cruiser.cjs')) as { forbidden: { name: string }[] }).forbidden.map(({ name }) => name);
const named = (prefix: string) => rules.filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));

/** What each kind of rule forbids: file → the modules it imports. Every planted file is named `planted-…`. */
const PLANTS: Record<string, Record<string, string[]>> = {
  'no-cycles': { 'src/platform/kernel/planted-a.ts': ['./planted-b.ts'], 'src/platform/kernel/planted-b.ts': ['./planted-a.ts'] },
  'tests-are-leaves': { 'src/platform/kernel/planted-test.ts': ['../../../test/support/worlds/turn.ts'] },
  'src-imports-down': { 'src/platform/kernel/planted-up.ts': ['../../../api/app.ts'] },
  'actors-not-api': { 'actors/post/planted-api.ts': ['../../api/app.ts'] },
  'api-sees-contracts': { 'api/planted-actor.ts': ['../actors/post/actor.ts'] },
  'actors-see-contracts': { 'actors/post/planted-actor.ts': ['../channel/actor.ts'] },
  'engine-behind-interface': { 'api/planted-engine.ts': ['../src/platform/actor-runtime/dapr/engine.ts'] },
  'engines-apart': { 'src/platform/actor-runtime/dapr/planted-other.ts': ['../embedded/engine.ts'] },
  'all-of-src': { 'src/publishing/posts/planted-context.ts': ['../../context.ts'] },
  'wings-opened-by-context': { 'src/publishing/planted-wing-door.ts': ['../people/open.ts'], 'api/planted-wing-door.ts': ['../src/people/open.ts'] },
  'adapter-sees-its-kit': { 'src/providers/social/planted.v1.ts': ['node:fs'] },
  'adapters-by-registry': { 'src/providers/planted-adapter.ts': ['./social/known.v1.ts'] },
  'rooms-call-no-actors': { 'src/publishing/posts/planted-actors.ts': ['../../platform/actor-runtime/contract.ts'] },
  ...Object.fromEntries(named('wing:').map((wing) => [`wing:${wing}`, { [`src/${wing}/planted-wing.ts`]: ['../zoo/index.ts'] }])),
  ...Object.fromEntries(named('room:').map((room) => [`room:${room}`, { [`src/${folderOf(room)}/planted-room.ts`]: ['../planted-other/index.ts'] }])),
  ...Object.fromEntries(named('door:').map((room) => [`door:${room}`, { [`api/planted-door-${room.replace('/', '-')}.ts`]: [`../src/${room}/store.ts`] }])),
  ...Object.fromEntries(
    named('owner:').map((owner) => [`owner:${owner}`, { [`src/platform/kernel/planted-owner-${named('owner:').indexOf(owner)}.ts`]: [packageOf(owner)] }]),
  ),
};

/** The folder of a room; `domains` stands for each domain of providers. */
function folderOf(room: string): string {
  return room === 'providers/domains' ? 'providers/social' : room;
}

/** The first package that an owner's pattern names. */
function packageOf(pattern: string): string {
  const first = pattern.split('|').find((name) => !name.includes('(')) ?? 'express';
  return first.startsWith('@') && !first.includes('/') ? `${first}/planted` : first;
}

let root: string;
const put = (file: string, text: string) => {
  mkdirSync(dirname(join(root, file)), { recursive: true });
  writeFileSync(join(root, file), text);
};
const importing = (modules: readonly string[]) =>
  modules.map((module, n) => `import * as m${n} from '${module}';\n`).join('') + `export const x = [${modules.map((_, n) => `m${n}`).join(', ')}];\n`;

beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), 'planted-'));
  cpSync('.dependency-cruiser.cjs', join(root, '.dependency-cruiser.cjs'));
  cpSync('tsconfig.json', join(root, 'tsconfig.json'));
  put('package.json', JSON.stringify({ name: 'planted', type: 'module' }));
  const modules = join(root, 'node_modules');
  mkdirSync(modules);
  for (const name of ['typescript', '@swc']) symlinkSync(resolve('node_modules', name), join(modules, name));
  for (const owner of named('owner:')) {
    const name = packageOf(owner);
    put(`node_modules/${name}/package.json`, JSON.stringify({ name, version: '1.0.0', main: 'index.js' }));
    put(`node_modules/${name}/index.js`, 'export const y = 1;');
  }
  const wings = named('wing:');
  for (const folder of ['zoo', ...wings, ...wings.map((wing) => `${wing}/planted-other`), ...named('room:').map(folderOf)]) {
    put(`src/${folder}/index.ts`, 'export const x = 1;\n');
    put(`src/${folder}/store.ts`, 'export const x = 1;\n');
  }
  for (const file of [
    'src/platform/actor-runtime/contract.ts',
    'src/platform/actor-runtime/dapr/engine.ts',
    'src/platform/actor-runtime/embedded/engine.ts',
    'src/context.ts',
    'src/people/open.ts',
    'src/operations/cli/main.ts',
    'api/app.ts',
    'actors/post/actor.ts',
    'actors/channel/actor.ts',
    'test/support/worlds/turn.ts',
    'src/providers/social/known.v1.ts',
  ])
    put(file, 'export const x = 1;\n');
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

interface Violation {
  from: string;
  rule: { name: string };
}
function violations(): Violation[] {
  const { stdout, stderr } = spawnSync(
    resolve('node_modules/.bin/depcruise'),
    ['--config', '.dependency-cruiser.cjs', '--output-type', 'json', 'src', 'actors', 'api', 'test'],
    { cwd: root, maxBuffer: 1e8 },
  );
  if (!stdout.length) throw new Error(stderr.toString());
  return (JSON.parse(stdout.toString()) as { summary: { violations: Violation[] } }).summary.violations;
}

test('a clean tree has no violation, and each rule catches its planted one', () => {
  expect(violations()).toEqual([]);
  for (const files of Object.values(PLANTS)) for (const [file, modules] of Object.entries(files)) put(file, importing(modules));
  const seen = violations();
  const missed = rules.filter((rule) => !seen.some((one) => one.rule.name === rule && Object.keys(PLANTS[rule] ?? {}).includes(one.from)));
  expect(missed).toEqual([]);
  expect(rules.length).toBeGreaterThan(60);
});

test('a type-only import counts', () => {
  put('src/platform/kernel/planted-type.ts', "import type * as t from '../../publishing/posts/index.ts';\nexport type X = typeof t;\n");
  expect(
    violations()
      .filter(({ from }) => from === 'src/platform/kernel/planted-type.ts')
      .map(({ rule }) => rule.name),
  ).toContain('wing:platform');
});
