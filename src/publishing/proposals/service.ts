import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database, Json } from '../../platform/db/index.ts';
import { AppError, bind, isId, newId, notFound, sha256Hex } from '../../platform/kernel/index.ts';
import { KEPT_DAYS, MOST_PENDING } from './rules.ts';
import * as store from './store.ts';

interface ProposalsDeps {
  sql: Database;
}
type Person = AuditActor & { userId: string };

const closed = () => new AppError('conflict', 'This proposal was decided already, or has expired');

/** Keeps posts that somebody proposes for a person to decide about; nothing of a plan is used. */
async function propose(
  { sql }: ProposalsDeps,
  orgId: string,
  proposal: { content: Json; excerpt: string; proposedBy: string; program: string | null },
): Promise<store.ProposalRow> {
  const id = newId();
  const contentHash = sha256Hex(JSON.stringify(proposal.content));
  await sql.begin(async (tx) => {
    if ((await store.countPending(tx, orgId)) >= MOST_PENDING)
      throw new AppError('conflict', `${MOST_PENDING} proposals are pending: a person must decide about some first`);
    await store.insertProposal(tx, orgId, { ...proposal, id, contentHash });
  });
  return get({ sql }, orgId, id);
}

/** @throws AppError `not_found` */
async function get({ sql }: ProposalsDeps, orgId: string, id: string): Promise<store.ProposalRow> {
  const row = isId(id) ? await store.findProposal(sql, orgId, id) : undefined;
  if (!row) throw notFound('Proposal not found');
  return row;
}

/** A page of proposals, newest first. */
const list = (
  { sql }: ProposalsDeps,
  orgId: string,
  filter: { status?: store.ProposalStatus | undefined },
  page: { limit: number; before?: string | undefined },
): Promise<readonly store.ProposalRow[]> => store.listProposals(sql, orgId, filter, page);

/**
 * Accepts a proposal: `create` makes its posts, where they are not there yet, under ids that are the same each time, and
 * what it refuses leaves the proposal pending. Two at once make one set of posts; one
 * that was killed on the way is accepted again.
 * @throws AppError `conflict` for one that was decided or has expired
 */
async function accept(
  deps: ProposalsDeps,
  orgId: string,
  by: Person,
  id: string,
  create: (proposal: store.ProposalRow) => Promise<readonly string[]>,
): Promise<store.ProposalRow> {
  const { sql } = deps;
  const proposal = await get(deps, orgId, id);
  if (!(await store.beginAcceptance(sql, orgId, id))) throw closed();
  const postIds = await create(proposal).catch(async (error: unknown) => {
    if (error instanceof AppError && error.status < 500) await store.dropAcceptance(sql, orgId, id);
    throw error;
  });
  await sql.begin(async (tx) => {
    if (!(await store.decideProposal(tx, orgId, id, { by: by.userId, postIds }))) return; // somebody else was quicker
    await writeAudit(tx, by, {
      orgId,
      action: 'proposal.accepted',
      resource: 'posts',
      resourceId: id,
      detail: { postIds: [...postIds] },
    });
  });
  return get(deps, orgId, id);
}

/**
 * Rejects a proposal.
 * @throws AppError `conflict` for one that was decided, has expired, or whose acceptance is under way or has left posts
 */
async function reject(
  deps: ProposalsDeps,
  orgId: string,
  by: Person,
  id: string,
  reason: string | null,
): Promise<store.ProposalRow> {
  await get(deps, orgId, id);
  await deps.sql.begin(async (tx) => {
    if (!(await store.decideProposal(tx, orgId, id, { by: by.userId, reason }))) throw closed();
    await writeAudit(tx, by, {
      orgId,
      action: 'proposal.rejected',
      resource: 'posts',
      resourceId: id,
      detail: { reason },
    });
  });
  return get(deps, orgId, id);
}

/** Posts that programs propose and people decide about. */
export const openProposals = (deps: ProposalsDeps) => ({
  ...bind(deps, { propose, get, list, accept, reject }),
  /** Forgets at most `limit` old ones; answers how many. */
  dropOld: (limit: number) => store.oldProposals.drop(deps.sql, KEPT_DAYS, limit),
});
export type Proposals = ReturnType<typeof openProposals>;
