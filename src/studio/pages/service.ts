import { decodePage, isHtml, outsideLine, outsideText } from '../../platform/content/index.ts';
import type { Clock } from '../../platform/kernel/index.ts';
import { type Outbound, OutboundError } from '../../platform/outbound/index.ts';
import type { Article } from './article.ts';
import { openArticles } from './read-article.ts';

/** A page that was read; `url`: where its redirects led. */
export interface WebPage extends Article {
  url: string;
}
/** The page, or why there is none, as a sentence for people. */
export type PageRead = { page: WebPage } | { reason: string };

interface PagesDeps {
  outbound: Pick<Outbound, 'fetch'>;
  clock: Clock;
}

const FETCH_MS = 10_000;
const MOST_BYTES = 2_000_000;
const MOST_TITLE = 300;
/** Characters of a text that are kept: more than a model reads with care. */
const MOST_TEXT = 40_000;
const PLAIN = /^text\/plain\b/i;
const none = (reason: string): PageRead => ({ reason });

/** Opens web pages for language models: through the guard, and read where they can do no harm. */
export function openPages({ outbound, clock }: PagesDeps) {
  const articles = openArticles({ clock });
  return {
    /** Reads the text of a page. What keeps it from being read is an answer. */
    async read(url: string, signal: AbortSignal): Promise<PageRead> {
      try {
        const answer = await outbound.fetch(url, {
          timeoutMs: FETCH_MS,
          maxBytes: MOST_BYTES,
          headers: { accept: 'text/html,application/xhtml+xml;q=0.9,text/plain;q=0.8' },
          signal,
        });
        const type = answer.headers.get('content-type') ?? '';
        if (answer.status < 200 || answer.status > 299) return none(`The page answered ${answer.status}`);
        if (!isHtml(type) && !PLAIN.test(type)) return none('The page is neither HTML nor text');
        const text = decodePage(answer.body, type);
        const article = isHtml(type) ? await articles(text, answer.url, signal) : { title: '', text, links: [] };
        if (!article) return none('The page takes too long to read');
        const page = {
          title: outsideLine(article.title, MOST_TITLE),
          text: outsideText(article.text, MOST_TEXT),
          links: article.links,
          url: answer.url,
        };
        return page.text === '' ? none('The page has no text') : { page };
      } catch (error) {
        if (error instanceof OutboundError && !signal.aborted) return none(`The page cannot be read: ${error.message}`);
        throw error;
      }
    },
  };
}
export type Pages = ReturnType<typeof openPages>;
