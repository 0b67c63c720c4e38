/** Does the work `count` times, `callers` at a time; answers how long it took. */
export async function each(count, callers, work) {
  let next = 0;
  const begun = performance.now();
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (next++ < count) await work();
    }),
  );
  return performance.now() - begun;
}
