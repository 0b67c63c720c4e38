import { expect, test } from '@jest/globals';
import { allPatterns, growthOf, literalsOf, patternsOf } from './patterns.ts';

const MINUTES_10 = 600_000;
const all = allPatterns();

test('the analyser tells a pattern that backtracks from one that does not', async () => {
  const found = (source: string) => growthOf({ source, flags: 'u' });
  expect(await found('^(?:(?:wss?://[^\\s,]+[\\s,]*)+)$')).toMatch(/^exponential: /);
  expect(await found('\\s+$')).toMatch(/^2nd degree polynomial: /);
  expect(await found('^[a-z0-9]+(?:-[a-z0-9]+)*$')).toBe('linear');
});

test('patterns are found in literals, declared fields and schemas', () => {
  expect(literalsOf('const a = (text: string) => text.replace(/(a+)+$/giu, "/b/");')).toEqual([
    { source: '(a+)+$', flags: 'giu' },
  ]);
  expect(
    patternsOf({ properties: { a: { type: 'string', pattern: '^(a+)+$' }, pattern: { type: 'string' } } }),
  ).toEqual([{ source: '^(a+)+$', flags: 'u' }]);
  expect(all.length).toBeGreaterThan(200);
  expect(all.find(({ source }) => source === '^[\\s\\S]{3,}$')!.files).toContain('src/providers/social/sandbox.v1.ts'); // of its plugs
  const kinds = [
    /^src\/providers\/vpn\/custom\.v1\.ts$/,
    /^docs\/openapi/,
    /^api\/http\/csrf\.ts$/,
    /^api\/console\/\w+\.js$/,
    /^dapr\//,
  ];
  expect(kinds.filter((kind) => !all.some(({ files }) => files.some((file) => kind.test(file))))).toEqual([]);
});

test(
  'no pattern of the program backtracks',
  async () => {
    const slow: string[] = [];
    for (const one of all) {
      const growth = await growthOf(one);
      if (growth !== 'linear') slow.push(`${one.files.join(', ')}: /${one.source}/${one.flags} is ${growth}`);
    }
    expect(slow).toEqual([]);
  },
  MINUTES_10,
);
