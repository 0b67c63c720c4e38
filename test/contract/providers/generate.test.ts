import { describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);

/** Copies what `gen` reads to a folder of its own. */
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
    'clients',
    'test/fixtures/providers',
    'test/support',
  ])
    await cp(join(ROOT, part), join(folder, part), {
      recursive: true,
      filter: (path) => !path.endsWith('node_modules'),
    });
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
  return {
    path: (name: string) => join(folder, name),
    gen: async (...options: string[]) => {
      const ran = run(process.execPath, ['rookery.ts', 'gen', ...options], {
        cwd: folder,
        env: { ...process.env, NODE_OPTIONS: '' },
      });
      const { stdout } = await ran.catch((error: { stdout: string }) => error);
      return { status: ran.child.exitCode, lines: stdout.trim().split('\n') };
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true }),
  };
}

const REGISTRY = 'src/providers/registry/registry.gen.ts';
const PAGE = 'docs/providers.gen.md';

describe('rookery.ts gen', () => {
  test('lists an adapter file that was added in the registry and on the page of providers', async () => {
    await using tree = await copy();
    const adapter = await readFile(tree.path('src/providers/shortlink/cleanuri.v1.ts'), 'utf8');
    await writeFile(
      tree.path('src/providers/shortlink/brandnew.v1.ts'),
      adapter.replace("id: 'cleanuri'", "id: 'brandnew'").replace("title: 'CleanURI'", "title: 'Brand new'"),
    );
    expect(await tree.gen()).toEqual({ status: 0, lines: [`${REGISTRY} written`, `${PAGE} written`] });
    expect(await readFile(tree.path(REGISTRY), 'utf8')).toContain('./shortlink/brandnew.v1.ts');
    expect(await readFile(tree.path(PAGE), 'utf8')).toContain('| `brandnew@v1` | [Brand new](https://cleanuri.com) |');
  });

  test('drops an adapter file that was deleted while the registry still imports it', async () => {
    await using tree = await copy();
    await rm(tree.path('src/providers/shortlink/cleanuri.v1.ts'));
    expect(await tree.gen('--check')).toEqual({
      status: 1,
      lines: [`${REGISTRY} is not what the sources say: run npm run gen`],
    });
    expect(await tree.gen()).toEqual({ status: 0, lines: [`${REGISTRY} written`, `${PAGE} written`] });
    for (const file of [REGISTRY, PAGE]) expect(await readFile(tree.path(file), 'utf8')).not.toContain('cleanuri');
    expect(await tree.gen('--check')).toEqual({ status: 0, lines: [''] });
  });
});
