import { type ChildProcess, spawn } from 'node:child_process';
import { rm, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../platform/kernel/index.ts';
import type { Done, Job, PictureChange, PictureFormat, Size } from './picture-work.ts';
import type { PictureJob } from './picture-worker.ts';
import { openLimiter } from '../../platform/flow/index.ts';

/** Reads and draws pictures in processes beside this one, for the library and for what is published. */
export interface Pictures extends AsyncDisposable {
  /** Undefined: it cannot be read. */
  measure(orgId: string, path: string): Promise<Size | undefined>;
  /** Writes a small WebP with nothing of what was noted in it beside the picture; false: it cannot be drawn. */
  thumbnail(orgId: string, path: string, target: string): Promise<boolean>;
  /**
   * Writes it as a JPEG of at most so many bytes and pixels to `target`; undefined: it cannot be made to fit. `bring`
   * puts the picture where it is to be read, once it is its turn. Rejects with the reason of `signal` when that comes
   * first.
   */
  fit(
    orgId: string,
    bring: () => Promise<{ path: string } & AsyncDisposable>,
    limits: Limits,
    target: string,
    signal: AbortSignal,
  ): Promise<Fitted | undefined>;
  /** Writes the changed picture to `target`; false: it cannot be done with this one. Rejects as `fit` does. */
  transform(
    orgId: string,
    path: string,
    change: PictureChange,
    format: PictureFormat,
    target: string,
    signal: AbortSignal,
  ): Promise<boolean>;
}
interface Limits {
  maxBytes: number;
  maxPixels: number;
}
interface Fitted extends Size {
  bytes: number;
}

const AT_ONCE = 2; // each may take a processor for seconds, and more than a gigabyte
const OF_ONE = 1; // organization: the other place is for everybody else
const JOB_MS = 30_000;
const IDLE_MS = 30_000;
/** What no network takes is not made: the result of one decoding is held as a whole. */
const MOST_PIXELS = 40_000_000;
const MOST_BYTES = 64 * 1024 * 1024;

const WORKER = fileURLToPath(new URL('./picture-worker.ts', import.meta.url));
// Set by a shell, for nothing else can: 1.5 GiB of memory, files of 64 MiB. What a system does not know is left out.
const WITH_LIMITS = [
  '-c',
  'ulimit -d 1572864 2>/dev/null; ulimit -f 131072 2>/dev/null; exec "$0" "$@"',
  process.execPath,
  WORKER,
];

/**
 * What one worker says of its job: the end of the worker and of its time are answers, too. `broken`: it has not
 * started, or not heard of the job.
 */
type Said = { done: Done } | 'ended' | 'broken' | 'late';

function start(): ChildProcess {
  // oxlint-disable-next-line node/no-process-env -- where programs are found, and nothing else of it
  const env = { PATH: process.env['PATH'] ?? '' };
  const options = { env, stdio: ['ignore', 'ignore', 'ignore', 'ipc'] as ['ignore', 'ignore', 'ignore', 'ipc'] };
  const worker =
    process.platform === 'win32' ? spawn(process.execPath, [WORKER], options) : spawn('sh', WITH_LIMITS, options);
  worker.on('error', () => {}); // seen by whoever waits for an answer
  return worker;
}

export function openPictures(): Pictures {
  const limiter = openLimiter({ total: AT_ONCE, perOwner: OF_ONE });
  const idle = new Map<ChildProcess, NodeJS.Timeout>();
  const all = new Map<ChildProcess, Promise<void>>();
  const up = new WeakSet<ChildProcess>();
  let closed = false;

  /** An idle worker, or a new one. Idle ones keep nobody from ending. */
  function take(): ChildProcess {
    const [known] = idle;
    if (known) {
      const [worker, timer] = known;
      clearTimeout(timer);
      idle.delete(worker);
      worker.ref();
      worker.channel?.ref();
      return worker;
    }
    const worker = start();
    const ended = new Promise<void>((resolve) => {
      // one that never started has no exit
      worker.once('exit', resolve).once('error', () => worker.pid === undefined && resolve());
    });
    all.set(worker, ended);
    void ended.then(() => {
      all.delete(worker);
      clearTimeout(idle.get(worker));
      idle.delete(worker);
    });
    return worker;
  }
  function keep(worker: ChildProcess): void {
    worker.unref();
    worker.channel?.unref();
    idle.set(
      worker,
      setTimeout(() => {
        idle.delete(worker);
        worker.kill('SIGKILL');
      }, IDLE_MS).unref(),
    );
  }

  /** One job of a worker, which is ended with the job when that takes too long or is given up. */
  function tell(worker: ChildProcess, job: Job, signal: AbortSignal | undefined): Promise<Said> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => end(() => resolve('late')), JOB_MS);
      const onMessage = (told: PictureJob) => (told === 'up' ? up.add(worker) : end(() => resolve(told), true));
      const onEnd = () => end(() => resolve(up.has(worker) ? 'ended' : 'broken'));
      const onUnsent = () => end(() => resolve('broken'));
      const onAbort = () => end(() => reject(signal!.reason));
      function end(then: () => void, lives = false): void {
        clearTimeout(timer);
        worker.off('message', onMessage).off('exit', onEnd).off('error', onEnd);
        signal?.removeEventListener('abort', onAbort);
        if (lives) keep(worker);
        else worker.kill('SIGKILL');
        then();
      }
      worker.on('message', onMessage).once('exit', onEnd).once('error', onEnd);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
      else if (!worker.connected) onUnsent();
      else worker.send(job, (error) => void (error && onUnsent()));
    });
  }

  async function run(job: Job, signal?: AbortSignal): Promise<Done> {
    const said = closed ? 'broken' : await tell(take(), job, signal);
    if (said === 'late') throw new AppError('unavailable', 'A picture took too long to be read: try again later');
    if (said === 'broken' || closed)
      throw new AppError('unavailable', 'Pictures cannot be read at the moment: try again later');
    return said === 'ended' ? undefined : said.done; // ended: it was too much for the worker
  }

  return {
    async measure(orgId, path) {
      using _ = await limiter.enter(orgId);
      return await run({ kind: 'measure', path });
    },
    async thumbnail(orgId, path, target) {
      using _ = await limiter.enter(orgId);
      return (await run({ kind: 'thumbnail', path, target }).catch(() => undefined)) !== undefined;
    },
    async fit(orgId, bring, { maxBytes, maxPixels }, target, signal) {
      using _ = await limiter.enter(orgId, { signal });
      await using source = await bring();
      const limits = { maxBytes: Math.min(maxBytes, MOST_BYTES), maxPixels: Math.min(maxPixels, MOST_PIXELS) };
      try {
        const done = await run({ kind: 'fit', path: source.path, target, ...limits }, signal);
        if (done) return { ...done, bytes: (await stat(target)).size };
      } catch (error) {
        await rm(target, { force: true });
        throw error;
      }
      await rm(target, { force: true });
      return undefined;
    },
    async transform(orgId, path, change, format, target, signal) {
      using _ = await limiter.enter(orgId, { signal });
      return (await run({ kind: 'transform', path, target, change, format }, signal)) !== undefined;
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      const ended = [...all.values()];
      for (const worker of all.keys()) worker.kill('SIGKILL');
      await Promise.all(ended);
    },
  };
}
