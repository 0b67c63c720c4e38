import type { AsTold, Counts, Published } from './_values.ts';

/** Leaves out what a network did not tell. */
export const told = <T extends object>(answer: AsTold<T>): T =>
  Object.fromEntries(Object.entries(answer).filter(([, value]) => value != null)) as T; // what may be absent alone may be null

/** Counts of posts that a network tells one by one; one that is gone, undefined, has none. */
export async function countsOfEach(
  posts: readonly Published[],
  read: (post: Published) => Promise<AsTold<Counts> | undefined>,
): Promise<{ id: string; counts: AsTold<Counts> }[]> {
  const all: { id: string; counts: AsTold<Counts> }[] = [];
  for (const post of posts) {
    const counts = await read(post);
    if (counts) all.push({ id: post.id, counts });
  }
  return all;
}

/**
 * The ids of posts that their network can read at once. One that a person named otherwise, such as by its address,
 * would have all of them refused.
 */
export const readableIds = (posts: readonly Published[], form: RegExp): string[] =>
  posts.map(({ id }) => id).filter((id) => form.test(id));
