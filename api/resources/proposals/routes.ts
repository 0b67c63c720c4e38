import { z } from 'zod';
import { pageOf } from '../../../src/platform/kernel/index.ts';
import { DateText } from '../../../src/publishing/posts/index.ts';
import { PROPOSAL_STATUSES } from '../../../src/publishing/proposals/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import { routesOf } from '../../http/route.ts';
import { acceptProposal } from './handlers.ts';
import { presentProposal, Proposal } from './shape.ts';

const route = routesOf('posts', 'proposals');

const one = { auth: ['session'], answer: Proposal, present: presentProposal } as const;
const decision = { ...one, method: 'post', impersonation: 'allowed', permission: 'posts:create' } as const;

export default [
  route({
    method: 'get',
    path: '/proposals',
    summary: 'List posts that programs propose',
    description: 'Newest first. Nobody has to decide: a proposal expires after 30 days.',
    auth: ['session'],
    permission: 'posts:read',
    query: z.object({
      status: z.enum(PROPOSAL_STATUSES).optional(),
      limit: z.coerce.number().int().min(1).max(100).default(50),
      cursor: z.uuid('take it from the page before').optional(),
    }),
    answer: z.strictObject({ items: z.array(Proposal), nextCursor: z.string().nullable() }),
    async handle({ rooms, principal, query: { status, limit, cursor } }) {
      return pageOf(
        await rooms.proposals.list(principal.orgId, { status }, { limit: limit + 1, before: cursor }),
        limit,
      );
    },
    present: ({ items, nextCursor }) => ({ items: items.map(presentProposal), nextCursor }),
  }),
  route({
    ...one,
    method: 'get',
    path: '/proposals/:id',
    summary: 'Get posts that a program proposes',
    permission: 'posts:read',
    handle: ({ rooms, principal, params }) => rooms.proposals.get(principal.orgId, params.id),
  }),
  route({
    ...decision,
    path: '/proposals/:id/accept',
    summary: 'Accept a proposal and create its posts',
    description:
      'The posts are created as by `POST /posts` now; what that refuses leaves the proposal pending. With `date` they are scheduled for it.',
    planLimit: 'posts_per_month',
    idempotent: true,
    body: z.strictObject({ date: DateText.optional() }),
    handle: (call) => acceptProposal(call),
  }),
  route({
    ...decision,
    path: '/proposals/:id/reject',
    summary: 'Reject a proposal',
    body: z.strictObject({ reason: z.string().trim().min(1).max(1_000).optional() }),
    handle: (call) =>
      call.rooms.proposals.reject(call.principal.orgId, auditActor(call), call.params.id, call.body.reason ?? null),
  }),
];
