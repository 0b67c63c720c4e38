import { refused } from '../kit/declare/fallback.ts';

/** Reads a list page by page to its end, or to the greatest number of pages. Without `next` a page is the last one. */
export async function allPages<T>(
  most: number,
  read: (cursor: string | undefined) => Promise<{ items: readonly T[]; next?: string | null | undefined }>,
): Promise<T[]> {
  const all: T[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < most; page += 1) {
    const { items, next } = await read(cursor);
    all.push(...items);
    if (!next) break;
    cursor = next;
  }
  return all;
}

/** The same of a whole list: refused where there are more pages, since then nobody can tell what is absent. */
export function wholeList<T>(
  most: number,
  read: (cursor: string | undefined) => Promise<{ items: readonly T[]; next?: string | null | undefined }>,
): Promise<T[]> {
  let pages = 0;
  return allPages(Infinity, (cursor) => {
    if (pages++ === most) throw refused('unavailable', `There are more than ${most} pages`);
    return read(cursor);
  });
}

/**
 * Answers those of a page, newest first, that a look-up is about. Where these are all of `most`, what is sought may be
 * behind them: nobody can tell that it is absent, after which it would be made a second time. One on such a page that
 * looks like it is no answer either: what is sought is among the oldest since then, the first that a page loses, and
 * what is left may be its twin, made later by a person. A list that is seen whole would show both.
 */
export function sinceThen<T>(page: readonly T[], most: number, isSince: (one: T) => boolean): T[] {
  const since = page.filter(isSince);
  if (since.length >= most) throw refused('unavailable', `There are ${most} or more since then`);
  return since;
}
