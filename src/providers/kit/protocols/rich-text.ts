import { readContent } from '../../../platform/content/index.ts';

export interface Style {
  strong: boolean;
  em: boolean;
  u: boolean;
  href: string | undefined;
}
/** A stretch of one style without a line break; `text` is what a person reads. */
export interface Run extends Style {
  text: string;
}
/** A line of a content. `depth`: of a list item, from 1. `number`: of an item of a numbered list. */
export interface Line {
  kind: 'text' | 'h1' | 'h2' | 'h3' | 'item';
  depth: number;
  number: number | undefined;
  /** Goes on with the block before it, after a line break in it. */
  goesOn: boolean;
  runs: Run[];
}

const HEADINGS = new Set(['h1', 'h2', 'h3']);

/** Reads a content, HTML of the editor or plain text, as lines of styled text; lines without text are left out. */
export function readRichText(content: string): Line[] {
  const lines: Line[] = [];
  const lists: { numbered: boolean; count: number }[] = [];
  const style = { strong: 0, em: 0, u: 0 };
  let href: string | undefined;
  let block: Pick<Line, 'kind' | 'depth' | 'number'> = { kind: 'text', depth: 0, number: undefined };
  let goesOn = false;
  let line: Line | undefined;
  const isStyle = (name: string): name is keyof typeof style => name in style;

  function begin(next: typeof block) {
    block = next;
    goesOn = false;
    line = undefined;
  }
  function addRun(text: string) {
    if (text === '') return;
    if (!line) lines.push((line = { ...block, goesOn, runs: [] }));
    const given = { strong: style.strong > 0, em: style.em > 0, u: style.u > 0, href };
    const last = line.runs.at(-1);
    const isSame =
      last?.strong === given.strong && last.em === given.em && last.u === given.u && last.href === given.href;
    if (isSame) last.text += text;
    else line.runs.push({ text, ...given });
  }
  function breakLine() {
    goesOn = line !== undefined || goesOn;
    line = undefined;
  }

  readContent(content, {
    text(_, plain) {
      plain.split(/\r\n|[\n\r\u2028\u2029]/).forEach((piece, n) => {
        if (n > 0) breakLine();
        addRun(piece);
      });
    },
    open(name, attributes) {
      if (isStyle(name)) style[name] += 1;
      else if (name === 'a') href = attributes[0]?.[1];
      else if (name === 'ul' || name === 'ol') lists.push({ numbered: name === 'ol', count: 0 });
      else if (name === 'li') {
        const list = lists.at(-1);
        if (list) list.count += 1;
        begin({ kind: 'item', depth: Math.max(lists.length, 1), number: list?.numbered ? list.count : undefined });
      } else if (HEADINGS.has(name)) begin({ kind: name as Line['kind'], depth: 0, number: undefined });
      else if (name === 'p' && block.kind !== 'item') begin({ kind: 'text', depth: 0, number: undefined });
      else if (name === 'p' && line) breakLine();
    },
    close(name) {
      if (isStyle(name)) style[name] -= 1;
      else if (name === 'a') href = undefined;
      else if (name === 'ul' || name === 'ol') lists.pop();
      if (name === 'p' && block.kind === 'item') breakLine();
      else if (!isStyle(name) && name !== 'a' && name !== 'span') begin({ kind: 'text', depth: 0, number: undefined });
    },
    endLine: breakLine,
    dropped() {},
  });
  return lines.map((one) => ({ ...one, runs: trimmed(one.runs) })).filter(({ runs }) => runs.length > 0);
}

/** Removes blanks at both ends of a line. */
function trimmed(runs: readonly Run[]): Run[] {
  const left = runs.map((run) => ({ ...run }));
  while (left[0] && (left[0].text = left[0].text.trimStart()) === '') left.shift();
  while (left.at(-1) && (left.at(-1)!.text = left.at(-1)!.text.trimEnd()) === '') left.pop();
  return left;
}

/** Answers the mark before a line: `- ` or `1. ` of an item, moved in with its depth. */
export const markOf = ({ kind, depth, number, goesOn }: Line): string => {
  if (kind !== 'item') return '';
  const indent = '   '.repeat(depth - 1);
  if (goesOn) return `${indent}   `;
  return `${indent}${number === undefined ? '- ' : `${number}. `}`;
};
