import type { Fragment, Sql } from '../../platform/db/index.ts';
import type { BriefWeek } from './rules.ts';

/** Whose role may read what AI does: system roles, and permissions that roles of organizations grant. */
export interface MayRead {
  roles: readonly string[];
  grants: readonly string[];
}

/**
 * Members of living organizations whom a brief reaches: who may read it, by some way that they chose, and whose master is
 * on. Without a reader nothing is counted, and no model is paid. A choice that is no object reaches nobody, and breaks no
 * other.
 */
const reached = (sql: Sql, { roles, grants }: MayRead): Fragment => sql`
      select m.org_id, m.user_id
      from user_profiles p
      join users u on u.id = p.user_id and u.activated and u.deleted_at is null
      join memberships m on m.user_id = p.user_id and not m.disabled
      join organizations o on o.id = m.org_id and o.deleted_at is null and o.disabled_at is null
      left join roles r on r.org_id = m.org_id and r.id::text = m.role_key
      where p.notification_preferences #> '{categories,agent_briefs}' is not null
        and (m.role_key = any(${[...roles]}::text[]) or r.permissions && ${[...grants]}::text[])
        and exists (
          select
          from jsonb_each(
            case
              when jsonb_typeof(p.notification_preferences #> '{categories,agent_briefs}') = 'object'
              then p.notification_preferences #> '{categories,agent_briefs}'
            end
          ) as chosen (way, is_on)
          where is_on = 'true'
            and coalesce(p.notification_preferences #> array['master', way], 'true') = 'true'
        )`;

/** Whom the brief reaches is a reader of it in each of their organizations, and whom it does no more is none. */
export async function keepReaders(sql: Sql, mayRead: MayRead, limit: number): Promise<void> {
  await sql`/* all orgs */
    delete from agent_brief_readers r
    where not exists (
      select
      from (${reached(sql, mayRead)}
      ) p
      where p.org_id = r.org_id
        and p.user_id = r.user_id
    )`;
  await sql`/* all orgs */
    insert into agent_brief_readers (org_id, user_id)
    select p.org_id, p.user_id
    from (${reached(sql, mayRead)}
    ) p
    where not exists (
      select
      from agent_brief_readers r
      where r.org_id = p.org_id
        and r.user_id = p.user_id
    )
    order by p.org_id, p.user_id
    limit ${limit}
    on conflict do nothing`;
}

/** The zones of readers, and the time by the database's clock. */
export const zonesOfReaders = (sql: Sql) => sql<{ timezone: string; now: Date }[]>`/* all orgs */
  select distinct p.timezone, now() as now
  from agent_brief_readers r
  join user_profiles p on p.user_id = r.user_id`;

interface ReaderKey {
  orgId: string;
  userId: string;
}
export interface DueReader extends ReaderKey {
  timezone: string;
  /** They had chosen the brief before the week ended. */
  isTold: boolean;
}

export type EndedWeek = Pick<BriefWeek, 'monday'> & { timezone: string };

/** Readers whose week has ended, beside those without which they are asked for. */
export const findDueReaders = (
  sql: Sql,
  weeks: readonly EndedWeek[],
  limit: number,
  without: readonly ReaderKey[],
): Promise<DueReader[]> => sql<DueReader[]>`/* all orgs */
  select r.org_id as "orgId", r.user_id as "userId", w.timezone, r.told_for is not null as "isTold"
  from unnest(
    ${weeks.map(({ timezone }) => timezone)}::text[],
    ${weeks.map(({ monday }) => monday)}::text[]::date[]
  ) as w (timezone, monday)
  join user_profiles p on p.timezone = w.timezone
  join agent_brief_readers r on r.user_id = p.user_id
  where (r.told_for is null or r.told_for < w.monday)
    and (r.org_id, r.user_id) not in (
      select *
      from unnest(${without.map(({ orgId }) => orgId)}::uuid[], ${without.map(({ userId }) => userId)}::uuid[])
    )
  order by r.org_id, r.user_id
  limit ${limit}`;

/** Claims a reader whose week has ended, once a week, in the commit of the caller; false: another process did. */
export async function claimReader(sql: Sql, { orgId, userId }: ReaderKey, monday: string): Promise<boolean> {
  const { count } = await sql`
    update agent_brief_readers r
    set told_for = ${monday}::date
    where r.org_id = ${orgId}
      and r.user_id = ${userId}
      and (r.told_for is null or r.told_for < ${monday}::date)`;
  return count > 0;
}

/** What agents and models did for an organization in a week. */
export interface BriefCounts {
  acts: number;
  /** The names of the keys and apps that acted. */
  programs: string[];
  /** Proposals made in the week, and those that wait for a person now. */
  proposals: number;
  waiting: number;
  runs: number;
  /** Paid to providers of AI and media, by the days of UTC. */
  spentMicros: number;
  /** Drafts that agents or runs wrote and that are still drafts. */
  drafts: number;
}

/** The post was made by a step of a run: its group is that of the step. */
const isOfRun = (sql: Sql): Fragment => sql`exists (
          select
          from run_steps s
          where s.id = case when p.group_id ~ '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$' then p.group_id::uuid end
            and s.org_id = p.org_id
        )`;

export async function countWeek(sql: Sql, orgId: string, { from, to, begins, ends }: BriefWeek): Promise<BriefCounts> {
  const within = (column: Fragment): Fragment => sql`${column} >= ${begins} and ${column} < ${ends}`;
  const [counts] = await sql<BriefCounts[]>`
    select
      a.acts, coalesce(a.programs, '{}') as programs, p.proposals, p.waiting, d.drafts, r.runs, s.spent as "spentMicros"
    from (
      select count(*)::int as acts,
        (array_agg(distinct detail ->> 'program') filter (where detail ? 'program'))[1:5] as programs
      from audit_log
      where org_id = ${orgId}
        and detail ? 'credential'
        and detail ? 'act'
        and ${within(sql`at`)}
    ) a, (
      select count(*) filter (where ${within(sql`created_at`)})::int as proposals,
        count(*) filter (where state = 'pending' and expires_at > now())::int as waiting
      from proposals
      where org_id = ${orgId}
    ) p, (
      select count(*)::int as drafts
      from posts p
      where org_id = ${orgId}
        and (creation_method = 'MCP' or ${isOfRun(sql)})
        and state = 'DRAFT'
        and root_post_id is null
        and deleted_at is null
        and ${within(sql`created_at`)}
    ) d, (
      select count(*)::int as runs
      from runs
      where org_id = ${orgId}
        and ${within(sql`created_at`)}
    ) r, (
      select coalesce(sum(spent), 0)::float8 as spent
      from ai_spend
      where org_id = ${orgId}
        and domain = ''
        and provider_id = ''
        and period = 'day'
        and starts between ${from}::date and ${to}::date
    ) s`;
  return counts!;
}
