import { Tokenizer } from 'htmlparser2';
import { outsideLine } from './outside-text.ts';

/** What a web page says of itself to those who link to it. */
export interface PageCard {
  title: string;
  description: string;
  /** The address of its picture, as it is written. */
  picture: string | undefined;
}

const MOST_TITLE = 300;
const MOST_DESCRIPTION = 1_000;
const MOST_ADDRESS = 4_000;
/** Attributes of `meta` that are read. */
const READ = new Set(['property', 'name', 'content']);

/** Reads the Open Graph of a page, else its title and description. Linear in its length; markup in them is text. */
export function readPageCard(html: string): PageCard {
  const told = new Map<string, string>();
  let tag = '';
  let attribute = '';
  let value = '';
  let attributes = new Map<string, string>();
  let title: string | undefined;
  const add = (text: string) => {
    if (tag === 'title' && title !== undefined) title += text;
  };
  const endTag = () => {
    if (tag === 'title') title ??= '';
    if (tag !== 'meta') return;
    const name = (attributes.get('property') ?? attributes.get('name') ?? '').trim().toLowerCase();
    const content = attributes.get('content')?.trim();
    if (content && !told.has(name)) told.set(name, content);
  };
  const tokenizer = new Tokenizer(
    {},
    {
      ontext: (start, end) => add(html.slice(start, end)),
      ontextentity: (codePoint) => add(String.fromCodePoint(codePoint)),
      onopentagname(start, end) {
        tag = html.slice(start, end).toLowerCase();
        attributes = new Map();
      },
      onattribname(start, end) {
        attribute = html.slice(start, end).toLowerCase();
        value = '';
      },
      onattribdata: (start, end) => (value += html.slice(start, end)),
      onattribentity: (codePoint) => (value += String.fromCodePoint(codePoint)),
      onattribend() {
        if (READ.has(attribute) && !attributes.has(attribute)) attributes.set(attribute, value);
      },
      onopentagend: endTag,
      onselfclosingtag: endTag,
      onclosetag: () => (tag = ''),
      oncomment() {},
      ondeclaration() {},
      oncdata() {},
      onprocessinginstruction() {},
      onend() {},
    },
  );
  tokenizer.write(html);
  tokenizer.end();
  const picture = told.get('og:image');
  return {
    title: outsideLine(told.get('og:title') ?? title ?? '', MOST_TITLE),
    description: outsideLine(told.get('og:description') ?? told.get('description') ?? '', MOST_DESCRIPTION),
    picture: picture && picture.length <= MOST_ADDRESS ? picture : undefined,
  };
}

const HTML = /^(text\/html|application\/xhtml\+xml)\b/i;
export const isHtml = (contentType: string): boolean => HTML.test(contentType);

/** Bytes in which a page says how it is written (HTML, 13.2.3.2). */
const PRESCAN = 1_024;
/** The text of a page, by the encoding that its type or its beginning names. */
export function decodePage(bytes: Uint8Array, contentType: string): string {
  const head = new TextDecoder('latin1').decode(bytes.subarray(0, PRESCAN));
  const named = /charset\s*=\s*["']?([\w-]+)/i;
  const label = named.exec(contentType)?.[1] ?? named.exec(head)?.[1] ?? 'utf-8';
  try {
    return new TextDecoder(label).decode(bytes);
  } catch {
    return new TextDecoder().decode(bytes); // a label that nobody knows
  }
}
