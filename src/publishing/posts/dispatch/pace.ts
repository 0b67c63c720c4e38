import type { Database } from '../../../platform/db/index.ts';
import type { Paced } from '../channels-port.ts';
import { publishing } from '../state.ts';
import type { Attempt, AttemptOutcome, ClaimedPost } from './attempt.ts';

/** A window is used up for so long. */
export type PacedOut = Extract<AttemptOutcome, { kind: 'paced' }>;

class UsedUp extends Error {
  readonly outcome: PacedOut;
  constructor(outcome: PacedOut) {
    super();
    this.outcome = outcome;
  }
}

/**
 * Takes a post, or what follows one, out of each window, or out of none: answers how long to wait where one is used up.
 * The rows are those of all processes, so that channels of one account or app share what their network allows. What was
 * prepared ahead counts from now on.
 */
export async function takePaces(
  sql: Database,
  paces: readonly Paced[],
  claimed?: Pick<ClaimedPost, keyof Attempt | 'saved'>,
): Promise<PacedOut | undefined> {
  try {
    await sql.begin(async (transaction) => {
      for (const { key, posts, ms, of } of paces) {
        const taken = await transaction`
          insert into network_paces as p (key, posts, until)
          values (${key}, 1, now() + ${ms}::float8 * interval '1 ms')
          on conflict (key) do update
          set posts = case when p.until <= now() then 1 else p.posts + 1 end,
            until = case when p.until <= now() then excluded.until else p.until end
          where p.until <= now()
            or p.posts < ${posts}
          returning p.key`;
        if (taken.length > 0) continue;
        const [window] = await transaction<{ waitMs: number }[]>`
          select ceil(extract(epoch from until - now()) * 1000)::float8 as "waitMs"
          from network_paces
          where key = ${key}`;
        throw new UsedUp({ kind: 'paced', againMs: Math.max(window?.waitMs ?? 0, 1), of });
      }
      if (claimed?.saved !== undefined)
        await transaction`
          update posts p
          set saved = p.saved - 'ahead'
          where p.org_id = ${claimed.orgId}
            and p.id = ${claimed.postId}
            and p.attempt = ${claimed.attempt}
            and p.incarnation = ${claimed.incarnation}
            and ${publishing(transaction)}`;
    });
    return undefined;
  } catch (error) {
    if (error instanceof UsedUp) return error.outcome;
    throw error;
  }
}

/** How long a window of these is still used up, in milliseconds; undefined where each has room. Takes nothing. */
export async function waitOfPaces(sql: Database, paces: readonly Paced[]): Promise<number | undefined> {
  if (paces.length === 0) return undefined;
  const [window] = await sql<{ waitMs: number | null }[]>`
    select ceil(max(extract(epoch from p.until - now())) * 1000)::float8 as "waitMs"
    from network_paces p
    join unnest(${paces.map(({ key }) => key)}::text[], ${paces.map(({ posts }) => posts)}::int[]) as t (key, posts)
      on p.key = t.key
    where p.until > now()
      and p.posts >= t.posts`;
  return window?.waitMs ?? undefined;
}

/** Forgets windows that have ended; answers how many. */
export async function dropEndedPaces(sql: Database, limit: number): Promise<number> {
  const rows = await sql`
    delete from network_paces
    where key in (
        select key
        from network_paces
        where until <= now()
        order by until
        limit ${limit}
      )
      and until <= now()
    returning key`;
  return rows.length;
}
