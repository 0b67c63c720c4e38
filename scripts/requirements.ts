// node scripts/node24.mjs scripts/requirements.ts: compares the codes that tests and comments cite with the rows of
// docs/requirements.md, and prints each code without a row, each row that nothing cites or that stands twice, and each
// page that is named and is not in this repository.
import { globSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { fileURLToPath } from 'node:url';

/** A file of the repository: its path and its text. */
export interface Source {
  path: string;
  text: string;
}

const PAGE = 'docs/requirements.md';
/** Names of other things that have the form of a code. */
const NO_CODES = new Set(['H264', 'H265', 'R2']);
/** Migrations are never edited; what an early one says of a page stays. */
const MIGRATIONS = 'src/platform/db/migrations/';

const isPage = ({ path }: Source) => path.endsWith('.md');
const isTest = ({ path }: Source) => /^test\/|\.test\.ts$/.test(path);
/** The part of a line that is a comment, in TypeScript and SQL; all of a page is. */
const COMMENT = /(?:^|\s)(?:\/\/|\/\*|--)\s.*|(?:^|\s)\/\*\*.*|^\s*\*\s.*/;

/** The codes that one line cites, by the families of letters that the page has. */
function* citedIn(line: string, source: Source, families: RegExp): Generator<string> {
  const comment = isPage(source) ? line : (COMMENT.exec(line)?.[0] ?? '');
  for (const [code] of comment.matchAll(families)) if (!NO_CODES.has(code)) yield code;
  if (!isTest(source)) return;
  // A title ends with its codes in brackets, of whatever family: a mistyped one must not pass unseen.
  for (const [, list] of line.matchAll(/\[([A-Z]{1,2}\d{1,3}(?:, ?[A-Z]{1,2}\d{1,3})*)\]/g)) yield* list!.split(/, ?/);
  for (const [, list] of line.matchAll(/\(([A-Z]{1,2}\d{1,3}(?:, [A-Z]{1,2}\d{1,3})*)\)/g))
    for (const [code] of list!.matchAll(families)) yield code;
  const begin = /\btest\(\s*['"`]([A-Z]{1,2}\d{1,3}(?:, [A-Z]{1,2}\d{1,3})*)\b/.exec(line);
  if (begin) yield* begin[1]!.split(', ');
}

/** The pages that one line names, without those of other sites. */
function* pagesIn(line: string, source: Source): Generator<string> {
  const comment = isPage(source) ? line : (COMMENT.exec(line)?.[0] ?? '');
  for (const [name] of comment.replaceAll(/https?:\/\/\S+/g, '').matchAll(/[\w./-]*[\w-]\.md\b/g)) yield name;
}

/**
 * One line for each fault between the page and the files that cite it.
 * @param page the text of docs/requirements.md
 * @param sources all other files that may cite a code, and the names of all pages
 */
export function requirementFaults(page: string, sources: readonly Source[]): string[] {
  const rows = [...page.matchAll(/^\| ([A-Z]{1,2}\d{1,3}) \|/gm)].map(([, code]) => code!);
  const known = new Set(rows);
  const families = new RegExp(
    `\\b(?:${[...new Set(rows.map((code) => code.replace(/\d+/, '')))].join('|')})\\d{1,3}\\b`,
    'g',
  );
  const pages = new Set([PAGE, ...sources.filter(isPage).map(({ path }) => path)].map((path) => basename(path)));

  const faults = rows.filter((code, n) => rows.indexOf(code) !== n).map((code) => `${PAGE}: ${code} has two rows`);
  const cited = new Set<string>();
  for (const source of sources)
    for (const [n, line] of source.text.split('\n').entries()) {
      const at = `${source.path}:${n + 1}`;
      for (const code of citedIn(line, source, families)) {
        if (!isPage(source)) cited.add(code);
        if (!known.has(code)) faults.push(`${at}: ${code} has no row`);
      }
      if (source.path.startsWith(MIGRATIONS)) continue;
      for (const name of pagesIn(line, source))
        if (!pages.has(basename(name))) faults.push(`${at}: there is no page ${name}`);
    }
  return [
    ...faults,
    ...rows.filter((code) => !cited.has(code)).map((code) => `${PAGE}: no test or comment cites ${code}`),
  ];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = globSync(
    [
      '*.{md,ts,mjs}',
      '{src,api,actors,clients,dapr,sandbox,scripts,test,docs,components,deploy,web}/**/*.{ts,mjs,js,sql,proto,md}',
    ],
    {
      exclude: (name) => name.includes('node_modules'),
    },
  );
  const isRead = (path: string) =>
    !/\.gen\.(?!md$)|^test\/peers\//.test(path) && path !== PAGE && path !== 'scripts/requirements.test.ts';
  const sources = paths.filter(isRead).map((path) => ({ path, text: readFileSync(path, 'utf8') }));
  const page = readFileSync(PAGE, 'utf8');
  const faults = requirementFaults(page, sources);
  process.stdout.write(
    faults.map((line) => `${line}\n`).join('') +
      `${page.match(/^\| [A-Z]{1,2}\d/gm)?.length} rows, ${faults.length} faults\n`,
  );
  process.exitCode = faults.length > 0 ? 1 : 0;
}
