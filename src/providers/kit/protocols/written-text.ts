import { findLinks } from './text.ts';
import { type TextLine, markOf, readRichText, type Run, type Writing } from './rich-text.ts';
export type { Writing } from './rich-text.ts';

/** Puts signs around the text of a run, outside of its blanks, where markdown would not read them. */
function around(text: string, before: string, after = before): string {
  const body = text.trim();
  if (body === '') return text;
  const at = text.indexOf(body);
  return text.slice(0, at) + before + body + after + text.slice(at + body.length);
}

/** The signs that markdown reads as markup within a line, and those that it reads at the start of one. */
const escapeSigns = (text: string): string => text.replace(/[\\`*_[\]<>|~&]/g, '\\$&');
const escapeStart = (written: string): string =>
  written.replace(/^(?:[#+\-=]|\d{1,9}(?=[.)]))/, (start) => (/\d/.test(start) ? `${start}\\` : `\\${start}`));

/** Addresses are kept whole: only the signs that would end them are encoded. */
const addressOf = (href: string): string =>
  href.replace(/[\s<>()\\]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`);

/** Writes a text without markup; its links stay links. */
function markdownText(text: string): string {
  let at = 0;
  const parts: string[] = [];
  for (const { start, end, value } of findLinks(text)) {
    parts.push(escapeSigns(text.slice(at, start)), `<${value.replaceAll('\\', '%5C')}>`);
    at = end;
  }
  return parts.join('') + escapeSigns(text.slice(at));
}

function markdownRun({ text, strong, em, href, written: mention }: Run): string {
  let written = mention ?? markdownText(text);
  if (href !== undefined && href !== text && mention === undefined)
    written = around(escapeSigns(text), '[', `](${addressOf(href)})`);
  if (em) written = around(written, '*');
  return strong ? around(written, '**') : written;
}

const HASHES: Partial<Record<TextLine['kind'], string>> = { h1: '# ', h2: '## ', h3: '### ' };

/**
 * Writes a content as CommonMark. All signs of the text that could be markup are escaped; what is underlined, which
 * markdown has not, is plain.
 */
export function contentToMarkdown(content: string, writing?: Writing): string {
  const lines = readRichText(content, writing);
  return lines
    .map((line, n) => {
      const written =
        markOf(line) +
        (line.goesOn ? '' : (HASHES[line.kind] ?? '')) +
        escapeStart(line.runs.map(markdownRun).join(''));
      const next = lines[n + 1];
      if (!next) return written;
      if (next.emptyBefore > 0) return written + breakAfter(line, next);
      if (next.goesOn) return line.kind in HASHES ? `${written}\n\n` : `${written}  \n`;
      return written + (line.kind === 'item' && next.kind === 'item' ? '\n' : '\n\n');
    })
    .join('');
}

const escapeHtml = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' })[sign]!);

const isHeading = ({ kind }: TextLine): boolean => kind in HASHES;
/** Headings are strong where there are none. */
const styled = (line: TextLine): Run[] =>
  isHeading(line) ? line.runs.map((run) => ({ ...run, strong: true })) : line.runs;

function htmlRun({ text, strong, em, u, href, written: mention }: Run): string {
  let written = mention ?? escapeHtml(text);
  if (u) written = `<u>${written}</u>`;
  if (em) written = `<i>${written}</i>`;
  if (strong) written = `<b>${written}</b>`;
  return href === undefined || mention !== undefined ? written : `<a href="${escapeHtml(href)}">${written}</a>`;
}

/** The break after a line: an empty line around blocks, but not between items; those of a plain text as they are. */
function breakAfter(line: TextLine, next: TextLine | undefined): string {
  if (!next) return '';
  if (next.emptyBefore > 0) return '\n'.repeat(next.emptyBefore + 1);
  return next.goesOn || (line.kind === 'item' && next.kind === 'item') ? '\n' : '\n\n';
}

/** Writes a content in the few tags that Telegram has (`b i u a`), with line breaks and marks of items as text. */
export const contentToSimpleHtml = (content: string, writing?: Writing): string =>
  readRichText(content, writing)
    .map((line, n, lines) => markOf(line) + styled(line).map(htmlRun).join('') + breakAfter(line, lines[n + 1]))
    .join('');

/** The text that such HTML shows: what a network counts that reads the tags before. */
export const shownBySimpleHtml = (html: string): string =>
  html
    .replace(/<[^<>]*>/g, '')
    .replace(/&(?:amp|lt|gt|quot);/g, (entity) => ({ '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' })[entity]!);

/** The three signs that Slack wants as entities, and no others (docs.slack.dev/messaging/formatting-message-text). */
const escapeMrkdwn = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign]!);

