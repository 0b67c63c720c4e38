import type { Fragment, Sql } from '../platform/db/index.ts';

/** What a program may do at most; null: as much as its owner. Days are those of UTC. */
export interface ProgramLimits {
  requestsPerHour: number | null;
  postsPerDay: number | null;
  aiCentsPerDay: number | null;
}
/** The limits of a program that asks. */
export interface HeldLimits extends ProgramLimits {
  /** The program in whose hour its requests count: of keys that replaced each other the first one. */
  hourOf: string;
}
/** An API key, or what a person approved an app for. */
export type ProgramKind = 'api-key' | 'authorization';
/** The day of a program, locked: how many posts it has left of it. */
export interface PostDay {
  programId: string;
  day: string;
  max: number;
  left: number;
  untilNextMs: number;
}

const NO_LIMITS: ProgramLimits = { requestsPerHour: null, postsPerDay: null, aiCentsPerDay: null };

// The id of a program is that of a credential that was shown, never of an input: where it counts, it is named without
// its organization, as the key of a super-admin acts in others too.

/** The limits of the program of that id, for the look-up of a credential; null where it has none. */
export const limitsOfProgram = (sql: Sql, programId: Fragment): Fragment => sql`(
    select json_build_object('requestsPerHour', l.requests_per_hour, 'postsPerDay', l.posts_per_day,
      'aiCentsPerDay', l.ai_cents_per_day, 'hourOf', coalesce(l.hour_of, l.program_id))
    from program_limits l
    where l.program_id = ${programId}
  )`;

export async function findProgramLimits(sql: Sql, orgId: string, programId: string): Promise<ProgramLimits> {
  const [row] = await sql<ProgramLimits[]>`
    select requests_per_hour as "requestsPerHour", posts_per_day as "postsPerDay", ai_cents_per_day as "aiCentsPerDay"
    from program_limits
    where org_id = ${orgId}
      and program_id = ${programId}`;
  return row ?? NO_LIMITS;
}

/** Writes limits; what the program has used of its day stays counted. */
export const writeProgramLimits = (
  sql: Sql,
  orgId: string,
  { kind, id }: { kind: ProgramKind; id: string },
  { requestsPerHour, postsPerDay, aiCentsPerDay }: ProgramLimits,
) => sql`
  insert into program_limits (org_id, api_key_id, authorization_id, requests_per_hour, posts_per_day, ai_cents_per_day)
  values (${orgId}, ${kind === 'api-key' ? id : null}, ${kind === 'authorization' ? id : null}, ${requestsPerHour},
    ${postsPerDay}, ${aiCentsPerDay})
  on conflict (program_id) do update
    set requests_per_hour = excluded.requests_per_hour, posts_per_day = excluded.posts_per_day,
      ai_cents_per_day = excluded.ai_cents_per_day, updated_at = now()`;

/**
 * Gives a key that replaces another its limits, its hour, and the posts that it has created today; waits for those that
 * are being counted.
 */
export const copyKeyLimits = (sql: Sql, orgId: string, from: string, to: string) => sql`
  insert into program_limits (org_id, api_key_id, requests_per_hour, posts_per_day, ai_cents_per_day, posts_day, posts,
    hour_of)
  select org_id, ${to}, requests_per_hour, posts_per_day, ai_cents_per_day, posts_day, posts,
    coalesce(hour_of, program_id)
  from (
    select *
    from program_limits
    where org_id = ${orgId}
      and api_key_id = ${from}
    for no key update
  ) old`;

/**
 * Locks the days of programs that have a cap of posts until the commit, in the order of their ids. A day never goes
 * back: who has waited over midnight counts in the new one.
 */
export const lockPostDays = (sql: Sql, programIds: readonly string[]) => sql<PostDay[]>`/* all orgs */
  select l.program_id as "programId", d.day::text, l.posts_per_day as max,
    l.posts_per_day - case when l.posts_day = d.day then l.posts else 0 end as left,
    ceil(extract(epoch from (d.day + 1)::timestamp at time zone 'UTC' - now()) * 1000)::float8 as "untilNextMs"
  from program_limits l
  cross join lateral (select greatest(l.posts_day, (now() at time zone 'UTC')::date) as day) d
  where l.program_id = any(${[...programIds]}::uuid[])
    and l.posts_per_day is not null
  order by l.program_id
  for no key update of l`;

/** Counts posts in days that the caller has locked. */
export const addPosts = (sql: Sql, counts: readonly { programId: string; day: string; posts: number }[]) => sql`
  /* all orgs */
  update program_limits l
  set posts_day = c.day::date, posts = case when l.posts_day = c.day::date then l.posts else 0 end + c.posts
  from unnest(${counts.map(({ programId }) => programId)}::uuid[], ${counts.map(({ day }) => day)}::text[],
    ${counts.map(({ posts }) => posts)}::int[]) as c (program_id, day, posts)
  where l.program_id = c.program_id`;

/** What a program may spend on AI in a day of UTC, in cents; null: no cap. */
export async function findAiCap(sql: Sql, programId: string): Promise<number | null> {
  const [row] = await sql<{ cents: number | null }[]>`/* all orgs */
    select ai_cents_per_day as cents
    from program_limits
    where program_id = ${programId}`;
  return row?.cents ?? null;
}
