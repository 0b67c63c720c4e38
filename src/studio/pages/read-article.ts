import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/kernel/index.ts';
import type { Article } from './article.ts';
import type { SaidOfArticle } from './article-worker.ts';

/** Milliseconds for the start of a thread, and then for its page. */
const START_MS = 30_000;
const READ_MS = 5_000;
const MOST_MEGABYTES = 256;

/**
 * Reads a page in a thread of its own, with a limit of time and memory. Undefined: it could not be read within them.
 * Pages of one process are read one after another.
 */
export function openArticles({ clock }: { clock: Clock }) {
  let last: Promise<unknown> = Promise.resolve();

  async function readNow(html: string, url: string, signal: AbortSignal): Promise<Article | undefined> {
    signal.throwIfAborted();
    const worker = new Worker(new URL('./article-worker.ts', import.meta.url), {
      workerData: { html, url },
      resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
      env: {},
    });
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<Article | undefined>();
    const giveUp = () => resolve(undefined);
    const giveUpIn = (ms: number) => void clock.sleep(ms, over.signal).then(giveUp, () => undefined);
    worker.on('message', (said: SaidOfArticle) => (said === 'up' ? giveUpIn(READ_MS) : resolve(said)));
    worker.on('error', giveUp).once('exit', giveUp);
    signal.addEventListener('abort', giveUp, { once: true });
    giveUpIn(START_MS);
    try {
      return await promise;
    } finally {
      over.abort();
      signal.removeEventListener('abort', giveUp);
      await worker.terminate();
    }
  }

  return (html: string, url: string, signal: AbortSignal): Promise<Article | undefined> => {
    const mine = last.then(() => readNow(html, url, signal));
    last = mine.catch(() => undefined);
    return mine;
  };
}
