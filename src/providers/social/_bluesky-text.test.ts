import { expect, test } from '@jest/globals';
import { facetsOf } from './_bluesky-text.ts';

const tagsOf = async (text: string) =>
  (await facetsOf(text, async () => undefined)).map(({ features: [feature] }) => feature['tag']);
/** One grapheme of six letters, which are 18 bytes. */
const SYLLABLE = '\u1100\u1100\u1161\u1161\u11a8\u11a8';

// app.bsky.richtext.facet#tag: at most 64 graphemes and 640 bytes
test.each([
  ['64 letters', 'a'.repeat(64), true],
  ['65 letters', 'a'.repeat(65), false],
  ['64 letters outside the basic plane, which are 128 UTF-16 units', '𝒶'.repeat(64), true],
  ['64 letters of three bytes', '字'.repeat(64), true],
  ['65 letters of three bytes', '字'.repeat(65), false],
  ['35 syllables of 18 bytes', SYLLABLE.repeat(35), true],
  ['36 syllables of 18 bytes', SYLLABLE.repeat(36), false],
])('facetsOf links a hashtag of at most 64 graphemes and 640 bytes: %s', async (_, tag, linked) =>
  expect(await tagsOf(`see #${tag} now`)).toEqual(linked ? [tag] : []),
);
