import type { z } from 'zod';
import { organizationActor } from '../../../actors/organization/contract.ts';
import { AppError, idFrom, newId } from '../../../src/platform/kernel/index.ts';
import type { AppliedPlan, PlannedRow } from '../../../src/publishing/posts/index.ts';
import { authorOf } from '../../http/own.ts';
import { countedPosts } from '../../http/program.ts';
import { type AuthKind, type Call, type IdempotencyClaim, routesOf } from '../../http/route.ts';
import { Applied, BulkBody, Plan, presentApplied, presentPlan, Undone } from './bulk.shape.ts';

const route = routesOf('posts');

/** Bytes of a bulk body (S8). */
const BULK_BYTES = 10_000_000;

/** A request that is repeated with its key makes the same plan, so that it is applied once. */
const planIdOf = (idempotency: IdempotencyClaim | undefined): string =>
  idempotency ? idFrom(`${idempotency.orgId} ${idempotency.scope} ${idempotency.key}`) : newId();

async function planBulk(
  call: Call<'posts', z.output<typeof BulkBody>>,
): Promise<{ planId: string; rows: readonly PlannedRow[] }> {
  const { rooms, principal, body, idempotency } = call;
  const planId = planIdOf(idempotency);
  const rows = await rooms.posts.planPosts(principal.orgId, planId, body.items, authorOf(principal));
  if (!body.apply) return { planId, rows };
  const applied = new Map((await applyPlan(call, planId)).rows.map((row) => [row.index, row]));
  return { planId, rows: rows.map((row) => ({ ...row, ...applied.get(row.index) })) };
}

/** Who was so slow that somebody else took the plan over is refused by the commit, and looks what became of it. */
const MOST_TRIES = 3;

/** Creates the rows of a plan that are still valid, in one commit with the answer: whoever comes again gets that. */
async function applyPlan(
  { rooms, actors, principal }: Pick<Call<'posts'>, 'rooms' | 'actors' | 'principal'>,
  planId: string,
): Promise<AppliedPlan> {
  const { orgId } = principal;
  const { userId, schedulesFreely } = authorOf(principal);
  for (let tries = 1; ; tries++) {
    const begun = await rooms.posts.beginPlan(orgId, planId, userId);
    if (begun.kind === 'done') return begun.applied;
    const { claim, posts, applied } = begun;
    try {
      const idempotency = {
        scope: claim.scope,
        key: claim.key,
        claim: claim.claim,
        status: 201,
        reply: JSON.stringify(applied),
      };
      await actors(organizationActor, orgId).admit({
        posts,
        createdBy: userId,
        schedulesFreely,
        ...countedPosts(principal),
        idempotency,
      });
      return applied;
    } catch (error) {
      const isTaken = error instanceof AppError && error.code === 'idempotency_in_flight';
      if (!isTaken || tries === MOST_TRIES) {
        if (error instanceof AppError && error.status < 500) await rooms.posts.releasePlan(claim);
        throw error;
      }
    }
  }
}

/** The routes of both dialects. */
export const bulkRoutes = (prefix: '' | '/public/v1', auth: readonly [AuthKind, ...AuthKind[]]) => [
  route({
    method: 'post',
    path: `${prefix}/posts/bulk`,
    summary: 'Check many create bodies as one plan',
    description:
      'Judges up to 500 rows and keeps the valid ones for an hour as a plan, or creates them at once with `apply`.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:create',
    planLimit: 'posts_per_month',
    limit: '60/hour',
    idempotent: true,
    creates: true,
    body: BulkBody,
    bodyLimit: BULK_BYTES,
    answer: Plan,
    handle: planBulk,
    present: presentPlan,
  }),
  route({
    method: 'post',
    path: `${prefix}/posts/bulk/:planId/apply`,
    summary: 'Create the valid posts of a plan',
    description:
      'Rows that became invalid are told and left out; the others are created together, or none of them. Once: asked again, it answers the same, and 409 after undo.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:create',
    planLimit: 'posts_per_month',
    limit: '60/hour',
    idempotent: true,
    creates: true,
    answer: Applied,
    handle: (call) => applyPlan(call, call.params.planId),
    present: presentApplied,
  }),
  route({
    method: 'post',
    path: `${prefix}/posts/bulk/:planId/undo`,
    summary: 'Delete the posts of an applied plan',
    description:
      'For ten minutes after it was applied. What is published, on its way or changed since is kept, and named with its reason.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:delete',
    limit: '60/hour',
    answer: Undone,
    handle: ({ actors, principal, params: { planId } }) =>
      actors(organizationActor, principal.orgId).undoPlan({ planId }),
    present: (undone) => undone,
  }),
];
