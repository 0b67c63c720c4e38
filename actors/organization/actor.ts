import { z } from 'zod';
import { implementFor, type Turn } from '../../src/platform/actor-runtime/index.ts';
import type { Payments } from '../../src/billing/payments/index.ts';
import type { Posts } from '../../src/publishing/posts/index.ts';
import type { Webhooks } from '../../src/delivery/webhooks/index.ts';
import { admitPosts, type Room } from './admission.ts';
import { organizationActor } from './contract.ts';
import { releasePost, repeatPost, type SeriesNeeds } from './series.ts';

export interface OrganizationNeeds extends SeriesNeeds {
  posts: SeriesNeeds['posts'] & Pick<Posts, 'removeGroup' | 'undoPlan' | 'setBrake' | 'releaseBrake'>;
  webhooks: Pick<Webhooks, 'add' | 'change'>;
  payments: Pick<Payments, 'runTransitions' | 'nextTransition'>;
}
type Here = Turn<typeof organizationActor, unknown, Room, OrganizationNeeds>;

export default implementFor<OrganizationNeeds, Room>()(organizationActor, {
  state: z.object({}),
  memory: async () => ({}), // filled by the first look at the rows

  methods: {
    // Creates that met here travel on with those of other organizations: one commit for all.
    async admit(creates, { id, ctx, memory }) {
      const refused = await admitPosts(id, creates, ctx, memory);
      return creates.map(({ posts }, n) => refused[n] ?? { postIds: posts.map((post) => post.id) });
    },
    repeat: ({ postId }, { id, ctx, memory }) => repeatPost(id, postId, ctx, memory),
    release: ({ postId }, { id, ctx, memory }) => releasePost(id, postId, ctx, memory),
    async scheduleTransition(_, here) {
      here.memory.quota = undefined; // its plan has changed, most likely
      await scheduleNextTransition(here);
    },
    removeGroup: async ({ group }, { id, ctx }) => ({ deleted: await ctx.posts.removeGroup(id, group) }),
    undoPlan: ({ planId }, { id, ctx }) => ctx.posts.undoPlan(id, planId),
    pausePosts: async ({ target, by }, { id, ctx }) => ({ paused: await ctx.posts.setBrake(id, target, by) }),
    resumePosts: async ({ target, spacingSeconds, by }, { id, ctx }) => ({
      plan: await ctx.posts.releaseBrake(id, { ...target, spacingSeconds }, by),
    }),
    addWebhook: (webhook, { id, ctx }) => ctx.webhooks.add(id, webhook),
    changeWebhook: (change, { id, ctx }) => ctx.webhooks.change(id, change),
  },
  reminders: {
    // The end of a trial, the notices and the end of a grace period. Months turn by the commit that stores posts,
    // whoever is reminded.
    async transition(here) {
      await here.ctx.payments.runTransitions(here.id);
      await scheduleNextTransition(here);
    },
  },
});

/** Sets the reminder of the next transition, or forgets it. A sweep of the rows carries the guarantee. */
async function scheduleNextTransition({ id, ctx, remind, forget }: Here): Promise<void> {
  const due = await ctx.payments.nextTransition(id);
  if (due) await remind('transition', due);
  else await forget('transition');
}
