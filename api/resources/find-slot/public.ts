import { route } from '../../http/route.ts';
import { presentSlot, Slot } from '../posts/handlers.ts';

export default (['/public/v1/find-slot', '/public/v1/find-slot/:id'] as const).map((path) =>
  route({
    method: 'get',
    path,
    summary: path.endsWith(':id') ? 'The next free posting time of a channel, in UTC' : 'The next free posting time over all channels, in UTC',
    auth: ['api-key', 'oauth'],
    permission: 'posts:read',
    answer: Slot,
    handle: ({ ctx, principal, params }) => ctx.posts.findSlot(principal.orgId, params['id']),
    present: presentSlot,
  }),
);
