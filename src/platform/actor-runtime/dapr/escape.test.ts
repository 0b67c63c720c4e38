import { expect, test } from '@jest/globals';
import { fc } from '../../../../test/support/properties.ts';
import { escapeName, isDigest, readName, unescapeName, wireName } from './escape.ts';

test('any text survives the wire, in characters that Dapr leaves alone', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      const wire = escapeName(text);
      expect(wire).toMatch(/^[A-Za-z0-9_:-]+$/);
      expect(unescapeName(wire)).toBe(text);
    }),
  );
});

test.each(['', '_', '__', '.', '..', 'a/b', 'a\\b', 'a%2Fb', '#?', '\n\0', 'ü', '😀', '😀_😀', '_5f', 'org:post-1'])(
  '%j',
  (text) => {
    expect(unescapeName(escapeName(text))).toBe(text);
  },
);

test('our own ids look the same on the wire', () => {
  expect(escapeName('0199-aa:0199-bb')).toBe('0199-aa:0199-bb');
});

test.each(['_x', 'a_', '_5F', '_ff', 'a b', '_41', '_5f'])('%j is refused as no escaped text', (wire) =>
  expect(unescapeName(wire)).toBeUndefined(),
);

test('half a surrogate pair is refused, not replaced', () => expect(() => escapeName('\ud800')).toThrow(TypeError));

test('a name that is too long becomes a digest that is unique to its text', () => {
  const long = 'é'.repeat(200);
  const wire = wireName(long);
  expect(wire).toMatch(/^_h[A-Za-z0-9_-]{43}$/);
  expect([isDigest(wire), unescapeName(wire)]).toEqual([true, undefined]);
  expect([readName(wire, long), readName(wire, 'other'), readName(wire, undefined)]).toEqual([
    long,
    undefined,
    undefined,
  ]);
  expect([isDigest(wireName('_h')), readName(wireName('_h'), 'ignored')]).toEqual([false, '_h']);
});
