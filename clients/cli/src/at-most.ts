/** The first items of a list that comes by pages; no further page is asked for. */
export async function atMost<T>(most: number | undefined, items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  if (most === 0) return found;
  for await (const item of items) if (found.push(item) === most) break;
  return found;
}
