import { groupCommit, LOCKED, type Sql } from '../../../../platform/db/index.ts';
import { newId } from '../../../../platform/kernel/index.ts';
import type { Admitted, Create, PostAdmission } from '../input.ts';
import { type AdmissionDeps, admitAsOne } from './admit-with-edits.ts';
import { insertions } from './insert-statement.ts';
import { insertAll } from './insert.ts';
import { withinDays } from './program-days.ts';

/**
 * Stores whole creates of many organizations in one commit: posts, timeline, outbox, idempotency key with its reply,
 * next due times, and the reminders of channels that came nearer. Rows that are there already are not written twice,
 * nor counted. One that edits posts as well has a commit of its own, in which all of it holds or nothing.
 */
export function admitOf(needs: AdmissionDeps): (admission: PostAdmission) => Promise<Admitted> {
  const { sql: database, clock, reminders } = needs;
  const statements = insertions(reminders);
  const commitOf = () =>
    groupCommit(
      async (_: Sql, admissions: readonly PostAdmission[]): Promise<(Admitted | typeof LOCKED)[]> => {
        const version = newId();
        const store = (sql: Sql) =>
          withinDays(sql, admissions, (fitting) => insertAll(needs, sql, fitting, { statements, version }));
        const isSingle = admissions.every(({ create }) => isOneStatement(create));
        const { admitted, earlier } = await (isSingle ? store(database) : database.begin(store));
        reminders.moved(earlier, version);
        return admitted;
      },
      { weigh, heaviest: HEAVIEST, ownerOf: ({ orgId }) => orgId, clock },
    );
  const together = commitOf();
  const byPrograms = commitOf(); // they wait for the days of their programs, and nobody waits for that

  return async (admission) => {
    const { edits, programId } = admission.create;
    if (!edits?.length) return (programId === undefined ? together : byPrograms)(database, admission);
    for (let tries = 0; ; tries++) {
      const admitted = await admitAsOne(needs, admission);
      if (admitted !== LOCKED) return admitted;
      await clock.sleep(Math.min(LOCKED_MS * 2 ** tries, LONGEST_MS));
    }
  };
}

/** How long a create with edits waits before it looks again whether somebody else still has a row of it locked. */
const LOCKED_MS = 5;
const LONGEST_MS = 250;

/**
 * What one statement may carry, in characters: a longer text costs memory several times over, and everybody in the
 * commit waits for it.
 */
const HEAVIEST = 8_000_000;
const OF_A_ROW = 1_000;
const weigh = ({ create: { posts } }: PostAdmission) =>
  posts.reduce(
    (sum, { content, title, description }) =>
      sum + OF_A_ROW + content.length + (title?.length ?? 0) + (description?.length ?? 0),
    0,
  );

/** Without links and the days of a program the statement is the whole commit, and two exchanges around it are saved. */
const isOneStatement = ({ posts, programId }: Create) =>
  programId === undefined && posts.every(({ shortLinks }) => !shortLinks);
