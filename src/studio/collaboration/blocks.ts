import { isKeptName, mentionedBy, readContent } from '../../platform/content/index.ts';

// A content as the blocks of an editor, and back. HTML that was written here comes back byte by byte.

export interface Marks {
  /** Address of the web. */
  link?: string | undefined;
  bold?: boolean | undefined;
  italic?: boolean | undefined;
  underline?: boolean | undefined;
}
export type Inline =
  | { kind: 'text'; text: string; marks: Marks }
  | { kind: 'break' }
  /** `shown`: its text, where it is not `@` and the label. */
  | { kind: 'mention'; id: string; label: string; shown?: string | undefined };
export interface ListBlock {
  kind: 'list';
  ordered: boolean;
  items: Block[][];
}
export type Block =
  | { kind: 'paragraph'; inline: Inline[] }
  | { kind: 'heading'; level: number; inline: Inline[] }
  | ListBlock;

/** Lists inside one another; those further in lie flat in their item. */
const MOST_LISTS = 10;

export const sameMarks = (a: Marks, b: Marks): boolean =>
  a.link === b.link &&
  (a.bold ?? false) === (b.bold ?? false) &&
  (a.italic ?? false) === (b.italic ?? false) &&
  (a.underline ?? false) === (b.underline ?? false);

/** The text that a mention shows unless it says another. */
const shownOf = ({ id, label }: { id: string; label: string }): string => `@${(label || id).replace(/^@/, '')}`;

/** Characters that no content can hold (NUL, halves of a pair) are left out. */
export const storable = (text: string): string => text.replaceAll('\0', '').toWellFormed();

/** Runs of one form are one run; empty ones are none. */
function joined(inline: readonly Inline[]): Inline[] {
  const parts: Inline[] = [];
  for (const one of inline) {
    const last = parts.at(-1);
    if (one.kind !== 'text') parts.push(one);
    else if (one.text === '') continue;
    else if (last?.kind === 'text' && sameMarks(last.marks, one.marks)) last.text += one.text;
    else parts.push({ ...one });
  }
  return parts;
}

/** What a list is when it lies too deep: the blocks of its items. */
const flat = ({ items }: ListBlock): Block[] =>
  items.flat().flatMap((block) => (block.kind === 'list' ? flat(block) : [block]));

/** Blocks in the one form that HTML and documents are compared by. */
export const normal = (blocks: readonly Block[], depth = 0): Block[] =>
  blocks.flatMap((block): Block[] => {
    if (block.kind !== 'list') return [{ ...block, inline: joined(block.inline) }];
    if (block.items.length === 0) return [];
    if (depth === MOST_LISTS) return normal(flat(block), depth);
    const items = block.items.map((item) => normal(item, depth + 1));
    return [{ ...block, items: items.map((item) => (item.length > 0 ? item : [{ kind: 'paragraph', inline: [] }])) }];
  });

