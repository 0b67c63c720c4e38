import { systemClock } from '../../../src/platform/kernel/index.ts';
import { note } from './chaos.ts';
import type { Created } from './history/shape.ts';
import type { Crowd, Wanted } from './wave.ts';

// What a wave has beside plain posts: a bounded part of it, so that it takes as long as without.

/** Of each kind, in a wave of any size. */
const EACH = 4;
const MOVED_BY_MS = 1_500;

/**
 * Makes the last posts of a wave into threads, posts with a first comment, posts that other channels repeat, and posts
 * that recur; one is all of these at once.
 */
export function mixed(wave: readonly Wanted[], { channels }: Pick<Crowd, 'channels'>): Wanted[] {
  const from = wave.length - 4 * EACH - 1;
  if (from < 0) return [...wave];
  return wave.map((one, n): Wanted => {
    const kind = n < from ? -1 : Math.floor((n - from) / EACH);
    const isAll = kind === 4;
    const beside = channels.find(({ id, client }) => client === one.channel.client && id !== one.channel.id);
    return {
      ...one,
      ...((kind === 0 || isAll) && { items: [`Second of ${n}`, `Third of ${n}`] }),
      ...((kind === 1 || isAll) && { firstComment: `First below ${n}` }),
      ...((kind === 2 || isAll) && beside && { repostedBy: beside }),
      ...((kind === 3 || isAll) && { inter: 1 }),
    };
  });
}

/**
 * Changes texts and dates of posts, some of which are being published just now. What is refused stays as it was, what
 * is not answered may be either.
 */
export async function editSome(crowd: Crowd, { now, later }: { now: readonly Created[]; later: readonly Created[] }) {
  const spread = (list: readonly Created[], count: number) =>
    list.filter((_, n) => n % Math.ceil(list.length / count) === 0).slice(0, count);
  const texts = [...spread(now, 2 * EACH), ...spread(later, EACH)];
  const dates = spread(later.slice(1), EACH).filter(({ due }) => due > systemClock.in(MOVED_BY_MS));
  const answers = await Promise.all([
    ...texts.map((post, n) => crowd.edit(post, { text: `Changed ${n}` })),
    ...dates.map((post) => crowd.edit(post, { due: new Date(post.due.getTime() + MOVED_BY_MS) })),
  ]);
  const counts = Map.groupBy(answers, ({ status }) => status);
  note({ edits: Object.fromEntries([...counts].map(([status, list]) => [status, list.length])) });
}
