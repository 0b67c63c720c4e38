import { invalidField } from '../kernel/index.ts';
import { mailAddressOf, readContent } from './read.ts';
export { markOutside } from './outside-marks.ts';
export { outsideLine, outsideText, storableJson } from './outside-text.ts';
export { decodePage, isHtml, readPageCard } from './page.ts';
export { isKeptLink, isKeptName, mailAddressOf, readContent } from './read.ts';

/** A stored content is no longer than one that is sent. */
const MOST_CHARACTERS = 100_000;
/** `<` and `&` of one body: each costs about as much as a hundred characters of text. */
const MOST_MARKUP = 20_000;

/** An entity without its end, as long as any is. */
const LONGEST = 42;
const BEGUN = /&#?[a-z0-9]*$/i;

const escaped = (value: string) => value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/**
 * A content as it is stored and shown: the elements of the editor with their few attributes, everything else dropped
 * and its text kept (T15). Text stays as it was sent, but for `<`, so every `<` of the result begins a tag that was
 * written here. A plain text stays a plain text.
 */
export function cleanContent(content: string): string {
  if (!content.includes('<')) return content;
  const parts: string[] = [];
  readContent(content, {
    text: (source) => parts.push(source.replaceAll('<', '&lt;')),
    open(name, attributes) {
      parts.push(`<${name}${attributes.map(([key, value]) => ` ${key}="${escaped(value)}"`).join('')}>`);
    },
    close: (name) => parts.push(`</${name}>`),
    endLine: () => parts.push('<br>'),
    dropped() {
      const last = parts.at(-1);
      if (last === undefined || !BEGUN.test(last.slice(-LONGEST))) return;
      const begun = last.lastIndexOf('&');
      // with what follows it would be an entity
      parts[parts.length - 1] = `${last.slice(0, begun)}&amp;${last.slice(begun + 1)}`;
    },
  });
  return parts.join('');
}

/** Counts the signs of a content that begin a tag or an entity: what reading it costs. */
export function markupIn(content: string): number {
  let count = 0;
  for (const sign of ['<', '&'])
    for (let at = content.indexOf(sign); at >= 0; at = content.indexOf(sign, at + 1)) count += 1;
  return count;
}

/** The contents of one body as they are stored; 400 for more markup than is read for one request. */
export function cleanContents(contents: readonly { field: string; content: string }[]): string[] {
  let markup = 0;
  return contents.map(({ field, content }) => {
    markup += markupIn(content);
    if (markup > MOST_MARKUP)
      throw invalidField(field, `more than ${MOST_MARKUP} tags and entities in one request`, 'too_big');
    const clean = cleanContent(content);
    if (clean.length > MOST_CHARACTERS)
      throw invalidField(
        field,
        `longer than ${MOST_CHARACTERS} characters when its signs \`<\` are written as entities`,
        'too_big',
      );
    return clean;
  });
}

const IN_LINE = new Set(['strong', 'em', 'u', 'span']);

/** Somebody whom a content mentions, as a client sent it. */
export interface Mentioned {
  id: string;
  label: string;
}
/** Writes a mention in the form of a network; undefined: it is shown as any other text. */
export type WriteMention = (mentioned: Mentioned) => string | undefined;

/** The mention that a `span` of a content begins; undefined where it names nobody. `label` may be empty. */
export function mentionedBy(attributes: readonly (readonly [name: string, value: string])[]): Mentioned | undefined {
  const given = new Map(attributes);
  const id = given.get('data-mention-id') ?? given.get('data-id') ?? '';
  return id === '' ? undefined : { id, label: given.get('data-mention-label') ?? given.get('data-label') ?? '' };
}

/**
 * The plain text of a content: paragraphs as lines, items as `- `, a link whose text hides it in brackets. A content
 * without tags stays as it is. A mention is its text, unless `mention` writes it.
 */
export function contentToText(content: string, mention?: WriteMention): string {
  if (markupIn(content) === 0) return content.trim();
  const parts: string[] = [];
  /** Nothing but blanks since the line began. */
  let fresh = true;
  let isPlain = true;
  let link: { href: string; from: number } | undefined;
  /** The elements `span` that are open. */
  const spans: { mentioned: Mentioned | undefined; from: number }[] = [];
  const add = (part: string) => {
    parts.push(part);
    const end = part.lastIndexOf('\n') + 1;
    fresh = (fresh || end > 0) && part.slice(end).trim() === '';
  };
  const startLine = () => {
    if (!fresh) add('\n');
  };
  readContent(content, {
    text: (_, plain) => add(plain),
    open(name, attributes) {
      isPlain = false;
      if (name === 'a') link = { href: attributes[0]![1], from: parts.length };
      else if (name === 'span') spans.push({ mentioned: mentionedBy(attributes), from: parts.length });
      else if (!IN_LINE.has(name)) startLine();
      if (name === 'li') parts.push('- '); // and the line goes on
    },
    close(name) {
      if (name === 'a') {
        const { href, from } = link!;
        const shown = parts.splice(from).join('');
        const mail = mailAddressOf(href);
        if (href.includes(shown)) add(mail ?? href);
        else add(mail !== undefined && shown.includes(mail) ? shown : `${shown} (${mail ?? href})`);
      } else if (name === 'span') {
        const { mentioned, from } = spans.pop()!;
        if (!mention || !mentioned) return;
        const shown = parts.slice(from).join('');
        const written = mention({ ...mentioned, label: mentioned.label || shown });
        if (written === undefined) return;
        parts.length = from;
        add(written);
      } else if (name === 'li') startLine();
      else if (!IN_LINE.has(name)) add('\n');
    },
    endLine() {
      isPlain = false;
      add('\n');
    },
    dropped() {},
  });
  const text = parts.join('');
  if (isPlain) return text.trim();
  return text
    .replace(/(?<![ \t])[ \t]+\n/g, '\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** Answers the text of any HTML, a space in place of each tag: for comparisons, not for people. */
export function taglessText(html: string): string {
  const parts: string[] = [];
  const space = () => parts.push(' ');
  readContent(html, {
    text: (_, plain) => parts.push(plain),
    open: space,
    close: space,
    endLine: space,
    dropped: space,
  });
  return parts.join('');
}

/**
 * Answers what any HTML shows to people, line by line: tags inside of a line say nothing, paragraphs have an empty line
 * between them. A text without tags keeps its white space.
 */
export function shownText(html: string): string {
  const isPlain = !html.includes('<');
  const parts: string[] = [];
  const block = (name: string) => {
    if (name !== 'a' && !IN_LINE.has(name)) parts.push(name === 'p' ? '\n\n' : '\n');
  };
  readContent(html, {
    text: (_, plain) => parts.push(isPlain ? plain : plain.replace(/\s+/g, ' ')),
    open: block,
    close: block,
    endLine: () => parts.push('\n'),
    dropped() {},
  });
  const text = parts.join('');
  if (isPlain) return text.trim();
  const lines = text.split('\n').map((line) => line.trim());
  return lines
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}