/** Reads HTML or a plain text, whose lines become paragraphs. */
export function readBlocks(html: string): Block[] {
  const root: Block[] = [];
  /** Where blocks go: the root, a list (whose items they are in), an item of one. */
  const places: ({ blocks: Block[] } | { list: ListBlock; isLoose: boolean })[] = [{ blocks: root }];
  const marks = { bold: 0, italic: 0, underline: 0 };
  const spans: ({ id: string; label: string; text: string } | undefined)[] = [];
  let link: string | undefined;
  let open: { inline: Inline[]; implicit: boolean } | undefined;

  const blocks = (): Block[] => {
    const place = places.at(-1)!;
    if ('blocks' in place) return place.blocks;
    const item: Block[] = [];
    place.list.items.push(item);
    return item;
  };
  const begin = (block: Exclude<Block, ListBlock>, implicit = false) => {
    blocks().push(block);
    open = { inline: block.inline, implicit };
  };
  const endImplicit = () => {
    if (open?.implicit) open = undefined;
  };
  /** Text between blocks: each of its lines is a paragraph, an empty one at the root too. */
  const endLine = () => {
    if (open) endImplicit();
    else if (places.length === 1) root.push({ kind: 'paragraph', inline: [] });
  };
  const current = (): Marks => ({
    ...(link !== undefined && { link }),
    ...(marks.bold > 0 && { bold: true }),
    ...(marks.italic > 0 && { italic: true }),
    ...(marks.underline > 0 && { underline: true }),
  });
  const add = (inline: Inline) => {
    if (!open) begin({ kind: 'paragraph', inline: [] }, true);
    open!.inline.push(inline);
  };
  const say = (text: string) => {
    if (open && !open.implicit) return add({ kind: 'text', text, marks: current() });
    for (const [n, line] of text.split('\n').entries()) {
      if (n > 0) endLine();
      if (open || line.trim() !== '') add({ kind: 'text', text: line, marks: current() });
    }
  };
  const endMention = (span: { id: string; label: string; text: string }) => {
    const { id, label } = span;
    const shown = storable(span.text);
    add({ kind: 'mention', id, label, ...(shown !== shownOf(span) && { shown }) });
  };
  const MARKS: Readonly<Record<string, keyof typeof marks>> = { strong: 'bold', em: 'italic', u: 'underline' };

  readContent(html, {
    text(_, plain) {
      const span = spans.findLast((one) => one !== undefined);
      if (span) span.text += plain;
      else say(storable(plain));
    },
    open(name, attributes) {
      if (name === 'a') link = attributes[0]![1];
      else if (name === 'span') {
        const mentioned = mentionedBy(attributes);
        // one inside of another is text of that
        spans.push(spans.some((span) => span !== undefined) ? undefined : mentioned && { ...mentioned, text: '' });
      } else if (name in MARKS) marks[MARKS[name]!] += 1;
      else {
        const at = spans.findIndex((span) => span !== undefined);
        if (at >= 0) endMention(spans.splice(at, 1, undefined)[0]!); // a block ends it
        endImplicit();
        if (name === 'p') begin({ kind: 'paragraph', inline: [] });
        else if (name === 'li') {
          const place = places.at(-1)!;
          if ('blocks' in place) {
            const list: ListBlock = { kind: 'list', ordered: false, items: [] }; // an item outside of a list
            place.blocks.push(list);
            places.push({ list, isLoose: true });
          }
          places.push({ blocks: blocks() });
        } else if (name === 'ul' || name === 'ol') {
          const list: ListBlock = { kind: 'list', ordered: name === 'ol', items: [] };
          blocks().push(list);
          places.push({ list, isLoose: false });
        } else begin({ kind: 'heading', level: Number(name.slice(1)), inline: [] });
      }
    },
    close(name) {
      if (name === 'a') link = undefined;
      else if (name === 'span') {
        const span = spans.pop();
        if (span) endMention(span);
      } else if (name in MARKS) marks[MARKS[name]!] -= 1;
      else if (name === 'li') {
        open = undefined;
        places.pop();
        const list = places.at(-1)!;
        if ('list' in list && list.isLoose) places.pop();
      } else if (name === 'ul' || name === 'ol') {
        open = undefined;
        places.pop();
      } else open = undefined;
    },
    endLine() {
      if (spans.some((span) => span !== undefined)) return;
      if (open && !open.implicit) add({ kind: 'break' });
      else endLine();
    },
    dropped() {},
  });
  return normal(root);
}

const escapedText = (text: string): string => text.replace(/&(?=#?[A-Za-z0-9]+;)/g, '&amp;').replaceAll('<', '&lt;');
const escapedValue = (value: string): string =>
  value.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** The elements around a text, from the outermost. */
const tagsOf = ({ link, bold, italic, underline }: Marks): string[] => [
  ...(link !== undefined ? [`a href="${escapedValue(link)}"`] : []),
  ...(bold ? ['strong'] : []),
  ...(italic ? ['em'] : []),
  ...(underline ? ['u'] : []),
];

function inlineHtml(inline: readonly Inline[]): string {
  let html = '';
  let open: string[] = [];
  const reopen = (tags: string[]) => {
    const differs = tags.findIndex((tag, n) => open[n] !== tag);
    const kept = differs < 0 ? Math.min(tags.length, open.length) : differs;
    for (const tag of open.slice(kept).toReversed()) html += `</${tag.split(' ')[0]}>`;
    for (const tag of tags.slice(kept)) html += `<${tag}>`;
    open = tags;
  };
  for (const one of inline) {
    if (one.kind === 'text') {
      reopen(tagsOf(one.marks));
      html += escapedText(one.text);
      continue;
    }
    reopen([]);
    if (one.kind === 'break') html += '<br>';
    else {
      const [id, label] = [escapedValue(one.id), escapedValue(one.label)];
      const text = escapedText(one.shown ?? shownOf(one));
      html += `<span class="mention" data-type="mention" data-id="${id}" data-label="${label}">${text}</span>`;
    }
  }
  reopen([]);
  return html;
}

export function blockHtml(block: Block): string {
  if (block.kind === 'paragraph') return `<p>${inlineHtml(block.inline)}</p>`;
  if (block.kind === 'heading') return `<h${block.level}>${inlineHtml(block.inline)}</h${block.level}>`;
  const name = block.ordered ? 'ol' : 'ul';
  return `<${name}>${block.items.map((item) => `<li>${item.map(blockHtml).join('')}</li>`).join('')}</${name}>`;
}

/** The HTML of blocks in their normal form. */
export const htmlOf = (blocks: readonly Block[]): string => blocks.map(blockHtml).join('');

/** A mention that can be stored; else the text that it shows. */
export const mention = (id: string, label: string, shown: string | undefined): Inline => {
  const kept = { id: storable(id).trim(), label: storable(label).trim() };
  const text = shown ?? shownOf(kept);
  return kept.id !== '' && isKeptName(kept.id) && isKeptName(kept.label)
    ? { kind: 'mention', ...kept, ...(text !== shownOf(kept) && { shown: text }) }
    : { kind: 'text', text, marks: {} };
};
