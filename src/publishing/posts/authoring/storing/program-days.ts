import { addPosts, lockPostDays } from '../../../../entitlements/index.ts';
import type { LOCKED, Sql } from '../../../../platform/db/index.ts';
import { AppError } from '../../../../platform/kernel/index.ts';
import type { DueChange } from '../../ports.ts';
import { findKnownPosts } from './admit.ts';
import type { Admitted, PostAdmission } from '../input.ts';
import { rootsOf } from './quotas.ts';

/** What the statement that stores creates answers: for each of them, and the roots of threads that are new. */
interface Inserted {
  admitted: (Admitted | typeof LOCKED)[];
  earlier: DueChange[];
  roots: readonly string[];
}

const dayIsFull = (max: number, retryAfterMs: number) =>
  new AppError('rate_limited', `This key or app may create ${max} posts a day (UTC), and has no room for this`, {
    limit: 'postsPerDay',
    max,
    retryAfterMs,
  });

/**
 * Stores creates as far as the days of their programs have room, each whole or not at all, and counts what was really
 * stored. In the caller's transaction: the days are locked before all else, until the commit. Without a program that
 * has a cap there is nothing of this.
 */
export async function withinDays(
  sql: Sql,
  admissions: readonly PostAdmission[],
  insert: (admissions: readonly PostAdmission[]) => Promise<Inserted>,
): Promise<Omit<Inserted, 'roots'>> {
  const programs = new Set(admissions.flatMap(({ create }) => create.programId ?? []));
  const days = new Map(
    programs.size > 0 ? (await lockPostDays(sql, [...programs])).map((day) => [day.programId, day]) : [],
  );
  if (days.size === 0) return insert(admissions);
  const dayOf = ({ create }: PostAdmission) => (create.programId ? days.get(create.programId) : undefined);

  const left = new Map([...days].map(([id, day]) => [id, day.left]));
  const refused = new Map<number, AppError>();
  for (const [n, admission] of admissions.entries()) {
    const day = dayOf(admission);
    const wanted = rootsOf(admission.create);
    if (!day || wanted === 0) continue;
    const room = left.get(day.programId)!;
    if (wanted <= room) left.set(day.programId, room - wanted);
    // one that came twice is stored already, and takes no room
    else if (!(await isKnown(sql, admission))) refused.set(n, dayIsFull(day.max, day.untilNextMs));
  }

  const fitting = admissions.filter((_, n) => !refused.has(n));
  const inserted = fitting.length > 0 ? await insert(fitting) : { admitted: [], earlier: [], roots: [] };
  const made = new Set(inserted.roots);
  const counts = [...days.values()].map(({ programId, day }) => ({
    programId,
    day,
    posts: fitting
      .filter(({ create }) => create.programId === programId)
      .reduce((sum, { create }) => sum + create.posts.filter(({ id }) => made.has(id)).length, 0),
  }));
  if (made.size > 0) await addPosts(sql, counts);
  const answers = inserted.admitted.values();
  return {
    admitted: admissions.map((_, n) => {
      const error = refused.get(n);
      return error ? { refused: error } : answers.next().value!;
    }),
    earlier: inserted.earlier,
  };
}

const isKnown = async (sql: Sql, { orgId, create }: PostAdmission): Promise<boolean> =>
  (await findKnownPosts({ sql }, orgId, [create.posts[0]!.id])).size > 0;
