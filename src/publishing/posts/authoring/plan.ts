import { claimKey, type KeyClaim, releaseKey } from '../../../platform/db/index.ts';
import { AppError, type FieldError, newId, notFound, sha256 } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { compose } from './compose.ts';
import type { NewPost, PostAuthor } from './input.ts';
import { tagsOf } from './named.ts';
import { findOutlooks } from './outlook.ts';
import { judgeRows, toWarnOf, warningsOfRow } from './plan-rows.ts';
import { findPlan, insertPlan, PLAN_SCOPE, type PlanItem } from './plan-store.ts';
import type { Warning } from './warnings.ts';

// Many create bodies at once (S124): judged together, kept as a plan, and created together once.

/**
 * What became of one row; once it is created, `postIds` are the first items of its body's posts, and `postId` is the
 * first of them.
 */
export interface PlanRow {
  index: number;
  valid: boolean;
  errors: FieldError[];
  postId?: string;
  /** Absent in what an earlier release has written. */
  postIds?: string[];
}
/** A row of a plan, and what is worth knowing before it is applied. */
export interface PlannedRow extends PlanRow {
  warnings: Warning[];
}
export interface AppliedPlan {
  created: number;
  rows: PlanRow[];
  /** What it created was deleted together. */
  isUndone?: boolean;
}

type Needs = Pick<PostsDeps, 'sql' | 'clock' | 'channels' | 'media' | 'profiles'>;

/** Judges create bodies as create does, warns as preflight does, and keeps those that are valid as a plan. */
export async function planPosts(
  deps: Needs & Pick<PostsDeps, 'billing'>,
  orgId: string,
  planId: string,
  bodies: readonly unknown[],
  by: PostAuthor,
): Promise<PlannedRow[]> {
  const rows = await judgeRows(
    deps,
    orgId,
    bodies.map((body, index) => ({ index, body })),
    by.userId,
  );
  const outlooks = await findOutlooks(deps, orgId, toWarnOf(rows), by);
  const items = rows.map(({ index, judged, errors }): PlanItem =>
    errors.length > 0
      ? { index, errors }
      : { index, body: bodies[index], warnings: warningsOfRow(judged?.elements ?? [], outlooks) },
  );
  const kept = await insertPlan(deps.sql, orgId, planId, items);
  return kept.map(({ index, errors = [], warnings = [] }) => ({ index, valid: errors.length === 0, errors, warnings }));
}

/** A plan that is being applied: `posts` and `applied` are to be stored in one commit, which completes `claim`. */
export type BegunPlan =
  | { kind: 'done'; applied: AppliedPlan }
  | { kind: 'claimed'; claim: KeyClaim; posts: NewPost[]; applied: AppliedPlan };

/** After so long somebody who applies a plan and has not committed counts as dead; how long others wait for them. */
const APPLY_LEASE_MS = 15_000;
const PATIENCE_MS = 20_000;
const LOOK_MS = 200;

/**
 * Judges the rows of a plan again and composes those that are still valid, or answers what its application came to: who
 * comes while somebody applies it waits for that, and goes on in the place of a process that died.
 * @throws AppError `not_found`, `link_expired` an hour after it was made, `conflict` for a plan that was undone
 */
export async function beginPlan(deps: Needs, orgId: string, planId: string, userId: string): Promise<BegunPlan> {
  const plan = await findPlan(deps.sql, orgId, planId);
  if (!plan) throw notFound('Plan not found');
  const claim = { orgId, scope: PLAN_SCOPE, key: planId, claim: newId() };
  const reply = await claimPlan(deps, claim);
  if (reply !== undefined) {
    const applied = JSON.parse(reply) as AppliedPlan; // as `posts` wrote it
    if (applied.isUndone)
      throw new AppError('conflict', 'The posts of this plan were deleted by undo: send its rows again');
    return { kind: 'done', applied };
  }
  try {
    if (plan.isOver) throw new AppError('link_expired', 'The plan is older than an hour: send its rows again');
    return { kind: 'claimed', claim, ...(await composePlan(deps, orgId, plan.items, userId)) };
  } catch (error) {
    await releasePlan(deps, claim);
    throw error;
  }
}

/** Claims a plan, or answers what was replied when it was applied. */
async function claimPlan({ sql, clock }: Needs, claim: KeyClaim): Promise<string | undefined> {
  const end = clock.monotonic() + PATIENCE_MS;
  for (;;) {
    const found = await claimKey(sql, claim, sha256(claim.key), APPLY_LEASE_MS);
    if (found.kind === 'claimed') return undefined;
    if (found.kind === 'done') return found.reply;
    if (clock.monotonic() >= end)
      throw new AppError('idempotency_in_flight', 'The plan is being applied: ask again', { retryAfterMs: 1_000 });
    await clock.sleep(LOOK_MS);
  }
}

/** Composes the rows of a plan that are still valid, and says what becomes of each. */
async function composePlan(
  deps: Needs,
  orgId: string,
  items: readonly PlanItem[],
  userId: string,
): Promise<{ posts: NewPost[]; applied: AppliedPlan }> {
  const rows = await judgeRows(
    deps,
    orgId,
    items.flatMap((item) => ('body' in item ? [item] : [])),
    userId,
  );
  const valid = rows.flatMap(({ judged, errors }) => (judged && errors.length === 0 ? [judged] : []));
  const tagIds = await tagsOf(
    deps,
    orgId,
    valid.map(({ body }) => body.tags),
  );
  const composed = new Map(valid.map((judged, n) => [judged, compose(judged, tagIds[n]!)]));
  const appliedRows = rows.map(({ index, judged, errors }): PlanRow => {
    const made = judged && composed.get(judged);
    const postIds = made?.reply.map(({ postId }) => postId);
    return { index, valid: made !== undefined, errors, ...(postIds && { postId: postIds[0]!, postIds }) };
  });
  return {
    posts: [...composed.values()].flatMap(({ posts }) => posts),
    applied: { created: composed.size, rows: appliedRows },
  };
}

/** Gives a plan back that could not be applied, as if nobody had begun. */
export const releasePlan = async ({ sql }: Pick<Needs, 'sql'>, claim: KeyClaim): Promise<void> =>
  void (await releaseKey(sql, claim));
