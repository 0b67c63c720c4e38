import { z } from 'zod';
import { DateText, presentPost, presentPostWithThread, STATES } from '../../../src/publishing/posts/index.ts';
import { presentClicks } from '../../../src/publishing/shortlinks/index.ts';
import { route } from '../../http/route.ts';
import { listOf, listPosts, Post, postRoutes, presentSlot, Range, Slot, updatable } from './handlers.ts';

const number = (fallback: number, most: number) => z.coerce.number().int().min(0).max(most).default(fallback);
const slot = (path: '/posts/find-slot' | '/posts/find-slot/:integrationId') =>
  route({
    method: 'get',
    path,
    summary: 'The next free posting time, in UTC',
    auth: ['session'],
    permission: 'posts:read',
    answer: Slot,
    handle: ({ ctx, principal, params }) => ctx.posts.findSlot(principal.orgId, params['integrationId']),
    present: presentSlot,
  });

export default [
  ...postRoutes({ prefix: '', auth: ['session'], one: Post.extend({ thread: z.array(Post) }), present: presentPostWithThread }),
  route({
    method: 'get',
    path: '/posts',
    summary: 'Posts by date; without dates 30 days back and ahead',
    auth: ['session'],
    permission: 'posts:read',
    query: Range,
    answer: listOf(Post),
    handle: listPosts,
    present: ({ posts, ...more }) => ({ posts: posts.map(presentPost), ...more }),
  }),
  route({
    method: 'get',
    path: '/posts/list',
    summary: 'Posts page by page, from page 0, the latest date first; `total` counts up to 10,000',
    auth: ['session'],
    permission: 'posts:read',
    query: z.object({
      page: number(0, 1_000_000),
      limit: number(50, 100),
      customer: z.string().max(255).optional(),
      state: z.enum(['all', 'scheduled', 'draft', 'published', 'error']).default('all'),
    }),
    answer: z.strictObject({ posts: z.array(Post), total: z.int(), page: z.int(), limit: z.int(), hasMore: z.boolean() }),
    async handle({ ctx, principal, query: { page, limit, customer, state } }) {
      const found = await ctx.posts.page(principal.orgId, {
        page,
        limit: Math.max(limit, 1),
        ...(customer && { customerId: customer }),
        ...(state !== 'all' && { state: STATES[state] }),
      });
      return { ...found, page, limit: Math.max(limit, 1) };
    },
    present: ({ posts, ...more }) => ({ posts: posts.map(presentPost), ...more }),
  }),
  route({
    method: 'get',
    path: '/posts/group/:group',
    summary: 'The posts of a group',
    auth: ['session'],
    permission: 'posts:read',
    params: z.object({ group: z.string().min(1).max(255) }),
    answer: z.strictObject({ group: z.string(), posts: z.array(Post) }),
    async handle({ ctx, principal, params: { group } }) {
      return { group, posts: await ctx.posts.group(principal.orgId, group) };
    },
    present: ({ group, posts }) => ({ group, posts: posts.map(presentPost) }),
  }),
  route({
    method: 'put',
    path: '/posts/:id/date',
    summary: 'Moves a post to another date; `update` leaves a draft a draft',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'posts:update',
    body: z.strictObject({ date: DateText, action: z.enum(['schedule', 'update']).default('schedule') }),
    answer: z.strictObject({ id: z.string(), publishDate: z.string(), state: z.string() }),
    async handle({ params, body, ...call }) {
      const id = params['id']!;
      return { id, ...(await (await updatable(call, id)).setDate(body)) };
    },
    present: ({ id, publishDate, state }) => ({ id, publishDate: publishDate.toISOString(), state }),
  }),
  slot('/posts/find-slot'),
  slot('/posts/find-slot/:integrationId'),

  route({
    method: 'post',
    path: '/posts/should-shortlink',
    summary: 'Whether to ask a person if the links of these texts are to be shortened',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'posts:create',
    body: z.strictObject({ messages: z.array(z.string().max(100_000)).max(100) }),
    answer: z.strictObject({ ask: z.boolean() }),
    handle: ({ ctx, principal, body }) => ctx.shortlinks.shouldAsk(principal.orgId, body.messages),
    present: (ask) => ({ ask }),
  }),
  route({
    method: 'get',
    path: '/posts/:id/statistics',
    summary: 'How often the short links of a post and its thread were followed; null where the provider does not tell',
    auth: ['session'],
    permission: 'posts:read',
    answer: z.strictObject({ clicks: z.array(z.strictObject({ short: z.string(), original: z.string(), clicks: z.int().nullable() })) }),
    async handle({ ctx, principal, params: { id } }) {
      await ctx.posts.get(principal.orgId, id!);
      return ctx.shortlinks.clicks(principal.orgId, id!);
    },
    present: presentClicks,
  }),
];
