import { LOCKED, type Sql } from '../../../../platform/db/index.ts';
import type { PostsOptions } from '../../deps.ts';
import { editWithin } from '../changing/edit-statement.ts';
import type { Admitted, Create, PostAdmission } from '../input.ts';
import { dueChangeOf } from '../thread.ts';
import { checkDone, REFUSALS } from '../verdict.ts';
import { insertAll } from './insert.ts';
import { withinDays } from './program-days.ts';

export type AdmissionDeps = Pick<PostsOptions, 'sql' | 'clock' | 'reminders' | 'links' | 'options'>;

/** Takes a transaction back, with what is answered for it. */
class TakenBack extends Error {
  readonly admitted: Admitted | typeof LOCKED;
  constructor(admitted: Admitted | typeof LOCKED) {
    super('A part of the body was refused');
    this.admitted = admitted;
  }
}

/**
 * Stores the posts and makes the edits of one body in one transaction. It waits for no lock while it holds others:
 * neither order could be kept for both.
 */
export async function admitAsOne(needs: AdmissionDeps, admission: PostAdmission): Promise<Admitted | typeof LOCKED> {
  const { orgId, create } = admission;
  try {
    const { admitted, committed } = await needs.sql.begin(async (sql) => {
      const inserted = await withinDays(sql, [admission], async (fitting) => {
        if (!(await lockChannels(sql, orgId, create))) throw new TakenBack(LOCKED);
        return insertAll(needs, sql, fitting);
      });
      const [stored] = inserted.admitted;
      if (stored === undefined || stored === LOCKED || stored.refused || stored.stale)
        throw new TakenBack(stored ?? LOCKED);
      const moves = [...inserted.earlier];
      for (const { postId, change } of create.edits ?? []) {
        // a body is judged before it comes here, but for its drafts: of one that is queued by now nothing is stored
        const seen = await editWithin(needs, sql, { orgId, postId }, change, !change.unjudged);
        if (seen?.verdict === 'unjudged') throw REFUSALS.stale();
        const found = checkDone(seen, admission.quota);
        if (found.earlier) moves.push(dueChangeOf(found, found.earlier));
      }
      const earliest = new Map(
        moves.toSorted((a, b) => b.dueAt.getTime() - a.dueAt.getTime()).map((move) => [move.channelId, move]),
      ); // the last one of a key stays
      return {
        admitted: stored,
        committed: earliest.size > 0 ? await needs.reminders.within(sql, [...earliest.values()]) : undefined,
      };
    });
    committed?.();
    return admitted;
  } catch (error) {
    if (error instanceof TakenBack) return error.admitted;
    throw error;
  }
}

/**
 * Locks the channels of the posts that a body creates and edits, in the order of their ids. False: somebody else has
 * one of them.
 */
async function lockChannels(sql: Sql, orgId: string, { posts, edits = [] }: Create): Promise<boolean> {
  const [row] = await sql<{ all: boolean }[]>`
    with wanted as (
      select c.id
      from channels c
      where c.org_id = ${orgId}
        and (
          c.id = any(${posts.map(({ channelId }) => channelId)}::uuid[])
          or c.id in (
            select p.channel_id
            from posts p
            where p.org_id = ${orgId}
              and p.id = any(${edits.map(({ postId }) => postId)}::uuid[])
          )
        )
    ), locked as (
      select c.id
      from channels c
      where c.org_id = ${orgId}
        and c.id in (select id from wanted)
      order by c.id
      for no key update
      skip locked
    )
    select (select count(*) from wanted) = (select count(*) from locked) as all`;
  return row!.all;
}
