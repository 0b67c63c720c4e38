import { isUnavailable } from './unavailable.ts';

/** Rows that fail in one call, after which it ends: so many are no longer single bad rows, and each is logged. */
const MOST_FAILED = 1_000;

/** Rows that are due, and what is done about them. */
interface DueWork<T> {
  /** Selects at most `limit` that are due, the oldest first, without those that were `tried` in this call. */
  find: (limit: number, tried: readonly T[]) => Promise<readonly T[]>;
  /** Does one, in a commit of its own. */
  work: (item: T) => Promise<unknown>;
  /** Does all of them in one commit, where that costs less. Where it fails they are done one after another. */
  together?: (items: readonly T[]) => Promise<unknown>;
  failed: (error: unknown, item: T) => void;
  /** Most that are selected at a time. */
  atOnce?: number;
}

/**
 * Does the work for rows that are due, one after another, until `limit` are done. One that fails is told to `failed`
 * and keeps none of the others from their turn, also where it comes first in each call; when the database is away the
 * rest is left. Answers how many were done.
 */
export async function runEach<T>(
  limit: number,
  { find, work, together, failed, atOnce = limit }: DueWork<T>,
): Promise<number> {
  const tried: T[] = [];
  let [done, failures] = [0, 0];
  while (done < limit && failures < MOST_FAILED) {
    const most = Math.min(atOnce, limit - done);
    const items = await find(most, tried);
    if (together && items.length > 0 && (await succeeds(() => together(items)))) done += items.length;
    else
      for (const item of items)
        try {
          await work(item);
          done += 1;
        } catch (error) {
          if (isUnavailable(error)) throw error; // each of the others would wait for it and fail as well
          failures += 1;
          failed(error, item);
        }
    tried.push(...items);
    if (items.length < most) break;
  }
  return done;
}

async function succeeds(work: () => Promise<unknown>): Promise<boolean> {
  try {
    await work();
    return true;
  } catch (error) {
    if (isUnavailable(error)) throw error;
    return false; // said of the row that is at fault, when they are done one after another
  }
}
