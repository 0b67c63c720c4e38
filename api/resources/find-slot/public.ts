import { routesOf } from '../../http/route.ts';
import { presentSlot, Slot } from '../posts/shape.ts';

const route = routesOf('posts');
const slot = {
  method: 'get',
  auth: ['api-key', 'oauth'],
  permission: 'posts:read',
  answer: Slot,
  present: presentSlot,
} as const;

export default [
  route({
    ...slot,
    path: '/public/v1/find-slot',
    summary: 'Find the next free posting time over all channels',
    description: 'In UTC.',
    handle: ({ rooms, principal }) => rooms.posts.findSlot(principal.orgId, undefined),
  }),
  route({
    ...slot,
    path: '/public/v1/find-slot/:id',
    summary: 'Find the next free posting time of a channel',
    description: 'In UTC.',
    handle: ({ rooms, principal, params }) => rooms.posts.findSlot(principal.orgId, params.id),
  }),
];
