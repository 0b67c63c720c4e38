import * as Y from 'yjs';
import { isKeptLink } from '../../platform/content/index.ts';
import { type Block, blockHtml, type Inline, type Marks, mention, normal, sameMarks, storable } from './blocks.ts';

// Blocks as the nodes of ProseMirror in a document: those of Tiptap's starter kit and of the basic schema are read, the
// former are written. A node of another name becomes its text.

type Child = Y.XmlElement | Y.XmlText | Y.XmlHook;
type Nodes = Pick<Y.XmlFragment, 'toArray'>;

const LISTS: Readonly<Record<string, boolean>> = {
  bulletList: false,
  bullet_list: false,
  orderedList: true,
  ordered_list: true,
};
const BREAKS = new Set(['hardBreak', 'hard_break']);
/** Nodes inside one another; what lies deeper is not read. */
const MOST_DEPTH = 100;

const isElement = (child: Child): child is Y.XmlElement => child instanceof Y.XmlElement;
const childrenOf = (nodes: Nodes): Child[] => nodes.toArray() as Child[]; // as it holds what was sent, hooks too
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

const MARKS: Readonly<Record<string, 'bold' | 'italic' | 'underline'>> = {
  bold: 'bold',
  strong: 'bold',
  italic: 'italic',
  em: 'italic',
  underline: 'underline',
};

function marksOf(attributes: Readonly<Record<string, unknown>> | undefined): Marks {
  const marks: Marks = {};
  for (const [key, value] of Object.entries(attributes ?? {})) {
    const name = key.split('--', 1)[0]!; // marks that may overlap have a hash in their name
    if (value === null || value === undefined || value === false) continue;
    if (Object.hasOwn(MARKS, name)) marks[MARKS[name]!] = true;
    else if (name === 'link') {
      const href = textOf((value as { href?: unknown }).href).trim();
      if (isKeptLink(storable(href))) marks.link = storable(href);
    }
  }
  return marks;
}

function inlineOf(child: Child, depth: number): Inline[] {
  if (child instanceof Y.XmlText)
    return (child.toDelta() as { insert: unknown; attributes?: Record<string, unknown> }[]).flatMap(
      ({ insert, attributes }): Inline[] =>
        typeof insert === 'string' ? [{ kind: 'text', text: storable(insert), marks: marksOf(attributes) }] : [],
    );
  if (!isElement(child) || depth > MOST_DEPTH) return [];
  if (BREAKS.has(child.nodeName)) return [{ kind: 'break' }];
  if (child.nodeName === 'mention') {
    const shown = child.getAttribute('shown');
    return [
      mention(
        textOf(child.getAttribute('id')),
        textOf(child.getAttribute('label')),
        typeof shown === 'string' ? storable(shown) : undefined,
      ),
    ];
  }
  return childrenOf(child).flatMap((one) => inlineOf(one, depth + 1));
}

const isInline = (child: Child): boolean =>
  !isElement(child) || BREAKS.has(child.nodeName) || child.nodeName === 'mention';

function blocksOfChildren(children: readonly Child[], depth: number): Block[] {
  const blocks: Block[] = [];
  let loose: Inline[] | undefined;
  for (const child of children) {
    if (isInline(child)) {
      if (!loose) blocks.push({ kind: 'paragraph', inline: (loose = []) });
      loose.push(...inlineOf(child, depth));
      continue;
    }
    loose = undefined;
    if (isElement(child) && depth <= MOST_DEPTH) blocks.push(...blocksOfElement(child, depth));
  }
  return blocks;
}

function blocksOfElement(element: Y.XmlElement, depth: number): Block[] {
  const { nodeName } = element;
  const children = childrenOf(element);
  const inline = () => children.flatMap((child) => inlineOf(child, depth + 1));
  if (nodeName === 'paragraph') return [{ kind: 'paragraph', inline: inline() }];
  if (nodeName === 'heading') {
    const level = Math.min(Math.max(Math.trunc(Number(element.getAttribute('level')) || 1), 1), 3);
    return [{ kind: 'heading', level, inline: inline() }];
  }
  if (Object.hasOwn(LISTS, nodeName)) {
    const items = children.map((item) =>
      isElement(item) && !isInline(item) && !Object.hasOwn(LISTS, item.nodeName) && item.nodeName !== 'paragraph'
        ? blocksOfChildren(childrenOf(item), depth + 2)
        : blocksOfChildren([item], depth + 1),
    );
    return [{ kind: 'list', ordered: LISTS[nodeName]!, items }];
  }
  const below = blocksOfChildren(children, depth + 1);
  return below.length > 0 ? below : [{ kind: 'paragraph', inline: [] }];
}

