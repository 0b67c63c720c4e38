import { z } from 'zod';
import { ownOnly } from '../../http/own.ts';
import { routesOf } from '../../http/route.ts';
import { tagRoutes } from './tags.handlers.ts';
import { presentTag, Tag, TagChange } from './tags.shape.ts';

const route = routesOf('posts');

export default [
  ...tagRoutes('/posts/tags', ['session']),
  route({
    method: 'put',
    path: '/posts/tags/:id',
    summary: 'Change a tag of posts',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'campaigns:update',
    body: TagChange,
    answer: Tag,
    async handle({ rooms, principal, params: { id }, body }) {
      await ownOnly(principal, () => rooms.posts.findTagAuthor(principal.orgId, id));
      return rooms.posts.changeTag(principal.orgId, id, body);
    },
    present: presentTag,
  }),
  route({
    method: 'delete',
    path: '/posts/tags/:id',
    summary: 'Delete a tag of posts',
    description: 'Posts that have it stay, without it.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'campaigns:delete',
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, principal, params: { id } }) {
      await rooms.posts.removeTag(principal.orgId, id);
      return { id };
    },
    present: (removed) => removed,
  }),
];
