import { byteLength, type Counting, findLinks, graphemes, textLength } from './text.ts';

/**
 * The unit in which a network counts. `characters`: code points. `utf16`: UTF-16 code units. `emoji-bytes`: code points,
 * an emoji as its UTF-8 bytes (Threads). `weighted`: as X does.
 */
export type TextUnit = 'graphemes' | 'characters' | 'bytes' | 'utf16' | 'emoji-bytes' | 'weighted';

/** The units in words for people. */
export const UNIT_WORDS: Readonly<Record<TextUnit, string>> = {
  graphemes: 'graphemes',
  characters: 'characters',
  bytes: 'bytes',
  utf16: 'UTF-16 units',
  'emoji-bytes': 'characters, each emoji counted by its bytes',
  weighted: 'characters, emoji and many scripts counted double',
};

/** A grapheme that people see as an emoji, also one whose sequence leaves out a variation selector. */
const EMOJI =
  /^(?:\p{Regional_Indicator}{2}|[#*0-9]\uFE0F?\u20E3|\p{Emoji_Presentation}|\p{Extended_Pictographic}(?:\uFE0F|\u200D|\p{Emoji_Modifier}))/u;
/** Most texts have none: they are not cut into graphemes. */
const HAS_EMOJI = /[\p{Extended_Pictographic}\p{Regional_Indicator}\u20E3]/u;

/** The emoji of a text, and what is left of it without them. */
function partEmoji(text: string): { emoji: string[]; rest: string } {
  if (!HAS_EMOJI.test(text)) return { emoji: [], rest: text };
  const emoji: string[] = [];
  const rest: string[] = [];
  for (const { segment } of graphemes.segment(text)) (EMOJI.test(segment) ? emoji : rest).push(segment);
  return { emoji, rest: rest.join('') };
}

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
const ENDINGS = new Set(
  [
    'com org net edu gov mil int info biz name pro app dev blog shop store online site tech xyz club news',
    'live world cloud page design agency space website link fun art museum travel jobs mobi tel asia cat eco',
    'one today life social email media studio digital network systems company solutions services academy',
    'events video chat games team wiki zone',
  ].flatMap((line) => line.split(' ')),
);
/** A name that may be a domain, its ending, and a path. */
const DOMAIN =
  /(?<![\p{L}\p{N}_@#$./-])(?:[a-z0-9][a-z0-9_-]{0,62}\.){1,10}([a-z]{2,13})(?![\p{L}\p{N}@-])(\/[^\s<>"'`]*)?/giu;
/** Two letters are a country: X links `co` and `tv` alone, others with a path. */
const isLinked = (ending: string, path: string | undefined): boolean =>
  ENDINGS.has(ending) || ending === 'co' || ending === 'tv' || (ending.length === 2 && path !== undefined);

const isLight = (codePoint: number): boolean =>
  WEIGHTED.light.some(([first, last]) => codePoint >= first && codePoint <= last);

/** Counts a text without links in hundredths. */
function weightOf(text: string): number {
  const { emoji, rest } = partEmoji(text);
  let weight = emoji.length * WEIGHTED.other;
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

/** The signs at the end of a path that end a sentence, and are no part of a link. */
function endSigns(path: string): string {
  let end = path.length;
  while (end > 1 && '.,;:!?)'.includes(path[end - 1]!)) end -= 1;
  return path.slice(end);
}

function weightWithDomains(text: string): number {
  let links = 0;
  const rest = text.replace(DOMAIN, (whole, ending: string, path: string | undefined) => {
    if (!isLinked(ending.toLowerCase(), path)) return whole;
    links += 1;
    return endSigns(path ?? '');
  });
  return weightOf(rest) + links * WEIGHTED.link * WEIGHTED.scale;
}

/** Counts code points, an emoji as its UTF-8 bytes. */
function emojiByteLength(text: string): number {
  const { emoji, rest } = partEmoji(text);
  return Array.from(rest).length + byteLength(emoji.join(''));
}

/** Counts a text as a network does. Graphemes, which are expensive, are counted up to `most`. */
export function countText(
  text: string,
  { unit, ...counting }: Omit<Counting, 'unit'> & { unit: TextUnit },
  most?: number,
): number {
  if (unit === 'weighted') return weightedLength(text);
  if (unit === 'emoji-bytes') return emojiByteLength(text);
  if (unit === 'utf16') return text.length;
  return textLength(text, { ...counting, unit }, most);
}
