import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

// docs/security.md says of each requirement of ASVS 5.0.0 what shows it. It is worth no more than what it names.

/** ASVS 5.0.0: one text for each section of a chapter, the level of one requirement after the other. */
const LEVELS = [
  '22 1111122223 112222222223 222 123',
  '122 112 12223 23',
  '3 113 12223 11222233 11122333 3 22333',
  '12233 23333 22 1222',
  '2 112333 113 222',
  '122 111111112222 11223333 112233 22222333 2223 33 2222',
  '222 1111 22 11222 223 22',
  '1233 1123 133 23',
  '111 1222',
  '22 223 22223 1111122222233333 22222 22 222',
  '2233 22233 11233 1222 23 23 33',
  '12233 11 22223',
  '2333 222223 2233 1222233',
  '22 12223333 122',
  '12233 12233 1222222 3333',
  '2 22222 2222 222 2223',
  '23 22223333 22',
];
const level = new Map(
  LEVELS.flatMap((chapter, c) =>
    chapter
      .split(' ')
      .flatMap((section, s) => [...section].map((of, n): [string, string] => [`V${c + 1}.${s + 1}.${n + 1}`, of])),
  ),
);

const rows = readFileSync('docs/security.md', 'utf8')
  .split('\n')
  .filter((line) => /^\| V\d/.test(line))
  .map((line) => line.slice(2, -2).split(' | '));
const evidence = rows.flatMap(([id, , , how = '']) =>
  [...how.matchAll(/`([^`]+)` “([^”]+)”/g)].map(([, file, title]) => ({ id, file: file!, title: title! })),
);

/** What begins so in a file: the title of a test, or the heading of a page. */
function stands(file: string, title: string): boolean {
  const path = /\.(ts|md)$/.test(file) ? file : `test/integration/${file}.test.ts`;
  if (!existsSync(path)) return false;
  const text = readFileSync(path, 'utf8');
  if (path.endsWith('.md'))
    return text.split('\n').some((line) => /^#+ /.test(line) && line.replace(/^#+ /, '') === title);
  const lines = text.replaceAll('\\`', '`').split('\n');
  return lines.some((line, n) => ["'", '"', '`'].some((quote) => line.includes(quote + title)) && runs(lines, n));
}

/**
 * Whether the test that is named in this line runs: neither it nor a block around it is skipped, put off or expected to
 * fail. What is skipped where a part is missing counts.
 */
function runs(lines: readonly string[], at: number): boolean {
  const depth = (line: string) => /^ */.exec(line)![0].length;
  let around = depth(lines[at]!) + 1;
  for (let n = at; n >= 0; n -= 1) {
    const line = lines[n]!;
    if (line.trim() === '' || depth(line) >= around) continue;
    if (
      /\bx(it|test|describe)\b|\.(skip|todo|failing)\b/.test(line) &&
      !/\? test : test\.skip\b|: describe\.skip\b/.test(line)
    )
      return false;
    around = depth(line);
  }
  return true;
}

test('each requirement of levels 1 and 2 has one row with its level, our own few words and an answer', () => {
  expect(level.size).toBe(345);
  expect(rows.map(([id]) => id).toSorted()).toEqual(
    [...level].flatMap(([id, of]) => (of === '3' ? [] : [id])).toSorted(),
  );
  expect(rows).toHaveLength(253);
  for (const [id, of, what = '', how = ''] of rows) {
    expect([id, of]).toEqual([id, level.get(id!)]);
    expect([id, what.split(' ').length <= 12 && what !== '']).toEqual([id, true]);
    const isShown = how.split('; `').every((part, n) => /^`[^`]+` “[^”]+”$/.test(n === 0 ? part : `\`${part}`));
    expect([id, how, isShown || /^\*(n\/a|open|operator)\*: \S/.test(how)]).toEqual([id, how, true]);
  }
});

test('every test and heading that it names is there', () => {
  expect(evidence.length).toBeGreaterThan(150);
  expect(evidence.filter(({ file, title }) => !stands(file, title))).toEqual([]);
  expect(stands('auth-jwt', 'a title that nobody wrote')).toBe(false);
  for (const [skipped, line] of [
    ["test.skip('a title', () => {});", 0],
    ["describe.skip('a part', () => {\n  test('a title', () => {});\n});", 1],
    ["test.skip.each([1])(\n  'a title',\n  () => {},\n);", 1],
  ] as const)
    expect([skipped, runs(skipped.split('\n'), line)]).toEqual([skipped, false]);
  expect(runs(["describe.skip('a part', () => {", '});', "test('a title', () => {});"], 2)).toBe(true);
});

test('what is open is told, and does not become more unseen', () => {
  const of = (word: string) => rows.filter(([, , , how = '']) => how.startsWith(`*${word}*`)).map(([id]) => id);
  const [open, operator, without] = [of('open'), of('operator'), of('n/a')];
  process.stdout.write(
    `ASVS 5.0.0, levels 1 and 2: ${rows.length - open.length - operator.length - without.length} shown, ${without.length} without object, ${operator.length} of the operator, ${open.length} open (${open.join(', ')})\n`,
  );
  expect(open.length).toBeLessThanOrEqual(25);
});
