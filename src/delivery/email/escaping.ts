const LENGTH = 120;
/** Control characters, and those that turn the direction of what follows. */
const INVISIBLE = /[\p{Cc}\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069\u2028\u2029\uFEFF]+/gu;
/**
 * Mail programs make links of texts by themselves, and letters of `=?`: where either would begin, a joiner that nobody
 * sees goes in between.
 */
const unlinked = (text: string) => text.replace(/([.。．｡:/@])(?=\S)/gu, '$1\u2060').replaceAll('=?', '=\u2060?');

/** A text that people gave, on one line, as nothing but text: it can neither break a header nor become a link. */
export function plain(text: string): string {
  const line = text.replace(INVISIBLE, ' ').replace(/\s+/gu, ' ').trim();
  const letters = [...line];
  return unlinked(letters.length > LENGTH ? `${letters.slice(0, LENGTH - 1).join('')}…` : line);
}

/** The same of a text with lines. */
export const plainLines = (text: string): string[] =>
  text
    .split(/\r\n|\r|\n/)
    .slice(0, 100)
    .map((line) => unlinked(line.replace(INVISIBLE, ' ').slice(0, 2_000)));

/** A sentence of ours around texts that people gave. */
export const say = (ours: TemplateStringsArray, ...theirs: string[]): string =>
  String.raw({ raw: ours }, ...theirs.map(plain));

/** An instant for people. */
export const when = (iso: string): string =>
  new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC', hour12: false }).format(
    new Date(iso),
  ) + ' UTC';

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
export const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (one) => ENTITIES[one]!);
