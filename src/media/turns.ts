/** Runs at most `most` works at a time; the others wait in the order of their coming. */
export function openTurns(most: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let running = 0;
  return async (work) => {
    if (running >= most) await new Promise<void>((go) => waiting.push(go));
    else running += 1;
    try {
      return await work();
    } finally {
      const next = waiting.shift(); // takes over the place
      if (next) next();
      else running -= 1;
    }
  };
}
