import type { Sql } from '../../../platform/db/index.ts';
import { AppError, notFound } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { withoutOccurrences } from './occurrences.ts';
import { slotsOf } from './slots.ts';

const DEFAULT_TIMES = [120, 400, 700];
/** Posting times that one statement looks at. */
const SLOTS_AT_ONCE = 100;

/** The next free posting time of a channel, or of all channels. */
export async function findSlot(
  { sql, clock }: Pick<PostsDeps, 'sql' | 'clock'>,
  orgId: string,
  channelId?: string,
): Promise<Date> {
  if (channelId !== undefined && !(await hasChannel(sql, orgId, channelId))) throw notFound('Integration not found');
  const { minutes, timezone } = await findPostingTimes(sql, orgId, channelId);
  if (minutes.length === 0)
    throw new AppError('conflict', 'No posting times are set: set some for a channel, or choose a date');
  const slots = slotsOf({ minutes, timezone, now: clock.now() });
  for (let some = take(slots); some.length > 0; some = take(slots)) {
    const free = await findFreeMinutes(sql, orgId, some, channelId);
    const [slot] = await withoutOccurrences(sql, orgId, free, channelId);
    if (slot) return slot;
  }
  throw new AppError('conflict', 'Every posting time of the next year is taken');
}

function take(slots: Iterator<Date>): Date[] {
  const some: Date[] = [];
  while (some.length < SLOTS_AT_ONCE) {
    const { done, value } = slots.next();
    if (done) break;
    some.push(value);
  }
  return some;
}

const hasChannel = async (sql: Sql, orgId: string, channelId: string): Promise<boolean> =>
  (await sql`select 1 from channels where org_id = ${orgId} and id = ${channelId} and deleted_at is null`).length > 0;

/**
 * Posting times, in minutes after midnight, of the channels that can be posted to, and the zone they are meant in. Where
 * there is no such channel they are the usual ones.
 */
async function findPostingTimes(
  sql: Sql,
  orgId: string,
  channelId?: string,
): Promise<{ timezone: string; minutes: readonly number[] }> {
  const [row] = await sql<{ timezone: string; minutes: number[] | null }[]>`
    select o.timezone, (
      select coalesce(array_agg(distinct m order by m) filter (where m is not null), '{}')
      from channels c
      left join unnest(c.posting_times) m on true
      where c.org_id = o.id
        and c.deleted_at is null
        and ${channelId === undefined ? sql`not c.disabled` : sql`c.id = ${channelId}`}
      having count(*) > 0
    ) as minutes
    from organizations o
    where o.id = ${orgId}`;
  return { timezone: row?.timezone ?? 'UTC', minutes: row?.minutes ?? DEFAULT_TIMES };
}

/** Those of the minutes that no post of the channel, or of the org, has taken: one look at the index for each. */
async function findFreeMinutes(sql: Sql, orgId: string, minutes: readonly Date[], channelId?: string): Promise<Date[]> {
  const rows = await sql<{ at: Date }[]>`
    select m.at
    from unnest(${minutes.map((at) => at.toISOString())}::timestamptz[]) as m (at)
    where not exists (
      select 1
      from posts p
      where p.org_id = ${orgId}
        and p.root_post_id is null
        and p.deleted_at is null
        and p.publish_date >= m.at
        and p.publish_date < m.at + interval '1 minute'
        ${channelId === undefined ? sql`` : sql`and p.channel_id = ${channelId}`}
      order by p.publish_date
      limit 1
    )
    order by m.at`;
  return rows.map(({ at }) => at);
}
