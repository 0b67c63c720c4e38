import { expect, test } from '@jest/globals';
import { domainAllowed, formatOfKey, keyOfUrl, shownName, urlOfKey } from './rules.ts';

const ORG = '01a1ff18-b24e-77ee-9888-baeac885a560';
const NAME = 'a'.repeat(32);

test('only the form of our own keys names a stored object [S152, X6]', () => {
  expect(formatOfKey(`${ORG}/${NAME}.png`)).toMatchObject({ mime: 'image/png', kind: 'image' });
  for (const key of [
    '',
    `${ORG}/${NAME}.svg`,
    `${ORG}/${NAME}.html`,
    `${ORG}/${NAME}.PNG`,
    `${ORG}/${NAME}.png/..`,
    `../${NAME}.png`,
    `${ORG}/../${NAME}.png`,
    `${ORG}/${NAME}.png\n`,
    `${ORG}\\${NAME}.png`,
    `/${ORG}/${NAME}.png`,
    `.incoming/${NAME}.png`,
    `${ORG}/${NAME}a.png`,
  ])
    expect(formatOfKey(key)).toBeUndefined();
});

test('our own addresses are told from those outside', () => {
  const key = `${ORG}/${NAME}.png`;
  for (const url of [
    urlOfKey('https://api.example', key),
    `https://api.example/api/uploads/${key}`,
    `/uploads/${key}`,
    `https://api.example/uploads/${key}?x=1#y`,
  ])
    expect(keyOfUrl('https://api.example', url)).toBe(key);
  for (const url of [
    `https://api.example.evil.test/uploads/${key}`,
    `https://other.example/uploads/${key}`,
    `http://api.example/uploads/${key}`,
    'https://api.example/files',
    '',
  ])
    expect(keyOfUrl('https://api.example', url)).toBeUndefined();
});

test('a domain allows itself and what lies below it, nothing that only looks like it [S125]', () => {
  const allowed = (url: string) => domainAllowed(['cdn.example'], url);
  expect(['https://cdn.example/a', 'https://a.b.cdn.example/', 'https://CDN.example./a'].map(allowed)).toEqual([true, true, true]);
  expect(
    ['https://evilcdn.example/', 'https://cdn.example.evil.test/', 'https://evil.test/cdn.example', 'https://cdn.example@evil.test/', 'cdn.example', ''].map(
      allowed,
    ),
  ).toEqual([false, false, false, false, false, false]);
  expect(domainAllowed([], 'https://any.test/')).toBe(true);
});

test('a shown name is the last part, without what could deceive', () => {
  expect(
    [
      ['a/b/c.png', 'c.png'],
      ['C:\\x\\y.png', 'y.png'],
      ['  a\u0000b\u202Egnp.exe ', 'abgnp.exe'],
      ['', 'file.png'],
      ['..', 'file.png'],
      ['x/', 'file.png'],
      ['x'.repeat(300), 'x'.repeat(255)],
      ['e\u0301', 'é'],
      ['\ud800', 'file.png'],
    ].map(([name]) => shownName(name, 'file.png')),
  ).toEqual(['c.png', 'y.png', 'abgnp.exe', 'file.png', 'file.png', 'file.png', 'x'.repeat(255), 'é', 'file.png']);
  expect(shownName(undefined, 'f')).toBe('f');
});
