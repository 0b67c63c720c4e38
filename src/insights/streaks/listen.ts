import type { Sql } from '../../platform/db/index.ts';
import { listener } from '../../platform/outbox/index.ts';
import { dayIn } from './rules.ts';

/** Writes down the days on which organizations publish, in their zones as they are then. */
export const streaksListener = listener({
  name: 'streaks',
  topics: ['post.published'],
  lookMs: 1_000, // people do not notice
  async hear(sql, facts) {
    const first = facts.filter(({ payload }) => payload.rootPostId === null);
    if (first.length === 0) return;
    const zones = await zonesOf(sql, [...new Set(first.map(({ orgId }) => orgId))]);
    const days = new Map<string, { orgId: string; day: string }>();
    const dayOf = dayByMinute();
    for (const { orgId, at } of first) {
      const zone = zones.get(orgId);
      if (zone === undefined) continue; // the organization is gone
      const day = dayOf(zone, at);
      days.set(`${orgId} ${day}`, { orgId, day });
    }
    await insertDays(sql, [...days.values()]);
  },
});

/** As `dayIn`, found once for a zone and minute: thousands of posts go out in one. */
function dayByMinute(): typeof dayIn {
  const days = new Map<string, string>();
  return (zone, at) => {
    const key = `${zone} ${Math.floor(at.getTime() / 60_000)}`;
    const day = days.get(key) ?? dayIn(zone, at);
    days.set(key, day);
    return day;
  };
}

async function zonesOf(sql: Sql, orgIds: readonly string[]): Promise<Map<string, string>> {
  const rows = await sql<{ id: string; timezone: string }[]>`/* all orgs */
    select id, timezone
    from organizations
    where id = any(${[...orgIds]}::uuid[])
    order by id
    for key share`;
  return new Map(rows.map(({ id, timezone }) => [id, timezone]));
}

const insertDays = (sql: Sql, days: readonly { orgId: string; day: string }[]) => sql`/* all orgs */
  insert into streak_days (org_id, day)
  select org_id, day
  from unnest(${days.map(({ orgId }) => orgId)}::uuid[], ${days.map(({ day }) => day)}::text[]::date[]) as d (org_id, day)
  order by org_id, day
  on conflict do nothing`;
