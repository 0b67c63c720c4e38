import { z } from 'zod';
import { DateText } from '../../../src/publishing/posts/index.ts';
import { AppError } from '../../../src/platform/kernel/index.ts';
import { authorOf } from '../../http/own.ts';
import { type Call, routesOf } from '../../http/route.ts';
import { postOf, updatable } from './handlers.ts';
import { PostWithThread, presentPostWithThread } from './shape.ts';

const route = routesOf('posts', 'members');

type OfPost = Call<'posts' | 'members', unknown, undefined, { id: string }>;

/** A post to be decided about; on an own one only where nobody else could. */
async function decidable({ rooms, actors, principal, params }: OfPost) {
  const { orgId, userId } = principal;
  if (
    (await rooms.posts.findAuthor(orgId, params.id)) === userId &&
    (await rooms.members.hasOther(orgId, userId, 'posts:manage'))
  )
    throw new AppError('forbidden', 'This is your own post: somebody else who may approve posts has to decide');
  return postOf(actors, orgId, params.id);
}
const thread = ({ rooms, principal, params }: OfPost) => rooms.posts.getPost(principal.orgId, params.id);

const decision = {
  method: 'post',
  auth: ['session'],
  impersonation: 'allowed',
  answer: PostWithThread,
  present: presentPostWithThread,
} as const;

/** The approval of posts (S121). */
export const approvalRoutes = [
  route({
    ...decision,
    path: '/posts/:id/approve',
    summary: 'Approve a post that waits for it',
    description:
      'It is queued with its thread. `contentHash` is that of the approval which was read: 409 when it is no longer that.',
    permission: 'posts:manage',
    body: z.strictObject({
      contentHash: z.string().max(128).optional(),
      publishDate: DateText.optional(),
    }),
    async handle(call) {
      await (await decidable(call)).approve({ ...call.body, by: authorOf(call.principal) });
      return thread(call);
    },
  }),
  route({
    ...decision,
    path: '/posts/:id/reject',
    summary: 'Reject a post that waits for approval',
    description: 'It is a draft from then on.',
    permission: 'posts:manage',
    body: z.strictObject({ reason: z.string().trim().min(1).max(2_000) }),
    async handle(call) {
      await (await decidable(call)).reject({ reason: call.body.reason, by: authorOf(call.principal) });
      return thread(call);
    },
  }),
  route({
    ...decision,
    path: '/posts/:id/request-approval',
    summary: 'Request approval of a draft',
    permission: 'posts:update',
    async handle(call) {
      await (await updatable(call, call.params.id)).requestApproval({ by: authorOf(call.principal) });
      return thread(call);
    },
  }),
];
