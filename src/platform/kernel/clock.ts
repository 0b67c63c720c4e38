/** The only source of time. Tests hand in their own; "due" is decided by the database's clock all the same. */
export interface Clock {
  now(): Date;
  /** The instant `ms` milliseconds from now. */
  in(ms: number): Date;
  /** Milliseconds since an arbitrary start; never goes back. */
  monotonic(): number;
  /** Rejects with the signal's reason when that comes first. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Calls back again and again, first after `ms`, until the answer is disposed of; keeps no process alive. */
  every(ms: number, work: () => void): Disposable;
}

export const systemClock: Clock = {
  now: () => new Date(),
  in: (ms) => new Date(Date.now() + ms),
  monotonic: () => performance.now(),
  // By hand: the platform's makes an error with a stack for every sleep that is given up, and most are.
  sleep: (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const stop = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener('abort', stop);
        resolve();
      }, ms);
      signal?.addEventListener('abort', stop, { once: true });
    }),
  every(ms, work) {
    const timer = setInterval(work, ms).unref();
    return { [Symbol.dispose]: () => clearInterval(timer) };
  },
};
