import { Worker } from 'node:worker_threads';
import type { Clock } from '../../platform/kernel/index.ts';
import type { SaidJob, ToldJob } from './document-worker.ts';
import type { JobKind, Jobs } from './jobs.ts';

/** A document could not be built: it is broken, or takes too much time or memory. */
export class DocumentUnreadable extends Error {
  override readonly name = 'DocumentUnreadable';
}

const JOB_MS = 5_000;
const MOST_MEGABYTES = 256;

/**
 * One thread for the documents of a process, one job at a time. It starts with the first job; one that hangs or takes
 * too much memory is ended with its job, and the next job has another.
 */
export function openDocumentWorker({ clock }: { clock: Clock }) {
  let thread: Worker | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  function start(): Worker {
    const worker = new Worker(new URL('./document-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES },
      env: {},
    });
    worker.unref();
    worker.on('error', () => {}); // its end is heard by whoever waits for an answer
    worker.once('exit', () => void (thread === worker && (thread = undefined)));
    return worker;
  }

  async function tell(told: ToldJob): Promise<SaidJob> {
    if (isClosed) return { failed: 'closed' };
    const worker = (thread ??= start());
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<SaidJob>();
    const onExit = () => resolve({ failed: 'the thread ended' });
    worker.once('message', resolve).once('exit', onExit);
    worker.ref();
    worker.postMessage(told);
    void clock.sleep(JOB_MS, over.signal).then(
      () => {
        resolve({ failed: `not done in ${JOB_MS} ms` });
        void worker.terminate();
      },
      () => undefined,
    );
    const said = await promise;
    over.abort();
    worker.off('message', resolve).off('exit', onExit);
    worker.unref();
    return said;
  }

  return {
    /**
     * Does a job after those that came before it.
     * @throws DocumentUnreadable when it cannot be done
     */
    async run<K extends JobKind>(kind: K, given: Jobs[K]['given']): Promise<Jobs[K]['done']> {
      const mine = last.then(() => tell({ kind, given }));
      last = mine;
      const said = await mine;
      if ('failed' in said) throw new DocumentUnreadable(said.failed);
      return said.done as Jobs[K]['done']; // what this kind of job answers
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await thread?.terminate();
    },
  };
}
export type DocumentWorker = ReturnType<typeof openDocumentWorker>;
