import { expect, test } from '@jest/globals';
import { announced, domainAllowed, formatOfKey, keyOfUrl, partsOfWhole, shownName, urlOfKey } from './rules.ts';

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

test('addresses of the service are told from addresses outside', () => {
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

test('a domain allows itself and its subdomains, not names that only look like it [S125]', () => {
  const allowed = (url: string) => domainAllowed(['cdn.example'], url);
  expect(['https://cdn.example/a', 'https://a.b.cdn.example/', 'https://CDN.example./a'].map(allowed)).toEqual([
    true,
    true,
    true,
  ]);
  expect(
    [
      'https://evilcdn.example/',
      'https://cdn.example.evil.test/',
      'https://evil.test/cdn.example',
      'https://cdn.example@evil.test/',
      'cdn.example',
      '',
    ].map(allowed),
  ).toEqual([false, false, false, false, false, false]);
  expect(domainAllowed([], 'https://any.test/')).toBe(true);
});

test('a shown name is the last path segment, without deceptive characters', () => {
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

test('an announced file is judged by its type, else by its name, and only accepted kinds pass [S147, S149]', () => {
  const extension = (type: string | undefined, name: string) => announced(type, name)?.extension;
  expect([
    extension('image/jpeg', 'x.exe'),
    extension('VIDEO/QuickTime; x=y', 'x'),
    extension(undefined, 'Beach.JPEG'),
    extension('application/octet-stream', 'a.b.webm'),
    extension(undefined, 'Scan.TIF'),
    extension(undefined, 'IMG_1.heif'),
    extension('', 'constructor'),
    extension('text/html', 'a.png'),
    extension('text/html', 'a.html'),
    extension('image/svg+xml', 'a.svg'),
    extension('', ''),
  ]).toEqual(['jpg', 'mov', 'jpg', 'webm', 'tiff', 'heic', undefined, 'png', undefined, undefined, undefined]);
});

test('parts are joined in the order of their numbers, when all have arrived as named [S149]', () => {
  const arrived = [
    { number: 1, bytes: 5, etag: 'A1' },
    { number: 2, bytes: 3, etag: '"b2"' },
  ];
  const named = (...parts: [number, string][]) => parts.map(([PartNumber, ETag]) => ({ PartNumber, ETag }));
  expect(partsOfWhole(named([2, 'B2'], [1, '"a1"']), arrived, 8)).toEqual(arrived);
  const fields = (parts: [number, string][], bytes = 8) => {
    try {
      return partsOfWhole(named(...parts), arrived, bytes);
    } catch (error) {
      return (error as { extra: { errors: { field: string }[] } }).extra.errors.map(({ field }) => field);
    }
  };
  expect(fields([[1, 'a1']])).toEqual(['parts']);
  expect(
    fields(
      [
        [1, 'a1'],
        [2, 'b2'],
      ],
      9,
    ),
  ).toEqual(['parts']);
  expect(
    fields([
      [1, 'other'],
      [3, 'c'],
    ]),
  ).toEqual(['parts.0.ETag', 'parts.1.PartNumber']);
  expect(
    fields([
      [1, 'a1'],
      [1, 'a1'],
    ]),
  ).toEqual(['parts.1.PartNumber']);
});

test('each part that has arrived is looked at a few times, however many are named [S149]', () => {
  let looks = 0;
  const arrived = Array.from({ length: 2_000 }, (_, n) => ({
    get number() {
      looks += 1;
      return n + 1;
    },
    bytes: 1,
    etag: 'a',
  }));
  const named = arrived.map((_, n) => ({ PartNumber: n + 1, ETag: 'a' }));
  expect(partsOfWhole(named, arrived, arrived.length)).toHaveLength(arrived.length);
  expect(looks).toBeLessThan(20 * arrived.length);
});
