// node scripts/node24.mjs scripts/words.ts: prints each use of a retired word in src, api, actors and clients: in identifiers,
// in texts (summaries, logs, errors, SQL) and in names of files; and each name that two files of src export.
// docs/glossary.md has the terms that are used.
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseSync } from '@swc/core';

/** A file of the repository: its path and its text. */
export interface Source {
  path: string;
  text: string;
}
interface Retired {
  term: string;
  /** Retired wherever they stand: as a part of an identifier or of a file's name, as a word of a text. */
  words?: readonly string[];
  /** Retired as whole identifiers; in a text they are ordinary English. */
  names?: readonly string[];
  /** Retired in texts: columns, tables, phrases. */
  texts?: readonly string[];
  /** Retired as names of files. */
  files?: readonly string[];
}

/** The retired words, each with the term that took its place. */
export const RETIRED: readonly Retired[] = [
  { term: 'audit actor, write (audit)', words: ['doer', 'doers'], names: ['noteAudit'] },
  { term: 'locked membership, deps', names: ['acting', 'Ground'] },
  { term: 'heartbeat', words: ['beat', 'beats'], texts: ['last_beat'] },
  { term: 'egress route', names: ['Way', 'wayOf', 'openWay'], texts: ['the open way'], files: ['way'] },
  {
    term: 'entitlement',
    names: ['standing', 'Standing', 'standingOf', 'standColumn'],
    texts: ['limits_version'],
    files: ['standing'],
  },
  {
    term: 'over-limit, enforce limits',
    words: ['prune', 'pruning'],
    names: ['Excess', 'excess', 'excessOf'],
    files: ['excess'],
  },
  {
    term: 'dunning, transition',
    names: ['Passing', 'openPassing', 'nextTurn', 'runTurn', 'expectTurn'],
    files: ['passing'],
  },
  { term: 'apply (billing), complete (keys)', names: ['openSettle', 'Settle', 'settleKey', 'settleEvent'] },
  { term: 'dispatcher', words: ['courier', 'couriers'] },
  {
    term: 'mail transport, templates, texts',
    words: ['outlet', 'outlets'],
    names: ['Letter'],
    files: ['letters', 'wording'],
  },
  { term: 'ingest, store', words: ['intake'], names: ['Keep', 'keepReceived', 'keepFetched'], files: ['keep'] },
  {
    term: 'pending deletion',
    names: ['Remains', 'crossOut', 'takeBack', 'leaveObject'],
    texts: ['media_remains'],
    files: ['remains'],
  },
  { term: 'video, thumbnail', words: ['film', 'films', 'poster', 'posters'] },
  { term: 'sandboxed exec, parts in flight', words: ['confined'], names: ['openUnderWay'], files: ['under-way'] },
  { term: 'limiter', names: ['openGate', 'openTurns'], files: ['turns', 'gate'] },
  { term: 'claim', names: ['takeNext', 'taken_at'], texts: ['taken_at'], files: ['take'] },
  { term: 'slot lease, renew', names: ['HOLD_MS', 'prolong'] },
  { term: 'due change, reminder move', names: ['Nudge', 'Nudges'] },
  { term: 'transitions, due version, reminder due', texts: ['registered_for'], files: ['moves'] },
  { term: 'drain, not sent', names: ['doubt', 'handBack'], texts: ['handed-back'] },
  { term: 'rearm reminders, deadline, database lock', words: ['rouse', 'goodbye'], files: ['exclusive'] },
  { term: 'retention, gauges', files: ['old', 'numbers', 'measures'] },
];

/** Names that clients know: they stay. */
const PUBLISHED = new Set(['lastBeatAt']);

function* nodesOf(value: unknown): Generator<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return;
  if (!Array.isArray(value)) yield value as Record<string, unknown>;
  for (const one of Object.values(value)) yield* nodesOf(one);
}
/** `openMailTransport`, `LAST_BEAT` and `mail-transport` by their parts, in lower case. */
const partsOf = (name: string): string[] =>
  name
    .replaceAll(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z\d]+/);
const textOf = ({ type, value, cooked }: Record<string, unknown>): unknown =>
  type === 'StringLiteral' ? value : type === 'TemplateElement' ? cooked : undefined;

const includesPhrase = (text: string, phrase: string) => new RegExp(`(?<![\\w-])${phrase}(?![\\w-])`, 'i').test(text);

/** One line for each file and retired word that it uses. */
export function wordFaults({ path, text }: Source): string[] {
  const nodes = [...nodesOf(parseSync(text, { syntax: 'typescript', target: 'es2024' }))];
  const identifiers = new Set(
    nodes.flatMap(({ type, value }) => (type === 'Identifier' && typeof value === 'string' ? [value] : [])),
  );
  const parts = new Set([...identifiers].filter((name) => !PUBLISHED.has(name)).flatMap(partsOf));
  const texts = nodes.map(textOf).filter((one) => typeof one === 'string');
  const file = basename(path).replace(/(\.test)?\.ts$/, '');
  const lineOf = (word: string) =>
    text.split('\n').findIndex((line) => line.toLowerCase().includes(word.toLowerCase())) + 1;
  return RETIRED.flatMap(({ term, words = [], names = [], texts: phrases = [], files = [] }) => [
    ...words
      .filter((word) => parts.has(word) || texts.some((one) => includesPhrase(one, word)))
      .map((word) => `${path}:${lineOf(word)}: ${word} is now ${term}`),
    ...names.filter((one) => identifiers.has(one)).map((one) => `${path}:${lineOf(one)}: ${one} is now ${term}`),
    ...phrases
      .filter((phrase) => texts.some((one) => includesPhrase(one, phrase)))
      .map((phrase) => `${path}:${lineOf(phrase)}: ${phrase} is now ${term}`),
    ...[...files.filter((one) => one === file), ...words.filter((word) => partsOf(file).includes(word))].map(
      (one) => `${path}: the file name ${one} is now ${term}`,
    ),
  ]);
}

/** Adapters are read beside the documents of their provider, one at a time: their files may use the same names. */
const OF_ADAPTERS = /^src\/providers\/(?!kit\/|registry\/|settings\/|catalog\/)[^/]+\//;
const EXPORTED =
  /^export (?:default )?(?:async )?(?:abstract )?(?:function\*?|const|let|class|interface|type|enum) ([\w$]+)/gm;

/** One line for each name that more than one file of src exports: whoever searches for it must find one thing. */
export function repeatedNames(sources: readonly Source[]): string[] {
  const places = new Map<string, Set<string>>();
  for (const { path, text } of sources) {
    if (!path.startsWith('src/') || path.endsWith('.test.ts') || OF_ADAPTERS.test(path)) continue;
    for (const [, name] of text.matchAll(EXPORTED)) places.set(name!, (places.get(name!) ?? new Set()).add(path));
  }
  return [...places]
    .filter(([, files]) => files.size > 1)
    .map(([name, files]) => `${name} is exported by ${[...files].toSorted().join(' and ')}`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const read = (pattern: string) =>
    globSync(pattern)
      .filter((path) => !path.endsWith('.gen.ts'))
      .map((path): Source => ({ path, text: readFileSync(path, 'utf8') }));
  const service = read('{src,api,actors}/**/*.ts');
  const sources = [...service, ...read('clients/*/src/**/*.ts')];
  const faults = [...sources.flatMap(wordFaults), ...repeatedNames(service)];
  process.stdout.write(
    faults.map((line) => `${line}\n`).join('') + `${sources.length} files, ${faults.length} faults\n`,
  );
  process.exitCode = faults.length > 0 ? 1 : 0;
}
