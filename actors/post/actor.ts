import { z } from 'zod';
import { implementFor, type Turn } from '../../src/platform/actor-runtime/index.ts';
import { splitTenantKey, tenantKey } from '../../src/platform/kernel/index.ts';
import type { FollowUps } from '../../src/publishing/follow-ups/index.ts';
import type { Posts } from '../../src/publishing/posts/index.ts';
import { channelActor } from '../channel/contract.ts';
import { LOOK_UPS, postActor } from './contract.ts';

export interface PostNeeds {
  posts: Pick<
    Posts,
    | 'editPost'
    | 'removePost'
    | 'retryPost'
    | 'setRelease'
    | 'approvePost'
    | 'rejectPost'
    | 'requestApproval'
    | 'findUnsettled'
    | 'lookUp'
    | 'settleAttempt'
    | 'claimPreparation'
    | 'prepareAhead'
  >;
  followUps: Pick<FollowUps, 'follow'>;
}
type Here = Turn<typeof postActor, unknown, undefined, PostNeeds>;

export default implementFor<PostNeeds>()(postActor, {
  state: z.object({}),

  // Each is one conditional change; a channel whose next due time came nearer has its reminder moved in the same
  // commit.
  methods: {
    edit: (change, { id, ctx }) => ctx.posts.editPost(...keyOf(id), change),
    setDate: ({ date, action, by }, { id, ctx }) =>
      ctx.posts.editPost(...keyOf(id), { publishDate: date, by, ...(action === 'schedule' && { status: 'schedule' }) }),
    setStatus: ({ status, by }, { id, ctx }) => ctx.posts.editPost(...keyOf(id), { status, by }),
    async cancel({ by }, turn) {
      const followed = await turn.ctx.posts.removePost(...keyOf(turn.id), by);
      if (followed) follow(turn, followed);
    },
    retry: (input, { id, ctx }) => ctx.posts.retryPost(...keyOf(id), input),
    approve: (input, { id, ctx }) => ctx.posts.approvePost(...keyOf(id), input),
    reject: (input, { id, ctx }) => ctx.posts.rejectPost(...keyOf(id), input),
    requestApproval: ({ by }, { id, ctx }) => ctx.posts.requestApproval(...keyOf(id), by),
    followUp: async (_, turn) => follow(turn),
    async setRelease(input, turn) {
      const { id, ctx, actors } = turn;
      const { channelId, followed } = await ctx.posts.setRelease(...keyOf(id), input);
      if (followed) follow(turn, followed);
      await actors(channelActor, tenantKey(keyOf(id)[0], channelId)).wake({}); // its slot may be free now
    },
  },

  reminders: {
    'look-up': (turn) => lookUp(turn, 'unconfirmed'),
    poll: (turn) => lookUp(turn, 'processing'),
    async prepare({ id, ctx: { posts }, beside }) {
      const preparation = await posts.claimPreparation(...keyOf(id));
      if (preparation) beside(() => posts.prepareAhead(preparation));
    },
    'follow-up': async (turn) => follow(turn),
  },
});

function keyOf(key: string): [orgId: string, postId: string] {
  const { orgId, id } = splitTenantKey(key);
  return [orgId, id];
}

/** Does what follows the post, or the first one of its thread, beside the turn: it stands behind posts that are due. */
function follow(turn: Here, followed = keyOf(turn.id)[1]): void {
  turn.beside(() => followPost(turn, keyOf(turn.id)[0], followed));
}
async function followPost({ ctx, remindOther }: Here, orgId: string, postId: string): Promise<void> {
  const due = await ctx.followUps.follow(orgId, postId);
  if (due) await remindOther(postActor, tenantKey(orgId, postId), 'follow-up', due, { owner: orgId });
}

/** Asks the network beside the turn and writes what it has shown. Settled meanwhile: nothing to do. */
async function lookUp(turn: Here, about: 'unconfirmed' | 'processing'): Promise<void> {
  const {
    id,
    ctx: { posts },
    actors,
    beside,
    remindOther,
  } = turn;
  const claimed = await posts.findUnsettled(...keyOf(id), about);
  if (!claimed) return;
  const channel = actors(channelActor, tenantKey(claimed.orgId, claimed.channelId));
  beside(async () => {
    const outcome = await posts.lookUp(claimed, about);
    if (!outcome) return;
    const { lookUp: next, followed } = await posts.settleAttempt(claimed, outcome, about);
    if (next) await remindOther(postActor, id, LOOK_UPS[next.about], next.due, { owner: claimed.orgId });
    else await channel.wake({}); // its slot is free
    if (followed) await followPost(turn, claimed.orgId, followed);
  });
}
