import { describe, expect, test } from '@jest/globals';
import { repeatedNames, RETIRED, wordFaults } from './words.ts';

const faults = (text: string, path = 'src/a.ts') => wordFaults({ path, text });
const upper = (word: string) => word[0]!.toUpperCase() + word.slice(1);

describe.each(RETIRED)('instead of $term', ({ words = [], names = [], texts = [], files = [] }) => {
  test('finds each retired word in identifiers, texts and file names', () => {
    for (const word of words) {
      for (const text of [
        `const ${word} = 1;`,
        `open${upper(word)}();`,
        `type T = { ${word}Of: string };`,
        `log.warn({}, 'A ${word} failed');`,
        `const sql = \`the ${word} of \${a}\`;`,
      ])
        expect([text, faults(text).length]).toEqual([text, 1]);
      expect(faults('', `api/http/${word}.ts`)).toHaveLength(1);
      expect(faults('', `src/mail-${word}.test.ts`)).toHaveLength(1);
    }
  });
  test('finds each retired name as a whole identifier, and only there', () => {
    for (const name of names) {
      for (const text of [`const a = { ${name}: 1 };`, `export const ${name} = 1;`, `a.${name}();`])
        expect([text, faults(text).length]).toEqual([text, 1]);
      if (!texts.includes(name)) expect(faults(`const a = 'x ${name} y';`)).toEqual([]);
    }
  });
  test('finds each retired phrase in texts, each retired file name', () => {
    for (const phrase of texts) expect(faults(`const a = \`select ${phrase}, \${b}\`;`)).toHaveLength(1);
    for (const file of files)
      expect([faults('', `src/x/${file}.ts`).length, faults('', `src/x/${file}.test.ts`).length]).toEqual([1, 1]);
  });
});

test('passes comments, longer words, and names that clients know', () => {
  expect(
    faults("// the doer of a film\nconst heartbeat = { lastBeatAt: 1, always: 'a heartbeat', letterhead: 1 };"),
  ).toEqual([]);
});

test('names file, line and term', () => {
  expect(faults('const a = 1;\nconst doer = a;', 'api/b.ts')).toEqual([
    'api/b.ts:2: doer is now audit actor, write (audit)',
  ]);
});

describe('names that two files export', () => {
  const named = (...paths: string[]) =>
    repeatedNames(paths.map((path, n) => ({ path, text: `${['export const', 'export type'][n % 2]} Rules = 1;\n` })));

  test('are found with both files', () => {
    expect(named('src/b/x.ts', 'src/a/x.ts')).toEqual(['Rules is exported by src/a/x.ts and src/b/x.ts']);
    expect(named('src/providers/kit/x.ts', 'src/providers/registry/x.ts')).toHaveLength(1);
  });
  test('pass in one file, beside tests, outside of src and among adapters', () => {
    expect(named('src/a/x.ts', 'src/a/x.ts')).toEqual([]);
    expect(named('src/a/x.ts', 'src/b/x.test.ts')).toEqual([]);
    expect(named('src/a/x.ts', 'api/x.ts')).toEqual([]);
    expect(named('src/providers/social/_x.ts', 'src/providers/email/_x.ts')).toEqual([]);
  });
});
