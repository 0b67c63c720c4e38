import { byteLength, findLinks, textLength } from './text.ts';

/**
 * The unit in which a network counts. `characters`: code points. `utf16`: UTF-16 code units. `emoji-bytes`: code points,
 * an emoji as its UTF-8 bytes (Threads). `weighted`: as X does.
 */
export type TextUnit = 'graphemes' | 'characters' | 'bytes' | 'utf16' | 'emoji-bytes' | 'weighted';

/** Emoji as people see them, also those whose sequence leaves out a variation selector. */
const EMOJI =
  /\p{RGI_Emoji}|[#*0-9]\uFE0F?\u20E3|\p{Extended_Pictographic}\uFE0F?(?:\u200D\p{Extended_Pictographic}\uFE0F?)+/gv;

/** The published configuration of X, version 3: a link is as long as one of t.co. */
const WEIGHTED = {
  scale: 100,
  other: 200,
  link: 23,
  /** Code points of weight 100. */
  light: [
    [0, 4351],
    [8192, 8205],
    [8208, 8223],
    [8242, 8247],
  ],
} as const;

/** Domains that X links without a scheme, by their most frequent endings: it takes every one that is registered. */
const ENDINGS =
  'com|org|net|edu|gov|mil|int|info|biz|name|pro|app|dev|blog|shop|store|online|site|tech|xyz|club|news|live|world|cloud|page|design|agency|space|website|link|fun|art|museum|travel|jobs|mobi|tel|asia|cat|eco|one|today|life|social|email|media|studio|digital|network|systems|company|solutions|services|academy|events|video|chat|games|team|wiki|zone';
const DOMAIN = new RegExp(
  `(?<![\\p{L}\\p{N}_@#$./-])(?:[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?\\.){1,10}(?:${ENDINGS}|[a-z]{2}(?=/)|(?:co|tv)(?![\\p{L}\\p{N}]))(?![\\p{L}\\p{N}@-])(?:/(?:[^\\s<>"'\`]*[^\\s<>"'\`.,;:!?)])?)?`,
  'giu',
);

const isLight = (codePoint: number): boolean =>
  WEIGHTED.light.some(([first, last]) => codePoint >= first && codePoint <= last);

/** Counts a text without links in hundredths. */
function weightOf(text: string): number {
  let emoji = 0;
  const rest = text.replace(EMOJI, () => {
    emoji += 1;
    return '';
  });
  let weight = emoji * WEIGHTED.other;
  for (const sign of rest) weight += isLight(sign.codePointAt(0)!) ? WEIGHTED.scale : WEIGHTED.other;
  return weight;
}

/**
 * Counts a text as X does: links as 23, emoji and most scripts outside the Latin, Greek, Cyrillic, Hebrew and Arabic
 * ones as 2.
 */
function weightedLength(given: string): number {
  const text = given.normalize('NFC');
  let weight = 0;
  let at = 0;
  for (const { start, end } of findLinks(text)) {
    weight += weightWithDomains(text.slice(at, start)) + WEIGHTED.link * WEIGHTED.scale;
    at = end;
  }
  return Math.floor((weight + weightWithDomains(text.slice(at))) / WEIGHTED.scale);
}

function weightWithDomains(text: string): number {
  let links = 0;
  const rest = text.replace(DOMAIN, () => {
    links += 1;
    return '';
  });
  return weightOf(rest) + links * WEIGHTED.link * WEIGHTED.scale;
}

/** Counts code points, an emoji as its UTF-8 bytes. */
const emojiByteLength = (text: string): number =>
  Array.from(text.replace(EMOJI, (emoji) => 'x'.repeat(byteLength(emoji)))).length;

/** Counts a text as a network does. Graphemes, which are expensive, are counted up to `most`. */
export function countText(text: string, { unit, linkLength }: { unit: TextUnit; linkLength?: number }, most?: number) {
  if (unit === 'weighted') return weightedLength(text);
  if (unit === 'emoji-bytes') return emojiByteLength(text);
  if (unit === 'utf16') return text.length;
  return textLength(text, { unit, ...(linkLength !== undefined && { linkLength }) }, most);
}
