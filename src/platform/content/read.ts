import { Tokenizer } from 'htmlparser2';

/** Hears a content as the elements that are kept, each opened and closed in its place, and the text between them. */
export interface Hearer {
  /** A stretch of text: as it stands in the source, and what it says. */
  text(source: string, plain: string): void;
  open(name: string, attributes: readonly (readonly [name: string, value: string])[]): void;
  close(name: string): void;
  /** A line ends: `br`, or the end of a block that is not kept. */
  endLine(): void;
  /** Something was left out here. */
  dropped(): void;
}

const INLINE = new Set(['strong', 'em', 'u', 'a', 'span']);
/** Blocks that hold inline content only: the next block ends them. */
const PARAGRAPHS = new Set(['p', 'h1', 'h2', 'h3']);
const LISTS = new Set(['ul', 'ol']);
const ITEM = new Set([...LISTS, 'li']);
const NONE: ReadonlySet<string> = new Set();
const KEPT = new Set([...INLINE, ...PARAGRAPHS, ...LISTS, 'li']);
/** Their tags are dropped, but their end ends a line. */
const OTHER_BLOCKS = new Set(['div', 'blockquote', 'h4', 'h5', 'h6', 'pre', 'section', 'article', 'tr']);
/** Elements whose content is no text for people. */
const NO_TEXT = new Set(['script', 'style', 'iframe', 'noembed', 'noframes']);
/** Elements inside one another; those further in are dropped, so that closing one looks at few. */
const MOST_DEPTH = 50;

const MOST_LINK = 4_000;
const MOST_NAME = 255;
const isMention = /^mention$/i;
const MOST_MAIL_LINK = 300;
/** A link to one mail address, without headers, further addresses and encoded signs (RFC 6068). */
const MAIL_LINK = /^mailto:[\p{L}\p{N}.!#$*+=^_{|}~-]+@[\p{L}\p{N}-]+(?:\.[\p{L}\p{N}-]+)*$/iu;
/** Says whether a link is kept: an address of the web, or a mail address alone. */
export const isKeptLink = (value: string): boolean =>
  /^https?:\/\//i.test(value)
    ? value.length <= MOST_LINK && URL.canParse(value)
    : value.length <= MOST_MAIL_LINK && MAIL_LINK.test(value);
/** The mail address of a kept link; undefined: it leads into the web. */
export const mailAddressOf = (href: string): string | undefined => /^mailto:(.*)$/is.exec(href)?.[1];
/** Says whether the id or the label of a mention is kept. */
export const isKeptName = (value: string): boolean => value.length <= MOST_NAME;
/** The attributes that are kept, with what they may say. */
const ATTRIBUTES: Readonly<Record<string, Readonly<Record<string, (value: string) => boolean>>>> = {
  a: { href: isKeptLink },
  span: {
    class: (value) => isMention.test(value),
    'data-type': (value) => isMention.test(value),
    'data-id': isKeptName,
    'data-label': isKeptName,
    'data-mention-id': isKeptName,
    'data-mention-label': isKeptName,
  },
};

/**
 * Reads a content, HTML or plain text, once from its beginning to its end. Kept are the elements of the editor
 * (`p strong em u a ul ol li h1 h2 h3 br`, `span` of a mention), a link only with an address of the web or a mail
 * address (T15). An entity counts with its semicolon only, so that the addresses of a plain text stay whole.
 */
export function readContent(html: string, hearer: Hearer): void {
  /** The elements that are open; `kept`: the handler knows of it. */
  const stack: { name: string; kept: boolean }[] = [];
  /** Up to here the source was heard. */
  let done = 0;
  let tag = '';
  let attributes = new Map<string, string>();
  let attribute = '';
  let value = '';
  let silent = false;

  const pop = () => {
    const { name, kept } = stack.pop()!;
    if (kept) hearer.close(name);
  };
  /** Closes the innermost element of these names and all in it; what `within` names is not left. */
  function close(isOne: (name: string) => boolean, within = NONE): void {
    for (let at = stack.length - 1; at >= 0; at--) {
      const { name } = stack[at]!;
      if (!isOne(name)) {
        if (within.has(name)) return;
        continue;
      }
      while (stack.length > at) pop();
      return;
    }
  }
  function open(name: string): void {
    if (name === 'br') return hearer.endLine();
    if (!KEPT.has(name)) return hearer.dropped();
    if (!INLINE.has(name)) close((one) => PARAGRAPHS.has(one), ITEM);
    if (name === 'li') close((one) => one === 'li', LISTS);
    if (name === 'a') close((one) => one === 'a');
    if (stack.length >= MOST_DEPTH) return hearer.dropped();
    const allowed = [...attributes].filter(([key, text]) => ATTRIBUTES[name]![key]!(text));
    const kept = !(name in ATTRIBUTES) || allowed.some(([key]) => key !== 'data-label' && key !== 'data-mention-label');
    stack.push({ name, kept });
    if (kept) hearer.open(name, allowed);
    else hearer.dropped();
  }
  const say = (source: string, plain: string) => {
    if (silent) hearer.dropped();
    else hearer.text(source, plain);
  };
  const endTag = (end: number) => {
    done = end + 1;
    silent = NO_TEXT.has(tag);
    open(tag);
  };

  const tokenizer = new Tokenizer(
    {},
    {
      ontext(start, end) {
        done = end;
        say(html.slice(start, end), html.slice(start, end));
      },
      ontextentity(codePoint, end) {
        const source = html.slice(html.lastIndexOf('&', end - 1), end);
        const again = done === end; // the second character of one entity
        done = end;
        if (!source.endsWith(';')) {
          if (!again) say(source, source);
        } else say(again ? '' : source, String.fromCodePoint(codePoint));
      },
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
        const known = ATTRIBUTES[tag];
        if (known && Object.hasOwn(known, attribute) && !attributes.has(attribute))
          attributes.set(attribute, value.trim());
      },
      onopentagend: endTag,
      onselfclosingtag: endTag,
      onclosetag(start, end) {
        const name = html.slice(start, end).toLowerCase();
        const bracket = html.indexOf('>', end);
        done = bracket < 0 ? html.length : bracket + 1;
        silent = false;
        if (OTHER_BLOCKS.has(name)) hearer.endLine();
        else if (stack.some((one) => one.name === name)) close((one) => one === name);
        else hearer.dropped();
      },
      oncomment(_, end) {
        done = Math.min(end + 1, html.length);
        hearer.dropped();
      },
      ondeclaration(_, end) {
        done = end + 1;
        hearer.dropped();
      },
      oncdata() {},
      onprocessinginstruction() {},
      onend() {
        if (done < html.length) {
          if (silent) hearer.dropped();
          else readContent(html.slice(done).replaceAll('<', '&lt;'), hearer); // a tag that never ends is text, with its entities
        }
        while (stack.length > 0) pop();
      },
    },
  );
  tokenizer.write(html);
  tokenizer.end();
}
