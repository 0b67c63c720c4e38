import { z } from 'zod';
import { presentClicks } from '../../src/publishing/shortlinks/index.ts';
import { route } from '../http/route.ts';

// Links of posts: whether to shorten them, and how often they were followed (S119).
export default [
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
