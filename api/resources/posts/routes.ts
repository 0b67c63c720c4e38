import { z } from 'zod';
import { DateText, separateContent, STATES } from '../../../src/publishing/posts/index.ts';
import { authorOf } from '../../http/own.ts';
import { routesOf } from '../../http/route.ts';
import { approvalRoutes } from './approval.handlers.ts';
import { brakeRoutes } from './brake.handlers.ts';
import { isWholeList, listPosts, postRoutes, revisionOfList, updatable } from './handlers.ts';
import { noteRoutes } from './notes.handlers.ts';
import {
  listOf,
  Occurrences,
  Post,
  PostWithThread,
  presentOccurrences,
  presentPost,
  presentPostWithThread,
  presentSlot,
  presentStatistics,
  Range,
  Slot,
  Statistics,
} from './shape.ts';

const route = routesOf('clock', 'posts', 'shortlinks');

const number = (fallback: number, { min, max }: Record<'min' | 'max', number>) =>
  z.coerce.number().int().min(min).max(max).default(fallback);
const slot = {
  method: 'get',
  auth: ['session'],
  permission: 'posts:read',
  answer: Slot,
  present: presentSlot,
} as const;

export default [
  ...postRoutes({ prefix: '', auth: ['session'], one: PostWithThread, present: presentPostWithThread }),
  ...approvalRoutes,
  ...brakeRoutes({ prefix: '', auth: ['session'] }),
  ...noteRoutes,
  route({
    method: 'get',
    path: '/posts',
    summary: 'List posts by date',
    description: 'Without dates from 30 days back to 30 days ahead.',
    auth: ['session'],
    permission: 'posts:read',
    query: Range,
    answer: listOf(Post),
    revision: revisionOfList,
    isWhole: isWholeList,
    handle: listPosts,
    present: ({ posts, ...more }) => ({ posts: posts.map(presentPost), ...more }),
  }),
  route({
    method: 'get',
    path: '/posts/list',
    summary: 'List posts page by page',
    description: 'Pages count from 0, the latest date first; `total` counts up to 10,000.',
    auth: ['session'],
    permission: 'posts:read',
    query: z.object({
      page: number(0, { min: 0, max: 1_000_000 }),
      limit: number(50, { min: 1, max: 100 }),
      customer: z.string().max(255).optional(),
      state: z.enum(['all', 'scheduled', 'draft', 'published', 'error']).default('all'),
    }),
    answer: z.strictObject({
      posts: z.array(Post),
      total: z.int(),
      page: z.int(),
      limit: z.int(),
      hasMore: z.boolean(),
    }),
    revision: () => '',
    async handle({ rooms, principal, query: { page, limit, customer, state } }) {
      const found = await rooms.posts.listPage(principal.orgId, {
        page,
        limit,
        ...(customer && { customerId: customer }),
        ...(state !== 'all' && { state: STATES[state] }),
      });
      return { ...found, page, limit };
    },
    present: ({ posts, ...more }) => ({ posts: posts.map(presentPost), ...more }),
  }),
  route({
    method: 'get',
    path: '/posts/group/:group',
    summary: 'List posts of a group',
    auth: ['session'],
    permission: 'posts:read',
    params: z.object({ group: z.string().min(1).max(255) }),
    answer: z.strictObject({ group: z.string(), posts: z.array(Post) }),
    async handle({ rooms, principal, params: { group } }) {
      return { group, posts: await rooms.posts.getGroup(principal.orgId, group) };
    },
    present: ({ group, posts }) => ({ group, posts: posts.map(presentPost) }),
  }),
  route({
    method: 'put',
    path: '/posts/:id/date',
    summary: 'Reschedule a post',
    description: 'With `action: update` a draft stays a draft.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'posts:update',
    body: z.strictObject({ date: DateText, action: z.enum(['schedule', 'update']).default('schedule') }),
    answer: z.strictObject({ id: z.string(), publishDate: z.string(), state: z.string() }),
    async handle({ params, body, ...call }) {
      const id = params.id;
      return { id, ...(await (await updatable(call, id)).setDate({ ...body, by: authorOf(call.principal) })) };
    },
    present: ({ id, publishDate, state }) => ({ id, publishDate: publishDate.toISOString(), state }),
  }),
  route({
    ...slot,
    path: '/posts/find-slot',
    summary: 'Find the next free posting time',
    description: 'In UTC.',
    handle: ({ rooms, principal }) => rooms.posts.findSlot(principal.orgId, undefined),
  }),
  route({
    ...slot,
    path: '/posts/find-slot/:integrationId',
    summary: 'Find the next free posting time',
    description: 'In UTC.',
    handle: ({ rooms, principal, params }) => rooms.posts.findSlot(principal.orgId, params.integrationId),
  }),

  route({
    method: 'post',
    path: '/posts/should-shortlink',
    summary: 'Check whether to offer short links',
    description: 'For the links of these texts.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'posts:create',
    body: z.strictObject({ messages: z.array(z.string().max(100_000)).max(100) }),
    answer: z.strictObject({ ask: z.boolean() }),
    handle: ({ rooms, principal, body }) => rooms.shortlinks.shouldAsk(principal.orgId, body.messages),
    present: (ask) => ({ ask }),
  }),
  route({
    method: 'post',
    path: '/posts/separate-posts',
    summary: 'Split a text into posts',
    description:
      'Answers plain texts of at most `len` UTF-16 units; links, mentions and hashtags stay whole, and are longer where they have to be.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'posts:create',
    body: z.strictObject({ content: z.string().max(100_000), len: z.int().min(1).max(100_000) }),
    answer: z.strictObject({ posts: z.array(z.string()) }),
    handle: async ({ body: { content, len } }) => separateContent(content, len),
    present: (posts) => ({ posts }),
  }),
  route({
    method: 'get',
    path: '/posts/:id/occurrences',
    summary: 'List the next dates of a post',
    description: 'The ten dates on which a post that recurs is published next, its own first; none for another post.',
    auth: ['session'],
    permission: 'posts:read',
    answer: Occurrences,
    handle: ({ rooms, principal, params: { id } }) => rooms.posts.listDates(principal.orgId, id!),
    present: presentOccurrences,
  }),
  route({
    method: 'get',
    path: '/posts/:id/statistics',
    summary: 'Get short link clicks of a post',
    description: 'Those of its thread too; `null` where the provider does not report clicks.',
    auth: ['session'],
    permission: 'posts:read',
    answer: Statistics,
    async handle({ rooms, principal, params: { id } }) {
      await rooms.posts.getPost(principal.orgId, id!);
      return rooms.shortlinks.clicks(principal.orgId, id!);
    },
    present: presentStatistics,
  }),
];
