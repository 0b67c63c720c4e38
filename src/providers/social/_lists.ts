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
