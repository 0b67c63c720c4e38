import { isUnavailable } from './unavailable.ts';

/**
 * Does a work for each item, one after another. One that fails is told to `failed` and keeps none of the others from
 * their turn; when the database is away the rest is left. Answers how many were done.
 */
export async function runEach<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
  failed: (error: unknown, item: T) => void,
): Promise<number> {
  let done = 0;
  for (const item of items)
    try {
      await work(item);
      done += 1;
    } catch (error) {
      if (isUnavailable(error)) throw error; // each of the others would wait for it and fail as well
      failed(error, item);
    }
  return done;
}
