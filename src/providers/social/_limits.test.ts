import { describe, expect, test } from '@jest/globals';
import type { Limits } from './_contract.ts';
import { limitsOfItem, takesThread } from './_item-limits.ts';
import { checkPost, checkReach, type FileFacts, isConverted, publicUrlOf } from './_limits.ts';

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

  test.each<[string, Partial<Limits>, string, string | undefined]>([
    ['links', { links: 1 }, 'a https://a.example b', undefined],
    ['links', { links: 1 }, 'https://a.example https://b.example', 'max_links'],
    ['hashtags', { hashtags: 2 }, '#one #two #3', undefined],
    ['hashtags', { hashtags: 2 }, '#one #two #three', 'max_hashtags'],
    ['mentions', { mentions: 1 }, '@ann a@b.example', undefined],
    ['mentions', { mentions: 1 }, '@ann @ben@b.example', 'max_mentions'],
    ['none of them', { links: 0, hashtags: 0, mentions: 0 }, 'plain & simple', undefined],
    ['hashtags of a link', { hashtags: 0 }, 'https://a.example/#part', undefined],
  ])('bounds the number of %s in a text: %j %s', (_, more, text, rule) => {
    expect(faults(text, [], { text: 100, textBytes: 100, ...more })).toEqual(rule ? [`content ${rule}`] : []);
  });

  test('counts links, hashtags and mentions in the plain text, where the other has markup', () => {
    const more = { ...limits, text: 100, textBytes: 100, mentions: 0 };
    expect(checkPost(more, { text: '<@U1>', plain: '@ann', files: [] })).toEqual([
      { field: 'content', message: 'the text has more than 0 mentions (1)', rule: 'max_mentions' },
    ]);
  });

  test('bounds the length of a text from below, and takes none where files stand for it', () => {
    const least = { textLeast: 3, media: 1 };
    expect(faults('', [picture], least)).toEqual([]);
    expect(faults('xyz', [picture], least)).toEqual([]);
    expect(checkPost({ ...limits, ...least }, { text: 'xy', files: [picture] })).toEqual([
      { field: 'content', message: 'the text is shorter than 3 characters (2)', rule: 'min_length' },
    ]);
  });

  test('counts the text of settings with that of the post, and names them', () => {
    const counting = { ...limits, countedSettings: ['spoiler_text', 'note'] };
    const judge = (settings: Record<string, unknown>) =>
      checkPost(counting, { text: 'x'.repeat(6), files: [], settings });
    expect(judge({ spoiler_text: 'cats', note: '' })).toEqual([]);
    expect(judge({ spoiler_text: 5, note: null, other: 'x'.repeat(100) })).toEqual([]);
    expect(judge({ spoiler_text: 'cats!' })).toEqual([
      {
        field: 'content',
        message: 'the text is longer than 10 characters (11, with spoiler_text)',
        rule: 'max_length',
      },
    ]);
    expect(judge({ spoiler_text: '😀😀', note: '😀😀' })).toEqual([
      {
        field: 'content',
        message: 'the text is longer than 20 bytes (22, with spoiler_text, note)',
        rule: 'max_length',
      },
    ]);
  });

  test('takes kinds that count as one beside each other, and others with their own kind only', () => {
    const sound = { contentType: 'audio/mpeg', size: 1 };
    const album = { oneKind: ['image', 'video'], mediaTypes: ['image/*', 'video/*', 'audio/*'] } as const;
    expect(faults('', [picture, clip], album)).toEqual([]);
    expect(faults('', [sound, sound], { ...album, audio: {} })).toEqual([]);
    expect(faults('', [picture, clip, sound], { ...album, audio: {} })).toEqual(['image mixed']);
  });

  test('bounds the files beside one of a kind', () => {
    const cover: Partial<Limits> = { oneKind: ['image', 'video'], video: { beside: 1 } };
    expect(faults('', [clip, picture], cover)).toEqual([]);
    expect(faults('', [picture, picture, picture], cover)).toEqual([]);
    expect(faults('', [picture, clip, picture], cover)).toEqual(['image mixed']);
  });

  test('judges a GIF as it is where it is sent so, and else as a picture', () => {
    const gif = { ...picture, contentType: 'image/gif' };
    const asItIs = { mediaTypes: ['image/jpeg', 'image/gif'], animated: { bytes: 10, beside: 0 } };
    expect(faults('', [gif], asItIs)).toEqual([]);
    expect(faults('', [{ ...gif, size: 11 }], asItIs)).toEqual(['image.0 max_bytes']);
    expect(faults('', [gif, picture], asItIs)).toEqual(['image mixed']);
    expect(faults('', [{ ...gif, size: 11 }, picture])).toEqual([]);
    expect(isConverted({ ...limits, ...asItIs, image: { bytes: 5 } }, gif)).toBe(false);
  });

  test('asks for the chosen picture of a video', () => {
    const chosen = { video: { thumbnail: true } } as const;
    expect(faults('', [{ ...clip, thumbnail: {} }, picture], { ...chosen, oneKind: ['image', 'video'] })).toEqual([]);
    expect(faults('', [clip], chosen)).toEqual(['image.0 thumbnail']);
  });

  test('takes a shape at the limit that no decimal number is', () => {
    const shape = { image: { ratio: [1 / 3, 3] as const } };
    expect(faults('', [{ ...picture, width: 500, height: 1_500 }], shape)).toEqual([]);
    expect(
      checkPost({ ...limits, ...shape }, { text: '', files: [{ ...picture, width: 499, height: 1_500 }] }),
    ).toEqual([{ field: 'image.0', message: 'width by height is less than 0.333 (0.333)', rule: 'ratio' }]);
  });

  test('allows a shorter text beside files', () => {
    expect(faults('xxxxxx', [], { textWithFiles: 5 })).toEqual([]);
    expect(faults('xxxxx', [picture], { textWithFiles: 5 })).toEqual([]);
    expect(faults('xxxxxx', [picture], { textWithFiles: 5 })).toEqual(['content max_length']);
  });

  test('asks for a file where the network needs one', () => {
    expect(faults('x', [], { needsMedia: true })).toEqual(['image required']);
    expect(faults('x', [undefined], { needsMedia: true })).toEqual([]);
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

describe('limitsOfItem', () => {
  const story = { media: 1, needsMedia: true, image: { ratio: [0.5, 0.6] as const } };
  const typed: Limits = { ...limits, needsMedia: true, byType: { setting: 'post_type', limits: { story } } };

  test('are those of the type that a setting names, and else those of the network', () => {
    const of = (settings: Record<string, unknown>) =>
      limitsOfItem({ limits: typed, threads: 'reply' }, settings, false);
    expect(of({ post_type: 'story' })).toEqual({ ...limits, ...story });
    for (const settings of [
      {},
      { post_type: 'post' },
      { post_type: 'toString' },
      { post_type: null },
      { post_type: { toString: 1 } },
      { post_type: ['story'] },
      { other: 'story' },
    ])
      expect(of(settings)).toEqual({ ...limits, needsMedia: true });
    expect(limitsOfItem({ limits, threads: 'none' }, { post_type: 'story' }, false)).toEqual(limits);
  });

  test('are those of a type that stands inside of other settings', () => {
    const inside: Limits = { ...limits, byType: { setting: 'target.0.type', limits: { link: { media: 0 } } } };
    const of = (settings: Record<string, unknown>) =>
      limitsOfItem({ limits: inside, threads: 'none' }, settings, false).media;
    expect(of({ target: [{ type: 'link' }] })).toBe(0);
    for (const target of [undefined, null, 'link', [], [null], [{ type: 'self' }]]) expect(of({ target })).toBe(4);
  });

  test('say whether a post can have a thread', () => {
    const article: Limits = { ...limits, byType: { setting: 'type', limits: { article: { single: true } } } };
    const takes = (threads: 'reply' | 'none', type?: string) => takesThread({ limits: article, threads }, { type });
    expect([takes('reply'), takes('reply', 'article'), takes('none')]).toEqual([true, false, false]);
  });

  test('say that a post which takes no comments has no thread of them, and one of replies', () => {
    const commentsUnless = [{ type: 'article', 'more.state': 'draft' }];
    const takes = (threads: 'comment' | 'reply', state: string, type = 'article') =>
      takesThread({ limits, threads, commentsUnless }, { type, more: { state } });
    expect([takes('comment', 'draft'), takes('reply', 'draft')]).toEqual([false, true]);
    expect([takes('comment', 'public'), takes('comment', 'draft', 'post')]).toEqual([true, true]);
  });

  test('of later items need no media', () => {
    expect(limitsOfItem({ limits: typed, threads: 'reply' }, { post_type: 'story' }, true)).toEqual({
      ...limits,
      ...story,
      needsMedia: false,
    });
  });

  test('of comments are without those of a type, and of the length of a comment', () => {
    const comments = { limits: typed, threads: 'comment', commentLimits: { text: 7 } } as const;
    expect(limitsOfItem(comments, { post_type: 'story' }, true)).toEqual({ ...limits, text: 7, needsMedia: false });
    expect(limitsOfItem({ ...comments, commentLimits: undefined }, {}, true).text).toBe(10);
    expect(limitsOfItem(comments, {}, false).text).toBe(10);
  });
});

test.each<[string, Partial<FileFacts>, boolean]>([
  ['a picture that fits', {}, false],
  ['a picture of another type', { contentType: 'image/webp' }, true],
  ['a picture with too many bytes', { size: 1_001 }, true],
  ['a picture that is too wide', { width: 2_001 }, true],
  ['a video', { contentType: 'video/webm', size: 10 ** 9 }, false],
])('isConverted of %s', (_, more, expected) => {
  const bounds = { ...limits, image: { bytes: 1_000, side: [100, 2_000] as const } };
  expect(isConverted(bounds, { ...picture, ...more })).toBe(expected);
});
