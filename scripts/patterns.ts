// Every regular expression of the program, for the analyser: literals, forms that adapters declare, patterns of
// schemas.
import { parseSync } from '@swc/core';
import { readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { adapters } from '../src/providers/registry/registry.gen.ts';

/** A pattern, and where it stands. */
export interface Pattern {
  source: string;
  flags: string;
  files: readonly string[];
}

interface Verdict {
  status: 'safe' | 'vulnerable' | 'unknown';
  complexity?: { summary: string };
  attack?: { pattern: string };
  error?: { kind: string };
}
type Check = (source: string, flags: string, options: { timeout: number; attackTimeout: number }) => Promise<Verdict>;
const require = createRequire(import.meta.url);
try {
  // its program for this machine, before the one for Java: the same verdicts in half the time
  require.resolve(`recheck-${process.platform === 'darwin' ? 'macos' : process.platform}-${process.arch}/package.json`);
  process.env['RECHECK_BACKEND'] ??= 'native';
} catch {
  // it chooses
}
const { check } = require('recheck') as { check: Check }; // CommonJS

const FOLDERS = ['src', 'api', 'actors', 'clients/cli/src', 'clients/typescript/src', 'sandbox', 'dapr'];
/** Of `recheck`, for one pattern: what it has not found by then is given as unknown. */
const TIMEOUT_MS = 60_000;

function* nodesOf(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const one of Object.values(value)) yield* nodesOf(one);
}

/** The literals of a file of the program. */
export const literalsOf = (text: string): { source: string; flags: string }[] =>
  [...nodesOf(parseSync(text, { syntax: 'typescript', target: 'es2024' }))]
    .filter(({ type }) => type === 'RegExpLiteral')
    .map(({ pattern, flags }) => ({ source: String(pattern), flags: typeof flags === 'string' ? flags : '' }));

/** The patterns of a JSON Schema or an OpenAPI document. */
export const patternsOf = (document: unknown): { source: string; flags: string }[] =>
  [...nodesOf(document)].flatMap(({ pattern }) =>
    typeof pattern === 'string' ? [{ source: pattern, flags: 'u' }] : [],
  );

/** The forms of typed fields, as `readFields` tries them: on the whole value. */
const declared = () =>
  adapters.flatMap(({ domain, id, version, credentials, setup }) =>
    Object.values({ ...setup?.fields, ...credentials }).flatMap(({ validation }) =>
      validation === undefined
        ? []
        : [{ source: `^(?:${validation})$`, flags: 'u', file: `src/providers/${domain}/${id}.${version}.ts` }],
    ),
  );

/** The forms of values of plugs, as `isValidValue` tries them. */
const ofPlugs = () =>
  adapters.flatMap((adapter) =>
    adapter.domain !== 'social'
      ? []
      : (adapter.plugs ?? []).flatMap(({ fields }) =>
          fields.flatMap(({ validation }) =>
            validation === undefined
              ? []
              : [{ source: validation, flags: 'u', file: `src/providers/social/${adapter.id}.${adapter.version}.ts` }],
          ),
        ),
  );

/** All of them, each once. */
export function allPatterns(): Pattern[] {
  const files = FOLDERS.flatMap((folder) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
  );
  const literals = [
    'rookery.ts',
    ...files.filter((file) => /\.(ts|js)$/.test(file) && !file.endsWith('.test.ts')),
  ].flatMap((file) => literalsOf(readFileSync(file, 'utf8')).map((one) => ({ ...one, file })));
  const schemas = 'docs/openapi.gen.json';
  const inSchemas = patternsOf(JSON.parse(readFileSync(schemas, 'utf8'))).map((one) => ({ ...one, file: schemas }));
  const same = Map.groupBy(
    [...literals, ...declared(), ...ofPlugs(), ...inSchemas],
    ({ source, flags }) => `/${source}/${flags}`,
  );
  return [...same.values()].map((all) => ({
    source: all[0]!.source,
    flags: all[0]!.flags,
    files: [...new Set(all.map(({ file }) => file))],
  }));
}

/** How the cost of a pattern grows with its text: `linear`, or how else, with the text that shows it. */
export async function growthOf({ source, flags }: Pick<Pattern, 'source' | 'flags'>): Promise<string> {
  // an attack that a busy machine is slow to match would count as one that succeeds: its steps decide
  const found = await check(source, flags, { timeout: TIMEOUT_MS, attackTimeout: TIMEOUT_MS });
  if (found.status === 'safe') return 'linear';
  return found.status === 'vulnerable'
    ? `${found.complexity?.summary}: ${found.attack?.pattern}`
    : `unknown: ${found.error?.kind}`;
}
