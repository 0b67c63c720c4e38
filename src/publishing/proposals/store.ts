import { type Json, oldRows, type Sql } from '../../platform/db/index.ts';
import { announce } from '../../platform/outbox/index.ts';
import { ACCEPTING_MINUTES, PENDING_DAYS, postIdOf } from './rules.ts';

/** A proposal as it stands; `expired`: nobody decided in time. */
export interface ProposalRow {
  id: string;
  content: Json;
  contentHash: string;
  status: ProposalStatus;
  proposedBy: string | null;
  program: string | null;
  createdAt: Date;
  expiresAt: Date;
  decidedBy: string | null;
  decidedAt: Date | null;
  reason: string | null;
  postIds: string[] | null;
}
export const PROPOSAL_STATUSES = ['pending', 'accepted', 'rejected', 'expired'] as const;
export type ProposalStatus = (typeof PROPOSAL_STATUSES)[number];

export interface NewProposal {
  id: string;
  content: Json;
  contentHash: string;
  proposedBy: string;
  program: string | null;
  /** The first words of it, for people. */
  excerpt: string;
}

const status = (sql: Sql) =>
  sql`case when p.state = 'pending' and p.expires_at <= now() then 'expired' else p.state end`;
const columns = (sql: Sql) => sql`
  p.id, p.content, p.content_hash as "contentHash", ${status(sql)} as status, p.proposed_by as "proposedBy", p.program,
  p.created_at as "createdAt", p.expires_at as "expiresAt", p.decided_by as "decidedBy", p.decided_at as "decidedAt",
  p.reason, p.post_ids as "postIds"`;

/** Held until the commit, so that two at once cannot both be the last that are possible. */
export async function countPending(sql: Sql, orgId: string): Promise<number> {
  await sql`select from organizations where id = ${orgId} for no key update`;
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int as count
    from proposals
    where org_id = ${orgId}
      and state = 'pending'
      and expires_at > now()`;
  return row!.count;
}

/** Stores a proposal and announces it. */
export const insertProposal = (sql: Sql, orgId: string, proposal: NewProposal) => sql`
  with made as (
    insert into proposals (id, org_id, content, content_hash, proposed_by, program, expires_at)
    values (${proposal.id}, ${orgId}, ${sql.json(proposal.content)}, ${proposal.contentHash}, ${proposal.proposedBy},
      ${proposal.program}, now() + ${PENDING_DAYS}::int * interval '1 day')
    returning id, org_id, proposed_by, program
  ),
  ${announce(sql, {
    'proposal.created': {
      from: sql`made`,
      payload: { proposedBy: sql`proposed_by`, program: sql`program`, excerpt: sql`${proposal.excerpt}::text` },
    },
  })}
  select from made`;

export async function findProposal(sql: Sql, orgId: string, id: string): Promise<ProposalRow | undefined> {
  const [row] = await sql<ProposalRow[]>`
    select ${columns(sql)} from proposals p where p.org_id = ${orgId} and p.id = ${id}`;
  return row;
}

/** Newest first; `before`: an id of the page before. */
export const listProposals = (
  sql: Sql,
  orgId: string,
  filter: { status?: ProposalStatus | undefined },
  page: { limit: number; before?: string | undefined },
) => sql<ProposalRow[]>`
  select ${columns(sql)}
  from proposals p
  where p.org_id = ${orgId}
    ${filter.status === undefined ? sql`` : sql`and ${status(sql)} = ${filter.status}`}
    ${page.before === undefined ? sql`` : sql`and p.id < ${page.before}`}
  order by p.id desc
  limit ${page.limit}`;

/**
 * Begins an acceptance of what is pending: while it may be under way, and once its posts are there, nobody rejects it, and
 * it does not expire.
 */
export async function beginAcceptance(sql: Sql, orgId: string, id: string): Promise<boolean> {
  const rows = await sql`
    update proposals
    set acceptances = acceptances + 1, accepting_until = now() + ${ACCEPTING_MINUTES}::int * interval '1 minute'
    where org_id = ${orgId}
      and id = ${id}
      and state = 'pending'
      and (expires_at > now() or not ${isUntouched(sql, orgId, id)})
    returning 1`;
  return rows.length > 0;
}

/** An acceptance that was refused: nothing of it is there. */
export const dropAcceptance = (sql: Sql, orgId: string, id: string) => sql`
  update proposals
  set acceptances = acceptances - 1
  where org_id = ${orgId}
    and id = ${id}
    and state = 'pending'
    and acceptances > 0`;

/**
 * No acceptance of the proposal is under way, and none has left posts. They are made in one commit, so the first of them
 * stands for all.
 */
const isUntouched = (sql: Sql, orgId: string, id: string) => sql`(
        acceptances = 0
        or coalesce(accepting_until, '-infinity') < now()
        and not exists (select from posts where org_id = ${orgId} and id = ${postIdOf(id, 0)})
      )`;

/** Ends what is pending; false: somebody else did. */
export async function decideProposal(
  sql: Sql,
  orgId: string,
  id: string,
  decision: { by: string; postIds: readonly string[] } | { by: string; reason: string | null },
): Promise<boolean> {
  const isAccepted = 'postIds' in decision;
  const rows = await sql`
    update proposals
    set state = ${isAccepted ? 'accepted' : 'rejected'}, decided_by = ${decision.by}, decided_at = now(),
      reason = ${isAccepted ? null : decision.reason},
      post_ids = ${isAccepted ? [...decision.postIds] : null}::uuid[]
    where org_id = ${orgId}
      and id = ${id}
      and state = 'pending'
      ${isAccepted ? sql`` : sql`and expires_at > now() and ${isUntouched(sql, orgId, id)}`}
    returning 1`;
  return rows.length > 0;
}

/** Proposals that ended or expired long ago. */
export const oldProposals = oldRows('proposals', 'expires_at');
