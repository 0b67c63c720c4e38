import { z } from 'zod';
import { implementFor } from '../../src/actor-runtime/index.ts';
import type { Posts } from '../../src/posts/index.ts';
import type { Webhooks } from '../../src/webhooks/index.ts';
import { organizationActor } from './contract.ts';

export interface OrganizationNeeds {
  posts: Pick<Posts, 'admit' | 'removeGroup'>;
  webhooks: Pick<Webhooks, 'add' | 'change'>;
}
/** Without billing no limit refuses anything (clients.md S216). */
const UNLIMITED = Number.MAX_SAFE_INTEGER;

export default implementFor<OrganizationNeeds>()(organizationActor, {
  state: z.object({}),

  methods: {
    // Creates that met here travel on with those of other organizations: one commit for all.
    async admit(creates, { id, ctx }) {
      const refused = await ctx.posts.admit(id, creates);
      return creates.map(({ posts }, n) => refused[n] ?? { postIds: posts.map((post) => post.id) });
    },
    removeGroup: async ({ group }, { id, ctx }) => ({ deleted: await ctx.posts.removeGroup(id, group) }),
    addWebhook: (webhook, { id, ctx }) => ctx.webhooks.add(id, webhook, UNLIMITED),
    changeWebhook: (change, { id, ctx }) => ctx.webhooks.change(id, change),
  },
  reminders: {},
});
