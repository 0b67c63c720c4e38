import { keptAnswer } from '../../http/idempotency.ts';
import { type AuthKind, routesOf } from '../../http/route.ts';
import { NewTag, presentTag, presentTags, Tag, TagList } from './tags.shape.ts';

const route = routesOf('posts');

/** What both dialects do with tags, each below its path. */
export const tagRoutes = <const Path extends '/posts/tags' | '/public/v1/tags'>(
  path: Path,
  auth: readonly [AuthKind, ...AuthKind[]],
) => [
  route({
    method: 'get',
    path,
    summary: 'List tags of posts',
    auth,
    permission: 'campaigns:read',
    answer: TagList,
    revision: () => '',
    handle: ({ rooms, principal }) => rooms.posts.listTags(principal.orgId),
    present: presentTags,
  }),
  route({
    method: 'post',
    path,
    summary: 'Create a tag for posts',
    description: 'Names are unique in the organization, whatever their case.',
    auth,
    impersonation: 'allowed',
    permission: 'campaigns:create',
    idempotent: true,
    creates: true,
    body: NewTag,
    answer: Tag,
    handle: ({ rooms, principal: { orgId, userId }, body, idempotency }) =>
      rooms.posts.createTag(orgId, { ...body, createdBy: userId }, keptAnswer(idempotency, 201, presentTag)),
    present: presentTag,
  }),
];
