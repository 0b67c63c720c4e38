import { LOCKED, type Sql } from '../../../../platform/db/index.ts';
import { AppError } from '../../../../platform/kernel/index.ts';
import type { PostsOptions } from '../../deps.ts';
import type { DueChange } from '../../ports.ts';
import { post } from '../../row.ts';
import { firstCommentOf } from '../follow-ups.ts';
import type { Admitted, PostAdmission } from '../input.ts';
import { type InsertAnswer, type Insertions, UNMOVED } from './insert-statement.ts';
import { quotasOf } from './quotas.ts';

const REFUSED = {
  channel: () => new AppError('invalid_request', 'Integration not found'),
  claim: () => new AppError('idempotency_in_flight', 'Another request with this Idempotency-Key took over'),
};

const linkedOf = (admissions: readonly PostAdmission[]) =>
  admissions.flatMap(({ orgId, create }) =>
    create.posts.flatMap(({ id, content, settings, rootPostId, shortLinks }) => {
      const comment = rootPostId ? undefined : firstCommentOf(settings);
      const texts = comment === undefined ? [content] : [content, comment];
      return shortLinks ? texts.map((text) => ({ orgId, postId: id, content: text })) : [];
    }),
  );

/**
 * Runs the statement, and says what became of each create and which reminders have to move, or, with `moving`, are
 * moved.
 */
export async function insertAll(
  { links, options }: Pick<PostsOptions, 'links' | 'options'>,
  sql: Sql,
  admissions: readonly PostAdmission[],
  moving?: { statements: Insertions; version: string },
) {
  const answer = await insert(sql, admissions, options.horizonMs, moving);
  const linked = linkedOf(admissions);
  if (linked.length > 0) await links.plan(sql, linked); // of posts that were refused nothing is kept
  const refused = new Map((answer.refused ?? []).map(({ n, why }) => [n, why]));
  const used = new Map((answer.used ?? []).map((one) => [one.orgId, one.used]));
  const admitted = admissions.map(({ orgId }, n): Admitted | typeof LOCKED => {
    const why = refused.get(n);
    if (why === 'locked') return LOCKED;
    return why === 'stale' ? { stale: true } : { refused: why && REFUSED[why](), used: used.get(orgId) };
  });
  return {
    admitted,
    earlier: (answer.earlier ?? []).map((one): DueChange => ({ ...one, dueAt: new Date(one.dueAt) })),
    roots: answer.roots ?? [],
  };
}

async function insert(
  sql: Sql,
  admissions: readonly PostAdmission[],
  horizonMs: number,
  { statements, version }: { statements: Insertions; version: string | null } = { statements: UNMOVED, version: null },
): Promise<InsertAnswer> {
  let ordinal = 0;
  const items = admissions.flatMap(({ orgId, create, waitsForRoom = false }, n) =>
    create.posts.map((one) => ({
      ...post.pick('create', one),
      state: one.state,
      publishDate: one.publishDate,
      orgId,
      createdBy: create.createdBy,
      schedulesFreely: create.schedulesFreely ?? false,
      approvalBy: create.approval?.by ?? null,
      approvalAt: create.approval?.at ?? null,
      approvalHash: create.approval?.hash ?? null,
      waitsForRoom,
      n,
      ordinal: ordinal++,
    })),
  );
  const claims = admissions.flatMap(({ orgId, create: { idempotency } }, n) =>
    idempotency ? [{ ...idempotency, orgId, n }] : [],
  );
  const quotas = quotasOf(admissions);
  const isCounted = admissions.some(({ create }) => create.programId !== undefined);
  const statement = statements[Number(quotas.length > 0)]![Number(isCounted)]!;
  const [answer] = await statement(sql, {
    items: JSON.stringify(items),
    claims: JSON.stringify(claims),
    quotas: JSON.stringify(quotas),
    horizonMs,
    version,
  });
  return answer!;
}
