export interface WriteBehindOptions {
  /** From the first note to the write. */
  afterMs: number;
  /** Writes what has been noted. */
  write(): Promise<unknown>;
  /** Told of a write that nobody waits for. */
  onError(error: unknown): void;
}
/** Disposing of it writes what is left. */
export interface WriteBehind extends AsyncDisposable {
  /** Something was noted. */
  soon(): void;
  /**
   * Writes at once, after the write that is under way: whoever waits for it finds what was noted before. Rejects as the
   * write does.
   */
  flush(): Promise<void>;
}

/** Writes together what is noted within a while; keeps no process alive. */
export function openWriteBehind({ afterMs, write, onError }: WriteBehindOptions): WriteBehind {
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> = Promise.resolve();

  async function writeNow(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    await write();
  }
  function flush(): Promise<void> {
    const mine = writing.then(writeNow);
    writing = mine.catch(() => undefined);
    return mine;
  }
  return {
    soon: () => void (timer ??= setTimeout(() => void flush().catch(onError), afterMs).unref()),
    flush,
    async [Symbol.asyncDispose]() {
      await flush().catch(onError);
      clearTimeout(timer);
    },
  };
}
