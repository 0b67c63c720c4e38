/** Places that are dealt: at most `most` are taken at a time, `each` of them by one key. Keys that wait get one in turn. */
export interface Turns {
  /** Waits for a place; disposing of the answer gives it back. Rejects with the reason of `signal` when that comes first. */
  enter(key: string, signal?: AbortSignal): Promise<Disposable>;
  readonly taken: number;
}

export function openTurns({ most, each = most }: { most: number; each?: number }): Turns {
  const waiting = new Map<string, (() => void)[]>(); // in the order of their turns
  const taken = new Map<string, number>();
  let total = 0;

  function take(key: string): Disposable {
    taken.set(key, (taken.get(key) ?? 0) + 1);
    total += 1;
    let isBack = false;
    return {
      [Symbol.dispose]() {
        if (isBack) return;
        isBack = true;
        total -= 1;
        const left = taken.get(key)! - 1;
        if (left === 0) taken.delete(key);
        else taken.set(key, left);
        deal();
      },
    };
  }

  function deal(): void {
    for (const [key, queue] of waiting) {
      if (total >= most) return;
      if ((taken.get(key) ?? 0) >= each) continue;
      waiting.delete(key);
      const next = queue.shift()!;
      if (queue.length > 0) waiting.set(key, queue); // behind the others; this loop comes to it again
      next();
    }
  }

  return {
    get taken() {
      return total;
    },
    enter(key, signal) {
      return new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const queue = waiting.get(key) ?? [];
        const go = () => {
          signal?.removeEventListener('abort', giveUp);
          resolve(take(key));
        };
        const giveUp = () => {
          queue.splice(queue.indexOf(go), 1);
          if (queue.length === 0 && waiting.get(key) === queue) waiting.delete(key);
          reject(signal!.reason);
        };
        signal?.addEventListener('abort', giveUp, { once: true });
        queue.push(go);
        waiting.set(key, queue);
        deal();
      });
    },
  };
}
