import { z } from 'zod';
import { presentPublicPost, presentPublicPostWithThread } from '../../../src/publishing/posts/index.ts';
import { routesOf } from '../../http/route.ts';
import { listOf, listPosts, Post, postRoutes, PublicPost, Range } from './handlers.ts';

const route = routesOf('clock', 'posts');

const Item = PublicPost.extend({ error: z.string().nullable(), errorKind: z.string().nullable() });
/** The list item, the extras of S99, and the thread (T16). */
const One = Post.extend({ ...PublicPost.shape, thread: z.array(Item) });

export default [
  ...postRoutes({ prefix: '/public/v1', auth: ['api-key', 'oauth'], one: One, present: presentPublicPostWithThread }),
  route({
    method: 'get',
    path: '/public/v1/posts',
    summary: 'List posts by date',
    description: 'Without dates from 30 days back to 30 days ahead.',
    auth: ['api-key', 'oauth'],
    permission: 'posts:read',
    query: Range.omit({ state: true }),
    answer: listOf(PublicPost),
    handle: (call) => listPosts({ ...call, query: { ...call.query, state: undefined } }),
    present: ({ posts, ...more }) => ({ posts: posts.map(presentPublicPost), ...more }),
  }),
];
