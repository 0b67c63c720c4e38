import { taglessText } from '../../../platform/content/index.ts';

/**
 * A link, mention or hashtag in a plain text; `start` and `end` are UTF-16 positions, `value` is without `@` and `#`.
 */
export interface Found {
  kind: 'link' | 'mention' | 'tag';
  value: string;
  start: number;
  end: number;
}

export const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** Counts the graphemes of a text, up to `most`. */
export function countGraphemes(text: string, most = Number.POSITIVE_INFINITY): number {
  let count = 0;
  for (const _ of graphemes.segment(text)) if ((count += 1) >= most) break;
  return count;
}

const encoder = new TextEncoder();
export const byteLength = (text: string): number => encoder.encode(text).length;

const LINK = /https?:\/\/[^\s<>"'`]+/giu;
/** Cuts punctuation that ends a sentence from a link, and closing brackets that were not opened in it. */
function trimLink(link: string): string {
  let unopened = link.split(')').length - link.split('(').length;
  let end = link.length;
  for (;;) {
    const last = link[end - 1]!;
    if (last === ')' && unopened > 0) unopened -= 1;
    else if (!/[.,;:!?'"…]/.test(last)) return link.slice(0, end);
    end -= 1;
  }
}

/** Merges two lists of finds, in order; of the second, those that overlap the first are left out. */
function besides(before: readonly Found[], more: readonly Found[]): Found[] {
  let next = 0;
  const free = more.filter(({ start, end }) => {
    while (next < before.length && before[next]!.end <= start) next += 1;
    return next === before.length || before[next]!.start >= end;
  });
  return [...before, ...free].toSorted((a, b) => a.start - b.start);
}

/** Yields the links of a text in order, so that a caller can stop early. */
export function* findLinks(text: string): Generator<Found> {
  for (const match of text.matchAll(LINK)) {
    const value = trimLink(match[0]);
    if (URL.canParse(value)) yield { kind: 'link', value, start: match.index, end: match.index + value.length };
  }
}

/**
 * Finds links (`http…`), mentions (`@name`, `@name.example`, `@name@example`) and hashtags, in order, none inside
 * another.
 */
export function findInText(text: string): Found[] {
  let found = [...findLinks(text)];
  let more: Found[] = []; // of one kind, in order
  const add = (kind: Found['kind'], start: number, whole: string, value: string) =>
    more.push({ kind, value, start, end: start + whole.length });
  const take = () => {
    found = besides(found, more);
    more = [];
  };
  for (const match of text.matchAll(
    /(?<![\p{L}\p{N}_@/])@([\p{L}\p{N}_](?:[\p{L}\p{N}_.-]*[\p{L}\p{N}_])?(?:@[\p{L}\p{N}][\p{L}\p{N}.-]*[\p{L}\p{N}](?::\d+)?)?)/gu,
  ))
    add('mention', match.index, match[0], match[1]!);
  take();
  for (const match of text.matchAll(/(?<![\p{L}\p{N}_&/])#([\p{L}\p{N}_]*[\p{L}_][\p{L}\p{N}_]*)/gu))
    add('tag', match.index, match[0], match[1]!);
  take();
  return found;
}

/** The way in which a network counts a text. */
export interface Counting {
  unit: 'graphemes' | 'characters' | 'bytes';
  linkLength?: number;
  shortMentions?: true;
}

/** Writes a text as it is counted: each link at its length, of a mention `@name@host` only `@name`. */
function counted(text: string, { linkLength, shortMentions }: Counting): string {
  if (linkLength === undefined && !shortMentions) return text;
  const standIn = ({ kind, value, start, end }: Found): string => {
    if (kind === 'link' && linkLength !== undefined) return 'x'.repeat(linkLength);
    return kind === 'mention' && shortMentions ? `@${value.replace(/@.*/s, '')}` : text.slice(start, end);
  };
  let at = 0;
  const parts: string[] = [];
  for (const found of shortMentions ? findInText(text) : findLinks(text)) {
    parts.push(text.slice(at, found.start), standIn(found));
    at = found.end;
  }
  return parts.join('') + text.slice(at);
}

/** Counts a text as a network does. Graphemes, which are expensive, are counted up to `most`. */
export function textLength(text: string, counting: Counting, most?: number): number {
  const whole = counted(text, counting);
  if (counting.unit === 'bytes') return byteLength(whole);
  return counting.unit === 'graphemes' ? countGraphemes(whole, most) : Array.from(whole).length;
}

/** Removes all that servers change when they show a text: white space, case, link prefixes, the host of a mention. */
const bare = (text: string): string =>
  text
    .normalize('NFC')
    .toLowerCase()
    .replace(/(@[\w.-]+)@[\w.:-]+/g, '$1')
    .replace(/https?:\/\/(?:www\.)?/g, '')
    .replace(/[\s\u200B\u2026]+/g, '');

/**
 * Answers whether a provider's HTML shows this plain text, apart from tags, entities, white space, link prefixes and
 * the host of a mention.
 */
export function sameText(html: string, plain: string): boolean {
  const seen = bare(taglessText(html));
  return seen === bare(plain) || seen === bare(taglessText(plain)); // some servers do not escape `<`
}

/** A text whose addresses have no query and no fragment: what some servers change, or sign anew each time. */
export const withoutQueries = (text: string): string =>
  text.replace(/\S+/g, (word) => (word.includes('://') ? word.replace(/[?#][^)\]>]*/g, '') : word));
