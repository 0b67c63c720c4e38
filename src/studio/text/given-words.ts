import { contentToText } from '../../platform/content/index.ts';

// Links, mentions and numbers of a text that a model wrote: those that people or the source gave are known. Every other
// link and mention is removed.

/** The ends of names that networks make a link of although nothing stands before them. */
const ENDS = new Set(
  'com net org io co app dev ai info biz xyz me ly gl gg link click shop store online site website page top club live tv to cc news blog cloud tech pro vip win example test ru cn de uk fr eu us in br it es nl ch at pl se no jp kr ca au'.split(
    ' ',
  ),
);
/** What stands between words: no address goes on behind it. */
const BETWEEN = /([\s<>"“”„«»()[\]{},;|*~`'‘’!…]+)/u;
const LABEL = /^[\p{L}\p{N}-]{1,63}$/u;
const END = /^\p{L}{2,24}$/u;
const SCHEMES = ['mailto:', 'javascript:', 'data:'];
const MENTION = /(?<![\p{L}\p{N}_@./])@[\p{L}\p{N}_](?:[\p{L}\p{N}_.-]{0,62}[\p{L}\p{N}_])?/gu;

/** A word without what ends a sentence behind it. */
function trimmed(word: string): string {
  let end = word.length;
  while (end > 0 && '.,;:!?)]}\'"»”’'.includes(word[end - 1]!)) end -= 1;
  return word.slice(0, end);
}

/** Whether networks make a link of a bare name: by its end, or where a path follows. */
function isHost(word: string): boolean {
  const at = word.search(/[/?#:]/);
  const labels = (at < 0 ? word : word.slice(0, at)).split('.');
  const end = labels.at(-1)!;
  if (labels.length < 2 || !labels.every((label) => LABEL.test(label)) || !END.test(end)) return false;
  return ENDS.has(end.toLowerCase()) || '/?'.includes(word[at] ?? ' ');
}

/** The place in a word at which a link begins; -1: it has none. */
function linkAt(word: string): number {
  let at = word.indexOf('://');
  if (at >= 0) {
    while (at > 0 && /[a-z0-9+-]/i.test(word[at - 1]!)) at -= 1;
    return at;
  }
  const lower = word.toLowerCase();
  const scheme = SCHEMES.map((one) => lower.indexOf(one)).find((found) => found >= 0);
  if (scheme !== undefined) return scheme;
  const sign = word.lastIndexOf('@');
  return (sign > 0 && word.includes('.', sign)) || isHost(trimmed(word)) ? 0 : -1;
}

/** The text with each link as `change` answers it. */
const changeLinks = (text: string, change: (link: string) => string): string =>
  text
    .split(BETWEEN)
    .map((word) => {
      const at = linkAt(word);
      if (at < 0) return word;
      const link = trimmed(word.slice(at));
      return word.slice(0, at) + change(link) + word.slice(at + link.length);
    })
    .join('');
function linksIn(text: string): string[] {
  const links: string[] = [];
  changeLinks(text, (link) => {
    links.push(link);
    return link;
  });
  return links;
}

/** Names of parameters that open what they stand before: such an address is shown to nobody. */
const SECRET = /(^|[-_.])(sig|signature|token|key|apikey|secret|password|pass|auth|code|credential|session)s?$/i;

/** An address that carries a signature, a login or a secret. */
export function isSecretAddress(address: string): boolean {
  const url = URL.parse(address);
  if (!url) return false;
  return url.username !== '' || url.password !== '' || [...url.searchParams.keys()].some((name) => SECRET.test(name));
}

/** Links as they are compared: without scheme, `www.` and a slash at the end. */
const sameLink = (link: string): string =>
  trimmed(link)
    .replace(/^https?:\/\//i, '')
    .replace(/^www\./i, '')
    .replace(/^[^/?#]+/, (host) => host.toLowerCase())
    .replace(/\/$/, '');
const sameMention = (mention: string): string => mention.toLowerCase();

export interface AllowedWords {
  links: ReadonlySet<string>;
  mentions: ReadonlySet<string>;
}
/** The links and mentions of texts that people wrote, and `links` beside them; addresses with a secret are none. */
export function allowedWords(texts: readonly string[], links: readonly string[] = []): AllowedWords {
  const all = [...texts.flatMap(linksIn), ...links].filter((link) => !isSecretAddress(link));
  return {
    links: new Set(all.map(sameLink)),
    mentions: new Set(texts.flatMap((text) => text.match(MENTION) ?? []).map(sameMention)),
  };
}

/** The links of a page that lead to its own host: others are the page's word alone. */
export function ownLinks(url: string, links: readonly string[]): string[] {
  const host = URL.parse(url)?.host;
  return [url, ...links.filter((link) => URL.parse(link)?.host === host)];
}

export interface CleanText {
  text: string;
  /** The links and mentions that were removed. */
  removed: string[];
}
/** A text of a model as plain text, without markup and without links and mentions that nobody gave. */
export function keepGivenWords(written: string, allowed: AllowedWords): CleanText {
  const removed: string[] = [];
  const drop = (word: string) => {
    removed.push(word);
    return '';
  };
  const text = changeLinks(contentToText(written), (link) =>
    allowed.links.has(sameLink(link)) ? link : drop(link),
  ).replace(MENTION, (mention) => (allowed.mentions.has(sameMention(mention)) ? mention : drop(mention)));
  return {
    text: removed.length === 0 ? text.trim() : tidied(text),
    removed: [...new Set(removed)],
  };
}

/** Without the gaps that removed words leave. */
const tidied = (text: string): string => {
  const lines = text
    .replaceAll('()', '')
    .replaceAll('[]', '')
    .split('\n')
    .map((line) =>
      line
        .split(' ')
        .filter((word) => word !== '')
        .join(' '),
    );
  const joined = [...'.,;!?'].reduce((all, sign) => all.replaceAll(` ${sign}`, sign), lines.join('\n'));
  return joined.replace(/\n{3,}/g, '\n\n').trim();
};

const NUMBER = /\d+(?:[.,:/]\d+)*/g;
const numbersIn = (text: string): string[] => text.match(NUMBER) ?? [];

/** The numbers of a text that none of its sources has. */
export function unknownNumbers(text: string, sources: readonly string[]): string[] {
  const known = new Set(sources.flatMap(numbersIn));
  return [...new Set(numbersIn(text))].filter((number) => !known.has(number));
}

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
/** A plain text as the content of a post: a paragraph for each line. */
export const draftContent = (text: string): string =>
  text
    .split('\n')
    .map((line) => `<p>${escaped(line)}</p>`)
    .join('');
