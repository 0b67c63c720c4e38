import { describe, expect, test } from '@jest/globals';
import type { Limits } from './_contract.ts';
import { checkPost, checkReach, type FileFacts, publicUrlOf } from './_limits.ts';

const limits: Limits = {
  text: 10,
  unit: 'characters',
  textBytes: 20,
  media: 4,
  mediaTypes: ['image/jpeg', 'video/mp4'],
  oneKind: true,
  image: { ratio: [0.8, 1.91] },
  video: { count: 1, bytes: 1_000, seconds: [3, 60], side: [100, 2_000] },
};
const picture: FileFacts = { contentType: 'image/jpeg', size: 10, width: 1_000, height: 1_000 };
const clip: FileFacts = { contentType: 'video/mp4', size: 1_000, width: 100, height: 2_000, seconds: 60 };
const faults = (text: string, files: readonly (FileFacts | undefined)[] = [], more: Partial<Limits> = {}) =>
  checkPost({ ...limits, ...more }, { text, files }).map(({ field, rule }) => `${field} ${rule}`);

describe('checkPost', () => {
  test.each([
    ['text at the limit', 'x'.repeat(10), []],
    ['as many pictures as fit', '', [picture, picture, picture, picture]],
    ['a video at every limit', '', [clip]],
    ['a picture of another type, which is converted', '', [{ ...picture, contentType: 'image/webp' }]],
    ['a picture with too many bytes, which is scaled', '', [{ ...picture, size: 10 ** 9 }]],
    ['a file that lies outside', '', [undefined]],
    ['a file of which only the type is known', '', [{ contentType: 'video/mp4', size: 1 }]],
  ])('takes %s', (_, text, files) => expect(faults(text, files)).toEqual([]));

  test.each<[string, string, readonly (FileFacts | undefined)[], string[]]>([
    ['neither text nor media', '', [], ['content required']],
    ['a text beyond the limit', 'x'.repeat(11), [], ['content max_length']],
    ['a text beyond the bytes', '😀'.repeat(6), [], ['content max_length']],
    ['too many files', 'x', Array.from({ length: 5 }, () => picture), ['image max_items']],
    ['too many videos', 'x', [clip, clip], ['image max_items']],
    ['a video beside a picture', 'x', [picture, clip], ['image mixed']],
    ['a type that is not taken', 'x', [{ contentType: 'audio/mpeg', size: 1 }], ['image.0 type']],
    ['a video that is too large', 'x', [{ ...clip, size: 1_001 }], ['image.0 max_bytes']],
    ['a video that is too long', 'x', [{ ...clip, seconds: 61 }], ['image.0 duration']],
    ['a video that is too short', 'x', [{ ...clip, seconds: 2 }], ['image.0 duration']],
    ['a video that is too small', 'x', [{ ...clip, width: 99 }], ['image.0 side']],
    ['a video that is too high', 'x', [{ ...clip, height: 2_001 }], ['image.0 side']],
    ['a picture of another shape', 'x', [picture, { ...picture, width: 799 }], ['image.1 ratio']],
  ])('refuses %s, with the path of the field', (_, text, files, expected) =>
    expect(faults(text, files)).toEqual(expected),
  );

  test('says limit and value', () => {
    expect(checkPost(limits, { text: 'x'.repeat(11), files: [{ ...clip, seconds: 90 }] })).toEqual([
      { field: 'content', message: 'the text is longer than 10 characters (11)', rule: 'max_length' },
      { field: 'image.0', message: 'the length in seconds is more than 60 (90)', rule: 'duration' },
    ]);
  });

  test('takes no file where none can be attached', () => {
    expect(faults('x', [picture], { media: 0, mediaTypes: [] })).toEqual(['image max_items']);
  });

  test('takes a document by its type and its own limits, never those of videos', () => {
    const pdf = { contentType: 'application/pdf', size: 5_000 };
    const types = { mediaTypes: ['image/jpeg', 'video/mp4', 'application/pdf'] };
    expect(faults('x', [pdf])).toEqual(['image.0 type']);
    expect(faults('x', [pdf], types)).toEqual([]);
    expect(faults('x', [pdf, pdf], { ...types, document: { count: 1, bytes: 4_999 } })).toEqual([
      'image max_items',
      'image.0 max_bytes',
      'image.1 max_bytes',
    ]);
    expect(checkPost({ ...limits, ...types }, { text: 'x', files: [pdf, picture] })).toEqual([
      { field: 'image', message: 'pictures and documents cannot be in one post', rule: 'mixed' },
    ]);
  });

  test('holds sounds against the limits of videos where they have none of their own', () => {
    const sound = { contentType: 'audio/mpeg', size: 1_001 };
    expect(faults('x', [sound], { mediaTypes: ['audio/*'] })).toEqual(['image.0 max_bytes']);
    expect(faults('x', [sound], { mediaTypes: ['audio/*'], audio: {} })).toEqual([]);
  });

  test('refuses a file that the network fetches and cannot reach, and says what the operator can do', () => {
    const fetching: Limits = { ...limits, fetches: ['video'] };
    const files = [{ kind: 'image' }, { kind: 'video' }, { kind: 'video', publicUrl: 'https://a.example/b' }] as const;
    expect([...checkReach(fetching, files)]).toEqual([
      { field: 'image.1', message: expect.stringContaining('NEXT_PUBLIC_BACKEND_URL'), rule: 'not_reachable' },
    ]);
    expect([...checkReach(limits, files)]).toEqual([]);
    expect(publicUrlOf(files[2])).toBe('https://a.example/b');
    expect(() => publicUrlOf(files[1])).toThrow('cannot be reached from outside');
  });

  test.each([
    ['weighted', '日本', 'characters, emoji and many scripts counted double (4)'],
    ['utf16', '😀😀', 'UTF-16 units (4)'],
    ['emoji-bytes', '😀', 'characters, each emoji counted by its bytes (4)'],
  ] as const)('counts %s as its network does, and says so', (unit, text, words) => {
    expect(checkPost({ ...limits, text: 3, unit }, { text, files: [] })).toMatchObject([
      { field: 'content', message: `the text is longer than 3 ${words}` },
    ]);
  });
});
