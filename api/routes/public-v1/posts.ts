import { z } from 'zod';
import { presentPublicPost, presentPublicPostWithThread } from '../../../src/posts/index.ts';
import { route } from '../../http/route.ts';
import { Post, postRoutes, PublicPost, Range, rangeOf } from '../_post-routes.ts';

const Item = PublicPost.extend({ error: z.string().nullable(), errorKind: z.string().nullable() });
/** The list item, the extras of S99, and the thread (T16). */
const One = Post.extend({ ...PublicPost.shape, thread: z.array(Item) });

export default [
  ...postRoutes({ prefix: '/public/v1', auth: ['api-key', 'oauth'], one: One, present: presentPublicPostWithThread }),
  route({
    method: 'get',
    path: '/public/v1/posts',
    summary: 'Posts by date; without dates 30 days back and ahead',
    auth: ['api-key', 'oauth'],
    permission: 'posts:read',
    query: Range.omit({ state: true }),
    answer: z.strictObject({ posts: z.array(PublicPost) }),
    handle: ({ ctx, principal, query }) => ctx.posts.list(principal.orgId, rangeOf(query, ctx.clock.now())),
    present: (posts) => ({ posts: posts.map(presentPublicPost) }),
  }),
];
