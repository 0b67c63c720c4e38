import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

// The types of the TypeScript client, made from the part of the OpenAPI document that programs use. Their generator
// needs TypeScript 5 and lies in a folder of its own, which is installed when the types are no longer fresh: the first
// line of the file holds a hash of what it was made from.

const run = promisify(execFile);
const GENERATOR = fileURLToPath(new URL('../clients/typescript/generator/', import.meta.url));
export const CLIENT_TYPES_FILE = new URL('../clients/typescript/src/schema.gen.ts', import.meta.url);

/** Outside of the public API: what a program logs in by. */
const LOGIN = new Set(['/oauth/token', '/oauth/revoke', '/device/code', '/device/token']);

// oxlint-disable-next-line typescript/no-explicit-any -- a document of JSON
type Json = any;

/** Adds to `found` what a part of the document refers to, and what that refers to. */
function addReferences(document: Json, part: Json, found: Set<string>): void {
  if (typeof part !== 'object' || part === null) return;
  const reference: unknown = part.$ref;
  if (typeof reference === 'string' && !found.has(reference)) {
    found.add(reference);
    const keys = reference.slice(2).split('/');
    addReferences(
      document,
      keys.reduce((inside, key) => inside[key], document),
      found,
    );
  }
  for (const inside of Object.values(part)) addReferences(document, inside, found);
}

/** The part that programs use, without examples: they are for people, and change often. */
function slice(document: Json): Json {
  const paths = Object.fromEntries(
    Object.entries(document.paths).filter(([path]) => path.startsWith('/public/v1/') || LOGIN.has(path)),
  );
  const found = new Set<string>();
  addReferences(document, paths, found);
  const components: Record<string, Record<string, Json>> = {};
  for (const reference of [...found].toSorted()) {
    const [, kind, name] = reference.slice(2).split('/') as [string, string, string];
    (components[kind] ??= {})[name] = document.components[kind][name];
  }
  const text = JSON.stringify({ openapi: document.openapi, info: document.info, paths, components }, (key, value) =>
    ['example', 'examples', 'x-codeSamples', 'x-mcp'].includes(key) ? undefined : value,
  );
  return JSON.parse(text) as Json;
}

/** The paths whose POST may be repeated under its `Idempotency-Key`. */
const repeatable = (part: Json): string[] =>
  Object.entries<Json>(part.paths)
    .filter(([, { post }]) => post?.parameters?.some((one: Json) => one.name === 'Idempotency-Key'))
    .map(([path]) => path);

async function hashOf(part: Json): Promise<string> {
  const lockfile = await readFile(`${GENERATOR}package-lock.json`);
  return createHash('sha256').update(JSON.stringify(part)).update(lockfile).digest('hex');
}
const headOf = (hash: string) => `// Made from the OpenAPI document by npm run gen. sha256: ${hash}\n`;

/** Answers whether the types were made from this document by this generator. */
export async function areClientTypesFresh(document: object): Promise<boolean> {
  const text = await readFile(CLIENT_TYPES_FILE, 'utf8').catch(() => '');
  return text.startsWith(headOf(await hashOf(slice(document))));
}

/** Makes the types; installs the generator before, by its lockfile, where it is not there. */
export async function makeClientTypes(document: object): Promise<string> {
  const part = slice(document);
  await installGenerator();
  const folder = await mkdtemp(join(tmpdir(), 'rookery-client-types-'));
  try {
    const input = join(folder, 'openapi.json');
    const output = join(folder, 'schema.ts');
    await writeFile(input, JSON.stringify(part));
    const program = `${GENERATOR}node_modules/openapi-typescript/bin/cli.js`;
    await run(process.execPath, [program, input, '--default-non-nullable=false', '--output', output], {
      cwd: GENERATOR,
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    const keyed = `export const repeatablePosts: readonly string[] = ${JSON.stringify(repeatable(part), null, 2)};\n`;
    return `${headOf(await hashOf(part))}${keyed}\n${await readFile(output, 'utf8')}`;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function installGenerator(): Promise<void> {
  const mark = `${GENERATOR}node_modules/.installed`;
  const lockfile = await readFile(`${GENERATOR}package-lock.json`, 'utf8');
  if (existsSync(mark) && (await readFile(mark, 'utf8')) === lockfile) return;
  process.stderr.write('installing the generator of client types (once)\n');
  // npm runs on the Node that it came with
  const path = (process.env['PATH'] ?? '').split(delimiter).filter((one) => !one.endsWith('node_modules/.bin'));
  await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: GENERATOR,
    env: { ...process.env, NODE_OPTIONS: '', PATH: path.join(delimiter) },
  });
  await writeFile(mark, lockfile);
}
