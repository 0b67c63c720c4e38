import { Worker } from 'node:worker_threads';
import { AppError, type Clock } from '../../platform/kernel/index.ts';
import type { SaidJob, ToldJob } from './document-worker.ts';
import type { JobKind, Jobs } from './jobs.ts';

/** A document could not be built: it is broken, or takes too much time or memory. */
export class DocumentUnreadable extends Error {
  override readonly name = 'DocumentUnreadable';
}

/** Milliseconds for a job, and for the start of a thread before its first one. */
const JOB_MS = 5_000;
const START_MS = 30_000;
const MOST_MEGABYTES = 256;
/** What a job leaves behind is collected early: a thread keeps the pages that it has touched. */
const YOUNG_MEGABYTES = 8;

interface Thread {
  worker: Worker;
  /** It takes its first job; false: it never will. */
  up: Promise<boolean>;
}

/**
 * One thread for the documents of a process, one job at a time. It starts with the first job; one that hangs or takes
 * too much memory is ended with its job, and the next job has another.
 */
export function openDocumentWorker({ clock }: { clock: Clock }) {
  let thread: Thread | undefined;
  let last: Promise<unknown> = Promise.resolve();
  let isClosed = false;

  function start(): Thread {
    const worker = new Worker(new URL('./document-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: MOST_MEGABYTES, maxYoungGenerationSizeMb: YOUNG_MEGABYTES },
      env: {},
    });
    worker.on('error', () => {}); // its end is heard by whoever waits for an answer
    worker.once('exit', () => void (thread?.worker === worker && (thread = undefined)));
    const up = new Promise<boolean>((resolve) => {
      worker.once('message', () => resolve(true)).once('exit', () => resolve(false));
    });
    return { worker, up };
  }

  /** The next message of a thread, within its time; the thread is ended where there is none. */
  async function heard<T>(
    { worker }: Thread,
    ms: number,
    answer: (heard: (said: T) => void) => void,
  ): Promise<T | undefined> {
    const over = new AbortController();
    const { promise, resolve } = Promise.withResolvers<T | undefined>();
    const onExit = () => resolve(undefined);
    worker.once('exit', onExit);
    answer(resolve);
    void clock.sleep(ms, over.signal).then(
      () => {
        resolve(undefined);
        if (thread?.worker === worker) thread = undefined; // the next job has another
        void worker.terminate();
      },
      () => undefined,
    );
    const said = await promise;
    over.abort();
    worker.off('exit', onExit);
    return said;
  }

  async function tell(told: ToldJob): Promise<SaidJob> {
    if (isClosed) return { failed: 'closed' };
    const mine = (thread ??= start());
    mine.worker.ref();
    try {
      if (!(await heard<boolean>(mine, START_MS, (done) => void mine.up.then(done))))
        throw new AppError('unavailable', 'Documents cannot be built at the moment: try again later');
      const said = await heard<SaidJob>(mine, JOB_MS, (done) => {
        mine.worker.once('message', done);
        // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
        mine.worker.postMessage(told);
      });
      return said ?? { failed: `the thread ended, or the job took more than ${JOB_MS} ms` };
    } finally {
      mine.worker.unref(); // an idle one keeps nobody from ending
    }
  }

  return {
    /**
     * Does a job after those that came before it.
     * @throws DocumentUnreadable when it cannot be done
     */
    async run<K extends JobKind>(kind: K, given: Jobs[K]['given']): Promise<Jobs[K]['done']> {
      const mine = last.then(() => tell({ kind, given }));
      last = mine.catch(() => undefined);
      const said = await mine;
      if ('failed' in said) throw new DocumentUnreadable(said.failed);
      return said.done as Jobs[K]['done']; // what this kind of job answers
    },
    async [Symbol.asyncDispose]() {
      isClosed = true;
      await thread?.worker.terminate();
    },
  };
}
export type DocumentWorker = ReturnType<typeof openDocumentWorker>;