/** Writes a text without styles; its links stay links, and none of their signs is read as a style. */
function mrkdwnText(text: string): string {
  let at = 0;
  const parts: string[] = [];
  for (const { start, end, value } of findLinks(text)) {
    parts.push(escapeMrkdwn(text.slice(at, start)), `<${mrkdwnAddress(value)}>`);
    at = end;
  }
  return parts.join('') + escapeMrkdwn(text.slice(at));
}
const mrkdwnAddress = (href: string): string => escapeMrkdwn(href.replaceAll('|', '%7C'));

const WORD = /[\p{L}\p{N}]/u;
/** Styles begin and end at the edge of a word only: inside of one their signs would be shown. */
function mrkdwnRun({ text, strong, em, href, written: mention }: Run, n: number, runs: readonly Run[]): string {
  let written = mention ?? mrkdwnText(text);
  if (href !== undefined && href !== text && mention === undefined)
    written = around(escapeMrkdwn(text), `<${mrkdwnAddress(href)}|`, '>');
  const before = Array.from(runs[n - 1]?.text ?? '').at(-1) ?? '';
  const [after = ''] = runs[n + 1]?.text ?? '';
  if ((WORD.test(before) && !/^\s/.test(text)) || (WORD.test(after) && !/\s$/.test(text))) return written;
  if (em) written = around(written, '_');
  return strong ? around(written, '*') : written;
}

/**
 * Writes a content as Slack's mrkdwn: `*strong*`, `_em_`, `<address|text>`, headings strong, marks of items as text. It
 * has no way to escape `*`, `_`, `~` and `` ` `` of the text itself.
 */
export const contentToMrkdwn = (content: string, writing?: Writing): string =>
  readRichText(content, writing)
    .map((line, n, lines) => markOf(line) + styled(line).map(mrkdwnRun).join('') + breakAfter(line, lines[n + 1]))
    .join('');

/** A style of a part of a text; `offset` and `length` in UTF-16 units. */
export interface Entity {
  type: 'bold' | 'italic' | 'underline' | 'text_link';
  offset: number;
  length: number;
  url?: string;
}

/** Writes a content as plain text, with its styles as entities beside it. */
export function contentToEntities(content: string): { text: string; entities: Entity[] } {
  const entities: Entity[] = [];
  let text = '';
  const add = (entity: Entity) => {
    const last = entities.findLast(({ type }) => type === entity.type);
    if (last && last.url === entity.url && last.offset + last.length === entity.offset) last.length += entity.length;
    else entities.push(entity);
  };
  readRichText(content).forEach((line, n, lines) => {
    text += markOf(line);
    for (const run of styled(line)) {
      const place = { offset: text.length, length: run.text.length };
      if (run.strong) add({ type: 'bold', ...place });
      if (run.em) add({ type: 'italic', ...place });
      if (run.u) add({ type: 'underline', ...place });
      if (run.href !== undefined) add({ type: 'text_link', ...place, url: run.href });
      text += run.text;
    }
    text += breakAfter(line, lines[n + 1]);
  });
  return { text, entities };
}
