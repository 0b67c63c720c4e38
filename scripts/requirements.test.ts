import { expect, test } from '@jest/globals';
import { requirementFaults } from './requirements.ts';

const PAGE =
  '| code | promise | source |\n| S1 | a path has two forms | compatibility |\n| WH12 | an event is sent | specification |\n';
/** What is cited, so that only the planted fault is seen. */
const CITED = { path: 'test/a.test.ts', text: "test('does it [S1, WH12]', () => {});" };
const faults = (path: string, text: string, page = PAGE) =>
  requirementFaults(page, [CITED, { path: 'docs/security.md', text: '' }, { path, text }]);

test.each([
  ['a comment of a line', 'src/a.ts', 'const a = 1; // the order of S1'],
  ['a doc comment', 'src/a.ts', '/**\n * Sends an event (WH12).\n */'],
  ['a comment of SQL', 'src/platform/db/migrations/000001_a.sql', 'id uuid, -- WH12'],
  ['a page', 'docs/a.md', 'The paths of S1.'],
  ['a literal that is no code', 'src/a.ts', "const at = 'S3 or T00:00:00Z'; // Cloudflare R2 takes H264"],
  ['the name of a page that is here', 'src/a.ts', '// docs/security.md and security.md say why'],
  ['the address of a page elsewhere', 'src/a.ts', '// https://example.com/guide.md'],
])('accepts %s', (_, path, text) => expect(faults(path, text)).toEqual([]));

test.each([
  ['a comment', 'src/a.ts', '// the order of S2', 'src/a.ts:1: S2 has no row'],
  [
    'the brackets of a title, of whatever family',
    'test/b.test.ts',
    "\n  test('does it [S1, ZZ9]', () => {});",
    'test/b.test.ts:2: ZZ9 has no row',
  ],
  [
    'the parentheses of a title',
    'test/b.test.ts',
    "test('does it (WH13)', () => {});",
    'test/b.test.ts:1: WH13 has no row',
  ],
  ['the beginning of a title', 'test/b.test.ts', "test('H3: does it', () => {});", 'test/b.test.ts:1: H3 has no row'],
  ['a page', 'docs/a.md', 'The paths of S2.', 'docs/a.md:1: S2 has no row'],
  [
    'the name of a page that is not here',
    'src/a.ts',
    '/** As clients.md has it. */',
    'src/a.ts:1: there is no page clients.md',
  ],
])('finds in %s what has no row or page', (_, path, text, fault) => expect(faults(path, text)).toEqual([fault]));

test('finds a row that nothing cites, that only a page cites, and that stands twice', () => {
  const cited = [CITED, { path: 'docs/a.md', text: 'S7' }];
  expect(requirementFaults(`${PAGE}| S7 | never | compatibility |\n`, cited)).toEqual([
    'docs/requirements.md: no test or comment cites S7',
  ]);
  expect(requirementFaults(`${PAGE}| S1 | again | compatibility |\n`, [CITED])).toEqual([
    'docs/requirements.md: S1 has two rows',
  ]);
});
