import { dealt, type Fragment, type Sql } from '../../../platform/db/index.ts';
import { AHEAD_MS, LATE_ROOT_MS, LEAST_AHEAD_MS } from '../rules.ts';
import { preparable, preparableBehind } from '../state.ts';
import { works } from './recover.ts';

// Which posts can be prepared ahead of the publish date, and when they go out.

/**
 * What is prepared: posts with files on `networks`, as `id@version`, of which those in `behind` need no item to be out
 * for the next one, and posts with files that lie below none of `ownAddresses`. Files are media, and what
 * `fileSettings` name.
 */
export interface Preparable {
  networks: readonly string[];
  behind: readonly string[];
  fileSettings: readonly { network: string; setting: string }[];
  ownAddresses: readonly string[];
}

/** The network of the channel `c`, as `id@version`. */
const network = (sql: Sql): Fragment => sql`c.provider_id || '@' || c.provider_version`;

/** Rows (path) with the addresses of the files of `p`; one that is named by its id alone has none. */
const filesOfRow = (sql: Sql, { fileSettings }: Preparable): Fragment => sql`(
      select m ->> 'path' as path
      from jsonb_array_elements(p.media) m
      union all
      select case jsonb_typeof(p.settings -> f.setting)
        when 'string' then p.settings ->> f.setting
        else p.settings -> f.setting ->> 'path' end
      from unnest(
        ${fileSettings.map((one) => one.network)}::text[],
        ${fileSettings.map(({ setting }) => setting)}::text[]
      ) as f (network, setting)
      where f.network = ${network(sql)}
        and p.settings -> f.setting not in ('null', '""')
    ) files`;

export const ms = (sql: Sql, time: number): Fragment => sql`${time}::float8 * interval '1 ms'`;

/** When `p` goes out, at the earliest: of an item behind others after the delays of all of them. */
export const comes = (sql: Sql): Fragment => sql`
  case
    when p.root_post_id is null then p.publish_date
    when p.due_at is not null then p.due_at
    else p.publish_date + (
      select sum(q.delay_minutes) * interval '1 minute'
      from posts q
      where q.org_id = p.org_id
        and q.root_post_id = p.root_post_id
        and q.seq <= p.seq
    )
  end`;

/** The first item of a thread, near its date. */
const isRoot = (sql: Sql): Fragment => sql`
  ${preparable(sql)}
    and p.publish_date <= now() + ${ms(sql, AHEAD_MS)}
    and p.publish_date > now() + ${ms(sql, LEAST_AHEAD_MS)}`;

/** An item that waits for the one before it, once the date of its root, which nothing holds up, is near. */
const isBehindOthers = (sql: Sql): Fragment => sql`
  ${preparableBehind(sql)}
    and p.due_at is null
    and p.publish_date <= now() + ${ms(sql, AHEAD_MS)}
    and p.publish_date > now() - ${ms(sql, LATE_ROOT_MS)}
    and exists (
      select
      from posts r
      where r.id = p.root_post_id
        and r.org_id = p.org_id
        and r.state in ('QUEUE', 'PUBLISHED')
        and r.detail is distinct from 'paused'
        and r.deleted_at is null
    )`;

/** An item that waits for its delay alone: the one before it is out. */
const isDelayed = (sql: Sql): Fragment => sql`
  ${preparableBehind(sql)}
    and p.due_at > now() + ${ms(sql, LEAST_AHEAD_MS)}`;

/**
 * `p` in the channel `c` has something to prepare, there is time for it, and nobody does it. What an attempt at an item
 * has saved is the next attempt's.
 */
const isOpen = (sql: Sql, what: Preparable): Fragment => sql`
  (p.prepare_at is null or p.prepare_at <= now())
    and (p.root_post_id is null or p.attempt = 0)
    and ${works(sql)}
    and ${comes(sql)} > now() + ${ms(sql, LEAST_AHEAD_MS)}
    and exists (
      select
      from ${filesOfRow(sql, what)}
      where p.due_at is not null and ${network(sql)} = any(${[...what.networks]}::text[])
        or ${network(sql)} = any(${[...what.behind]}::text[])
        or path <> '' and not path ^@ any(${[...what.ownAddresses]}::text[])
    )`;

/** Selects posts that can be prepared now, for a scan over all organizations, dealt over them. */
export function unpreparedPosts(sql: Sql, what: Preparable, limit: number): Fragment {
  const waiting = (condition: Fragment) => sql`
        select p.org_id as "orgId", p.id as "postId", coalesce(p.due_at, p.publish_date) as at
        from posts p
        join channels c on c.id = p.channel_id and c.org_id = p.org_id
        where ${condition}
          and ${isOpen(sql, what)}`;
  return sql`
  select 'prepare' as work, "orgId", "postId", now() as now
  from ${dealt(
    sql,
    sql`${waiting(isRoot(sql))}
        union all ${waiting(isBehindOthers(sql))}
        union all ${waiting(isDelayed(sql))}`,
    limit,
  )} unprepared`;
}

/** `p` in the channel `c` can be prepared now. */
export const isPreparable = (sql: Sql, what: Preparable): Fragment => sql`
  (${isRoot(sql)} or ${isBehindOthers(sql)} or ${isDelayed(sql)})
    and ${isOpen(sql, what)}`;
