import {
  mailAddressOf,
  type Mentioned,
  mentionedBy,
  readContent,
  type WriteMention,
} from '../../../platform/content/index.ts';
import { findLinks } from './text.ts';

export interface Style {
  strong: boolean;
  em: boolean;
  u: boolean;
  href: string | undefined;
}
/** A stretch of one style without a line break; `text` is what a person reads. */
export interface Run extends Style {
  text: string;
  /** A mention as the network writes it, in the form of the whole text; `text` is what a person reads. */
  written?: string;
}
/** How the parts of a content are written. */
export interface Writing {
  mention?: WriteMention | undefined;
  /** Puts other addresses in the place of those of a plain text. */
  addresses?: ((text: string) => string) | undefined;
}
/** A line of a content. `depth`: of a list item, from 1. `number`: of an item of a numbered list. */
export interface TextLine {
  kind: 'text' | 'h1' | 'h2' | 'h3' | 'item';
  depth: number;
  number: number | undefined;
  /** Goes on with the block before it, after a line break in it. */
  goesOn: boolean;
  /** Empty lines of a plain text before it. */
  emptyBefore: number;
  runs: Run[];
}

const HEADINGS = new Set(['h1', 'h2', 'h3']);

/**
 * Reads a content, HTML of the editor or plain text, as lines of styled text. Lines without text are left out; those of
 * a plain text, whose blocks they divide, are counted (`emptyBefore`).
 */
export function readRichText(content: string, { mention, addresses }: Writing = {}): TextLine[] {
  const lines: (Omit<TextLine, 'emptyBefore'> & { row: number })[] = [];
  let isPlain = true;
  /** Line breaks so far. */
  let row = 0;
  const lists: { numbered: boolean; count: number }[] = [];
  const style = { strong: 0, em: 0, u: 0 };
  let href: string | undefined;
  /** A mail link that is open: networks link addresses of the web alone, so its address stands behind its text. */
  let mail: { address: string; shown: string } | undefined;
  let block: Pick<TextLine, 'kind' | 'depth' | 'number'> = { kind: 'text', depth: 0, number: undefined };
  let goesOn = false;
  let line: (typeof lines)[number] | undefined;
  /** Number of elements `span` that are open. */
  let spans = 0;
  /** A mention that is open: what it shows so far, and how many elements `span` are around it. */
  let mentioned: (Mentioned & { shown: string; depth: number }) | undefined;
  const isStyle = (name: string): name is keyof typeof style => name in style;
  const isInline = (name: string) => isStyle(name) || name === 'a' || name === 'span';

  function begin(next: typeof block) {
    block = next;
    goesOn = false;
    line = undefined;
  }
  function addRun(text: string, written?: string) {
    if (text === '' && written === undefined) return;
    if (!line) lines.push((line = { ...block, goesOn, row, runs: [] }));
    const given = { strong: style.strong > 0, em: style.em > 0, u: style.u > 0, href };
    const last = line.runs.at(-1);
    const isSame =
      last?.strong === given.strong && last.em === given.em && last.u === given.u && last.href === given.href;
    if (written !== undefined) line.runs.push({ text, written, ...given });
    else if (isSame && last.written === undefined) last.text += text;
    else line.runs.push({ text, ...given });
  }
  function endMention() {
    if (!mentioned) return;
    const { id, label, shown } = mentioned;
    mentioned = undefined;
    const written = mention?.({ id, label: label || shown });
    addRun(written === undefined ? shown : shown.trim() || label || id, written);
  }
  function endMail() {
    if (!mail || mail.shown.includes(mail.address)) return;
    const shown = mail.shown.trim() === '' ? mail.address : ` (${mail.address})`;
    if (mentioned) mentioned.shown += shown;
    else addRun(shown);
  }
  function breakLine() {
    row += 1;
    goesOn = line !== undefined || goesOn;
    line = undefined;
  }

  readContent(content, {
    text(_, plain) {
      if (mail) mail.shown += plain;
      if (mentioned) return void (mentioned.shown += plain.replace(/\s+/g, ' '));
      plain.split(/\r\n|[\n\r\u2028\u2029]/).forEach((piece, n) => {
        if (n > 0) breakLine();
        addRun(piece);
      });
    },
    open(name, attributes) {
      isPlain = false;
      if (!isInline(name)) endMention();
      if (isStyle(name)) style[name] += 1;
      else if (name === 'a') {
        const [[, link]] = attributes as [[string, string]]; // else it is not kept
        const address = mailAddressOf(link);
        if (address === undefined) href = link;
        else mail = { address, shown: '' };
      } else if (name === 'span') {
        const one = mention && mentionedBy(attributes);
        if (one && !mentioned) mentioned = { ...one, shown: '', depth: spans };
        spans += 1;
      } else if (name === 'ul' || name === 'ol') lists.push({ numbered: name === 'ol', count: 0 });
      else if (name === 'li') {
        const list = lists.at(-1);
        if (list) list.count += 1;
        begin({ kind: 'item', depth: Math.max(lists.length, 1), number: list?.numbered ? list.count : undefined });
      } else if (HEADINGS.has(name)) begin({ kind: name as TextLine['kind'], depth: 0, number: undefined });
      else if (name === 'p' && block.kind !== 'item') begin({ kind: 'text', depth: 0, number: undefined });
      else if (name === 'p' && line) breakLine();
    },
    close(name) {
      if (name === 'span') spans -= 1;
      if (name === 'span' ? spans === mentioned?.depth : !isInline(name)) endMention();
      if (isStyle(name)) style[name] -= 1;
      else if (name === 'a') {
        endMail();
        href = mail = undefined;
      } else if (name === 'ul' || name === 'ol') lists.pop();
      if (name === 'p' && block.kind === 'item') breakLine();
      else if (!isInline(name)) begin({ kind: 'text', depth: 0, number: undefined });
    },
    endLine() {
      isPlain = false;
      if (mentioned) mentioned.shown += ' ';
      else breakLine();
    },
    dropped() {},
  });
  const told = addresses ? lines.map((one) => ({ ...one, runs: one.runs.map(readdressed(addresses)) })) : lines;
  return told
    .map((one) => ({ ...one, runs: trimmed(one.runs) }))
    .filter(({ runs }) => runs.length > 0)
    .map(({ row: at, ...one }, n, kept) => ({
      ...one,
      emptyBefore: isPlain && n > 0 ? at - kept[n - 1]!.row - 1 : 0,
    }));
}

/** Other addresses for those that a run shows, and for the one that it leads to. */
const readdressed =
  (addresses: (text: string) => string) =>
  (run: Run): Run => {
    const { text, written, href } = run;
    const isWhole = href !== undefined && findLinks(href).next().value?.value === href;
    return { ...run, text: written === undefined ? addresses(text) : text, href: isWhole ? addresses(href) : href };
  };

/** Removes blanks at both ends of a line. */
function trimmed(runs: readonly Run[]): Run[] {
  const left = runs.map((run) => ({ ...run }));
  while (left[0] && (left[0].text = left[0].text.trimStart()) === '') left.shift();
  while (left.at(-1) && (left.at(-1)!.text = left.at(-1)!.text.trimEnd()) === '') left.pop();
  return left;
}

/** Answers the mark before a line: `- ` or `1. ` of an item, moved in with its depth. */
export const markOf = ({ kind, depth, number, goesOn }: TextLine): string => {
  if (kind !== 'item') return '';
  const indent = '   '.repeat(depth - 1);
  if (goesOn) return `${indent}   `;
  return `${indent}${number === undefined ? '- ' : `${number}. `}`;
};
