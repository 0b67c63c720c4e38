import type { Database } from '../../../src/platform/db/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { override } from '../worlds/billing.ts';
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

/** Where billing is on: limits each organization to the posts that are wanted. */
export async function limitTo(sql: Database, crowd: Crowd, wanted: readonly Wanted[]): Promise<void> {
  const orgs = new Map(
    (await sql<{ id: string; orgId: string }[]>`select id, org_id as "orgId" from channels`).map((row) => [
      row.id,
      row.orgId,
    ]),
  );
  for (const [orgId, ones] of Map.groupBy(wanted, ({ channel }) => orgs.get(channel.id)!)) {
    const [row] = await sql<{ at: Date }[]>`select clock_timestamp() as at`;
    await override(sql, orgId, { posts_per_month: ones.length });
    crowd.limit({ orgId, at: row!.at, max: ones.length });
  }
}
