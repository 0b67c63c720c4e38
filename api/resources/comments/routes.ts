import { z } from 'zod';
import { postActor } from '../../../actors/post/contract.ts';
import { tenantKey } from '../../../src/platform/kernel/index.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { routesOf } from '../../http/route.ts';
import { Comment, presentComment } from './shape.ts';

const route = routesOf('comments');

const Change = z
  .strictObject({ done: z.boolean().optional(), hidden: z.boolean().optional() })
  .refine(({ done, hidden }) => done !== undefined || hidden !== undefined, 'needs done or hidden');

export default [
  route({
    method: 'get',
    path: '/comments',
    summary: 'List comments of the networks below posts',
    description:
      'Newest first, those of the channels themselves included. `unanswered`: of people, without a reply, and not done.',
    auth: ['session'],
    permission: 'comments:read',
    query: z.object({
      integrationId: z.string().min(1).max(255).optional(),
      postId: z.string().min(1).max(255).optional(),
      unanswered: z.stringbool().optional(),
      limit: z.coerce.number().int().min(1).max(100).default(50),
      cursor: z.uuid('take it from the page before').optional(),
    }),
    answer: z.strictObject({ items: z.array(Comment), nextCursor: z.string().nullable() }),
    handle: ({ rooms, principal, query }) => rooms.comments.listComments(principal.orgId, query),
    present: ({ items, nextCursor }) => ({ items: items.map(presentComment), nextCursor }),
  }),

  route({
    method: 'post',
    path: '/comments/sync',
    summary: 'Request new comments of a channel',
    description: 'Within about a minute, in place of its next turn.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'comments:update',
    body: z.strictObject({ integrationId: z.string().min(1).max(255) }),
    answer: z.strictObject({ queued: z.literal(true) }),
    handle: ({ rooms, principal, body }) => rooms.comments.queueSync(principal.orgId, body.integrationId),
    present: () => ({ queued: true as const }),
  }),

  route({
    method: 'post',
    path: '/comments/:id/reply',
    summary: 'Send a reply to a comment',
    description: 'By the channel of its post, once; `reply` of the answer, and of the list, says what became of it.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'comments:create',
    creates: true,
    idempotent: true,
    body: z.strictObject({ content: z.string().max(100_000) }),
    answer: Comment,
    async handle({ rooms, actors, principal: { orgId }, params, body, idempotency }) {
      const kept = keptAnswer(idempotency, 201, presentComment);
      const reply = await rooms.comments.replyToComment(orgId, params.id, body.content, kept);
      await actors(postActor, tenantKey(orgId, reply.postId))
        .followUp({})
        .catch(() => undefined); // the row carries the guarantee; this saves the time until the reconciler looks
      return reply;
    },
    present: presentComment,
  }),

  route({
    method: 'patch',
    path: '/comments/:id',
    summary: 'Change a comment',
    description: '`done` concerns the inbox alone; `hidden` hides it at its network, where that is possible.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'comments:update',
    body: Change,
    answer: Comment,
    handle: ({ rooms, principal, params, body }) => rooms.comments.changeComment(principal.orgId, params.id, body),
    present: presentComment,
  }),
];
