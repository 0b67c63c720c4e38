import { Readability } from '@mozilla/readability';
import { parseHTML } from 'linkedom';

/** The whole text of a web page for people, and what it links to. */
export interface Article {
  title: string;
  text: string;
  /** Addresses of the web that its text links to, each once. */
  links: string[];
}

const MOST_LINKS = 200;
const MOST_ELEMENTS = 100_000;
/** A text that is shorter is none of an article: then all that the page shows is taken. */
const SHORT = 200;
/** Elements whose content is shown to nobody, and what a page hides. */
const UNSHOWN =
  'script, style, noscript, template, iframe, object, svg, canvas, nav, footer, form, select, button, [hidden], [aria-hidden="true"]';
const isHidden = (style: string): boolean =>
  /(display\s*:\s*none|visibility\s*:\s*hidden|opacity\s*:\s*0(\.0*)?\s*(;|$)|font-size\s*:\s*0)/i.test(style);

/** Finds the article of a page; what is hidden, comments and the words of pictures are no part of it. */
export function articleOf(html: string, url: string): Article {
  const { document } = parseHTML(rooted(html));
  for (const element of document.querySelectorAll(UNSHOWN)) element.remove();
  for (const element of document.querySelectorAll('[style]'))
    if (isHidden(element.getAttribute('style') ?? '')) element.remove();
  const shown = document.body.cloneNode(true) as Element; // reading takes the document apart
  const title = document.title ?? '';
  const read = new Readability(document, { maxElemsToParse: MOST_ELEMENTS, disableJSONLD: true }).parse();
  const article = read?.content ? parseHTML(`<body>${read.content}</body>`).document.body : undefined;
  const body = article && plainOf(article).length >= SHORT ? article : shown;
  return {
    title: oneLine(read?.title || title),
    text: plainOf(body),
    links: linksOf(body, url),
  };
}

/** A page with the elements around its text that it may leave out: this parser does not make them. */
function rooted(html: string): string {
  const within = /<html[\s>]/i.test(html) ? html : `<html>${html}</html>`;
  if (/<body[\s>]/i.test(within)) return within;
  const head = within.search(/<\/head>/i);
  const at = within.indexOf('>', head < 0 ? within.search(/<html[\s>]/i) : head) + 1;
  return `${within.slice(0, at)}<body>${within.slice(at)}`;
}

const oneLine = (text: string): string => text.replace(/\s+/g, ' ').trim();
const BLOCKS = 'p, div, section, article, li, h1, h2, h3, h4, h5, h6, tr, br, blockquote, pre, td, dt, dd, figcaption';

/** The text of an element with a line for each block. */
function plainOf(element: Element): string {
  const copy = element.cloneNode(true) as Element;
  for (const block of copy.querySelectorAll(BLOCKS)) block.append('\n');
  return (copy.textContent ?? '')
    .split('\n')
    .map(oneLine)
    .filter((line) => line !== '')
    .join('\n');
}

function linksOf(element: Element, url: string): string[] {
  const links = new Set<string>();
  for (const anchor of element.querySelectorAll('a[href]')) {
    const href = URL.parse(anchor.getAttribute('href') ?? '', url);
    if (href && /^https?:$/.test(href.protocol)) links.add(href.href);
    if (links.size === MOST_LINKS) break;
  }
  return [...links];
}
