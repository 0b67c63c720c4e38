/** Each item of a list that answers `next` until it is null. */
export async function* itemsByCursor<T>(
  read: (cursor: string | undefined) => Promise<{ items: readonly T[]; next: string | null | undefined }>,
): AsyncGenerator<T, void> {
  let cursor: string | undefined;
  do {
    const { items, next } = await read(cursor);
    yield* items;
    cursor = next ?? undefined;
  } while (cursor !== undefined);
}

/** Each item of a list whose pages are counted. */
export async function* itemsByPage<T>(
  first: number,
  read: (page: number) => Promise<{ items: readonly T[]; hasMore: boolean }>,
): AsyncGenerator<T, void> {
  for (let page = first; ; page += 1) {
    const { items, hasMore } = await read(page);
    yield* items;
    if (!hasMore) return;
  }
}
