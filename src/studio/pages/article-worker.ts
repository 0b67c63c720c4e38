// A thread that reads the page of a stranger: started by `read-article.ts` with a limit of memory, for one page, and
// ended when that takes too long.
import { parentPort, workerData } from 'node:worker_threads';
import { type Article, articleOf } from './article.ts';

export type SaidOfArticle = 'up' | Article;
const { html, url } = workerData as { html: string; url: string }; // as `read-article.ts` starts it
const say = (said: SaidOfArticle) =>
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
  parentPort!.postMessage(said);

say('up'); // its time begins
say(articleOf(html, url));
