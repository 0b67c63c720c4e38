import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { execFile } from 'node:child_process';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { packClients } from '../../../scripts/clients.ts';
import { peerEnv } from '../../support/peers/peer-install.ts';
import { mcpWorld, type McpWorld } from '../../support/worlds/mcp.ts';

// Both clients as they are in other places: packed, installed without the network, on the Node of the machine.

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');
const README = /```bash\n(rookery login[^]*?)```/;
/** What the packages need, as tarballs. */
const NEEDED = ['commander', 'openapi-fetch', 'openapi-typescript-helpers'];

let world: McpWorld;
let folder: string;
let packed: Awaited<ReturnType<typeof packClients>>;
/** A folder of their own in which both are installed. */
let place: string;
const bash = (typed: string, env: Record<string, string> = {}) =>
  run('bash', ['--norc', '-eo', 'pipefail', '-c', typed], {
    cwd: place,
    env: {
      PATH: `${place}/node_modules/.bin:${peerEnv()['PATH']}`,
      HOME: folder,
      URL: world.product.address,
      KEY: world.key.key,
      ...env,
    },
  });

beforeAll(async () => {
  world = await mcpWorld();
  folder = mkdtempSync(join(tmpdir(), 'rookery-packed-'));
  packed = await packClients(folder);
  place = join(folder, 'elsewhere');
  mkdirSync(place);
  writeFileSync(join(place, 'package.json'), '{"type":"module"}');
  const npm = (...words: string[]) =>
    run('npm', [...words, '--offline', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: place, env: peerEnv() });
  const needed = await Promise.all(
    NEEDED.map(async (name) => {
      const { stdout } = await npm('pack', '--json', '--pack-destination', folder, join(ROOT, 'node_modules', name));
      return join(folder, (JSON.parse(stdout) as [{ filename: string }])[0].filename);
    }),
  );
  await npm('install', packed.typescript, packed.cli, ...needed);
}, 180_000);
afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await world[Symbol.asyncDispose]();
});

describe('the command line', () => {
  test('does what its README tells to type', async () => {
    const typed = README.exec(readFileSync(join(ROOT, 'clients/cli/README.md'), 'utf8'))![1]!;
    const { stdout, stderr } = await bash(typed);
    expect(stdout).toMatch(/\nstate +PUBLISHED\n/);
    expect(stdout).toMatch(/ published /);
    expect(stdout + stderr).not.toContain(world.key.key);
  }, 120_000);
  test('holds nothing that it does not need', async () => {
    const { stdout } = await run('tar', ['tzf', packed.cli]);
    const files = stdout.trim().split('\n');
    expect(
      files.filter((file) => !/^package\/(dist\/.*\.(js|d\.ts)|package\.json|README\.md|LICENSE)$/.test(file)),
    ).toEqual([]);
    expect(files.filter((file) => file.includes('.test.'))).toEqual([]);
  });
});

describe('the TypeScript client', () => {
  test('has at most 15 kB, compressed, with what it needs', () => {
    const files = [
      ...globSync(`${place}/node_modules/rookery-client/dist/**/*.js`),
      join(place, 'node_modules/openapi-fetch/dist/index.mjs'),
    ];
    const size = gzipSync(files.map((file) => readFileSync(file, 'utf8')).join('')).length;
    expect(files.length).toBeGreaterThan(5);
    expect(size).toBeLessThanOrEqual(15_000);
  });
  test('publishes a post on the Node of the machine, and its types see what is wrong', async () => {
    const example = /```ts\n([^]*?)```/.exec(readFileSync(join(ROOT, 'clients/typescript/README.md'), 'utf8'))![1]!;
    const typed = example.replace("'https://rookery.example'", 'process.env.ROOKERY_URL!');
    writeFileSync(join(place, 'right.ts'), typed);
    writeFileSync(join(place, 'wrong.ts'), typed.replace("type: 'now'", "type: 'soon'"));
    const compile = (file: string) =>
      bash(
        `"${process.execPath}" "${ROOT}/node_modules/typescript/bin/tsc" --strict --target es2022 --module nodenext ` +
          `--types node --typeRoots "${ROOT}/node_modules/@types" --lib es2022,dom,dom.iterable ${file}`,
      );
    await compile('right.ts');
    await expect(compile('wrong.ts')).rejects.toMatchObject({ stdout: expect.stringContaining('"soon"') });
    const { stdout } = await bash('node right.js', {
      ROOKERY_URL: world.product.address,
      ROOKERY_API_KEY: world.key.key,
    });
    expect(stdout).toMatch(/^PUBLISHED http/);
  }, 120_000);
});
