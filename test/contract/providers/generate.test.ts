import { expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

/** What `gen` reads, in a folder of its own. */
async function copy() {
  const folder = await mkdtemp(join(tmpdir(), 'rookery-gen-'));
  for (const part of [
    'rookery.ts',
    'package.json',
    'src',
    'api',
    'actors',
    'sandbox',
    'scripts',
    'docs',
    'test/fixtures/providers/proven.json',
    'test/fixtures/providers/documents.json',
  ])
    await cp(join(ROOT, part), join(folder, part), { recursive: true });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return {
    path: (name: string) => join(folder, name),
    gen: async () => (await run(process.execPath, ['rookery.ts', 'gen'], { cwd: folder, env: { ...process.env, NODE_OPTIONS: '' } })).stdout,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

test('a provider is one file: generated once, the registry has it, and the page shows it', async () => {
  await using tree = await copy();
  const adapter = await readFile(tree.path('src/providers/shortlink/cleanuri.v1.ts'), 'utf8');
  await writeFile(
    tree.path('src/providers/shortlink/brandnew.v1.ts'),
    adapter.replace("id: 'cleanuri'", "id: 'brandnew'").replace("title: 'CleanURI'", "title: 'Brand new'"),
  );
  expect((await tree.gen()).split('\n')).toEqual(expect.arrayContaining(['src/providers/registry/registry.gen.ts written', 'docs/providers.gen.md written']));
  expect(await readFile(tree.path('src/providers/registry/registry.gen.ts'), 'utf8')).toContain('./shortlink/brandnew.v1.ts');
  expect(await readFile(tree.path('docs/providers.gen.md'), 'utf8')).toContain('| `brandnew@v1` | [Brand new](https://cleanuri.com) |');
});