/** The blocks of a document, in their normal form. */
export const blocksOf = (fragment: Nodes): Block[] => normal(blocksOfChildren(childrenOf(fragment), 0));

/** The HTML of each node at the root of a document. */
export const htmlOfNodes = (fragment: Nodes): string[] =>
  childrenOf(fragment).map((child) =>
    normal(blocksOfChildren([child], 0))
      .map(blockHtml)
      .join(''),
  );

const attributesOf = ({ link, bold, italic, underline }: Marks): Record<string, unknown> => ({
  ...(link !== undefined && { link: { href: link } }),
  ...(bold && { bold: {} }),
  ...(italic && { italic: {} }),
  ...(underline && { underline: {} }),
});

function nodesOfInline(inline: readonly Inline[]): (Y.XmlElement | Y.XmlText)[] {
  const nodes: (Y.XmlElement | Y.XmlText)[] = [];
  let runs: { insert: string; attributes: Record<string, unknown> }[] = [];
  const endText = () => {
    if (runs.length === 0) return;
    const text = new Y.XmlText();
    text.applyDelta(runs);
    nodes.push(text);
    runs = [];
  };
  for (const one of inline) {
    if (one.kind === 'text') {
      runs.push({ insert: one.text, attributes: attributesOf(one.marks) });
      continue;
    }
    endText();
    const element = new Y.XmlElement(one.kind === 'break' ? 'hardBreak' : 'mention');
    if (one.kind === 'mention')
      for (const key of ['id', 'label', 'shown'] as const)
        if (one[key] !== undefined) element.setAttribute(key, one[key]);
    nodes.push(element);
  }
  endText();
  return nodes;
}

/** A block as a node that is not in a document yet. */
export function nodeOf(block: Block): Y.XmlElement {
  if (block.kind === 'list') {
    const list = new Y.XmlElement(block.ordered ? 'orderedList' : 'bulletList');
    const items = block.items.map((blocks) => {
      const item = new Y.XmlElement('listItem');
      item.insert(0, blocks.map(nodeOf));
      return item;
    });
    list.insert(0, items);
    return list;
  }
  const element = new Y.XmlElement(block.kind);
  if (block.kind === 'heading') element.setAttribute('level', block.level as never); // a number, as Tiptap writes it
  element.insert(0, nodesOfInline(block.inline));
  return element;
}

/** One character with its marks. */
interface Unit {
  text: string;
  marks: Marks;
}
const unitsOf = (inline: readonly Inline[]): Unit[] =>
  inline.flatMap((one) => (one.kind === 'text' ? [...one.text].map((text) => ({ text, marks: one.marks })) : []));
const sameUnit = (a: Unit | undefined, b: Unit | undefined): boolean =>
  a !== undefined && b !== undefined && a.text === b.text && sameMarks(a.marks, b.marks);
const lengthOf = (units: readonly Unit[]): number => units.reduce((sum, { text }) => sum + text.length, 0);

/**
 * Makes a node that holds one text the block, in its place: only what differs changes, so that what somebody types into
 * it meanwhile stays. False: the node or the block is of another kind, and nothing was done.
 */
export function rewriteNode(node: unknown, block: Block): boolean {
  if (!(node instanceof Y.XmlElement) || block.kind === 'list') return false;
  const [now, ...more] = blocksOfChildren([node as Child], 0);
  if (!now || more.length > 0 || now.kind !== block.kind) return false;
  if (now.kind === 'heading' && block.kind === 'heading' && now.level !== block.level) return false;
  const [text, ...others] = childrenOf(node);
  if (others.length > 0 || (text !== undefined && !(text instanceof Y.XmlText))) return false;
  if (block.inline.some(({ kind }) => kind !== 'text')) return false;
  if (text === undefined) {
    node.insert(0, nodesOfInline(block.inline));
    return true;
  }
  const [old, wanted] = [unitsOf(inlineOf(text, 0)), unitsOf(block.inline)];
  if (lengthOf(old) !== text.length) return false; // it holds more than is read of it
  let start = 0;
  while (start < old.length && sameUnit(old[start], wanted[start])) start += 1;
  let end = 0;
  while (end < Math.min(old.length, wanted.length) - start && sameUnit(old.at(-1 - end), wanted.at(-1 - end))) end += 1;
  let at = lengthOf(old.slice(0, start));
  const removed = lengthOf(old.slice(start, old.length - end));
  if (removed > 0) text.delete(at, removed);
  for (const { text: typed, marks } of wanted.slice(start, wanted.length - end)) {
    text.insert(at, typed, attributesOf(marks));
    at += typed.length;
  }
  return true;
}
