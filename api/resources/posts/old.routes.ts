import { z } from 'zod';
import type { PostRow } from '../../../src/publishing/posts/index.ts';
import { routesOf } from '../../http/route.ts';
import { Integration, presentIntegration, queryDate } from './shape.ts';

const route = routesOf('clock', 'posts');

const OldPosts = z.array(
  z.strictObject({ id: z.string(), content: z.string(), publishDate: z.string(), integration: Integration }),
);
/** Published posts in short (S119). */
const presentOldPosts = (rows: readonly PostRow[]): z.input<typeof OldPosts> =>
  rows.map((row) => ({
    id: row.id,
    content: row.content,
    publishDate: row.publishDate.toISOString(),
    integration: presentIntegration(row),
  }));

export default [
  route({
    method: 'get',
    path: '/posts/old',
    summary: 'List published posts up to a date',
    description: 'The latest 100 of those whose date was at or before `date`, which is now unless it is given.',
    auth: ['session'],
    permission: 'posts:read',
    query: z.object({ date: queryDate }),
    answer: OldPosts,
    handle: ({ rooms, principal, query }) =>
      rooms.posts.listPublished(principal.orgId, query.date ?? rooms.clock.now()),
    present: presentOldPosts,
  }),
];
