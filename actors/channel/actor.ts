import { z } from 'zod';
import { implementFor, type Turn } from '../../src/platform/actor-runtime/index.ts';
import type { Channels } from '../../src/publishing/channels/index.ts';
import type { FollowUps } from '../../src/publishing/follow-ups/index.ts';
import { type Clock, splitTenantKey, tenantKey } from '../../src/platform/kernel/index.ts';
import type { Next, Posts, ClaimedPost } from '../../src/publishing/posts/index.ts';
import { LOOK_UPS, postActor } from '../post/contract.ts';
import { channelActor } from './contract.ts';

export interface ChannelNeeds {
  clock: Clock;
  posts: Pick<Posts, 'claimNext' | 'findEarlierDue' | 'sendPost' | 'settleAndClaim'>;
  channels: Pick<Channels, 'needsLogin' | 'enable' | 'disable' | 'remove'>;
  followUps: Pick<FollowUps, 'follow'>;
}
type Here = Turn<typeof channelActor, unknown, undefined, ChannelNeeds>;

/** Shorter waits are slept through; for longer ones the reminder is set again. */
const NEAR_MS = 1_000;

export default implementFor<ChannelNeeds>()(channelActor, {
  state: z.object({}),

  methods: {
    wake: (_, turn) => step(turn),
    async enable({ by }, turn) {
      const { orgId, id } = splitTenantKey(turn.id);
      if (await turn.ctx.channels.enable(orgId, id, by)) await step(turn);
    },
    async disable({ by }, { id, ctx, forget }) {
      const { orgId, id: channelId } = splitTenantKey(id);
      if (await ctx.channels.disable(orgId, channelId, by)) await forget('due');
    },
    async remove({ by }, { id, ctx, forget }) {
      const { orgId, id: channelId } = splitTenantKey(id);
      if (await ctx.channels.remove(orgId, channelId, by)) await forget('due');
    },
  },

  reminders: { due: step },
});

/** Takes the earliest due post and publishes it beside the turn, or waits for what is not due yet. */
async function step(turn: Here): Promise<void> {
  const next = await claim(turn);
  if (next.kind === 'early' && next.missingMs >= NEAR_MS) return later(turn, next);
  if (next.kind !== 'idle') turn.beside(() => goOn(turn, next));
}

const claim = ({ id, ctx }: Here): Promise<Next> => {
  const { orgId, id: channelId } = splitTenantKey(id);
  return ctx.posts.claimNext(orgId, channelId);
};

/**
 * One post after the other, each settled before the next is claimed, or in the commit that takes it: the row decides
 * who goes on, not this loop.
 */
async function goOn(turn: Here, first: Next): Promise<void> {
  for (let next = first; next.kind !== 'idle'; next = await claim(turn)) {
    if (next.kind === 'claimed') {
      for (let claimed: ClaimedPost | undefined = next.claimed; claimed;) {
        const after = await publish(turn, claimed);
        if (!after) return;
        claimed = after.next;
      }
    } else if (next.missingMs >= NEAR_MS) return later(turn, next);
    else await turn.ctx.clock.sleep(next.missingMs);
  }
}

/**
 * Sets the reminder. A post that was added since the claim has set an earlier one, perhaps, which this one has taken the
 * place of: the row, which that post has moved before, says so.
 */
async function later(turn: Here, { dueAt, remind }: Extract<Next, { kind: 'early' }>): Promise<void> {
  if (!remind) return;
  const { orgId, id: channelId } = splitTenantKey(turn.id);
  for (let due: Date | undefined = dueAt; due; due = await turn.ctx.posts.findEarlierDue(orgId, channelId, due))
    await turn.remindOther(channelActor, turn.id, 'due', due, { owner: orgId });
}

/**
 * Sends and writes the result: conditional on attempt and incarnation, and all but a lost answer free the slot or go on
 * to the next post with it. Undefined where this host cannot send now: then it takes nothing more, and the reconciler
 * wakes whoever can.
 */
async function publish(turn: Here, claimed: ClaimedPost): Promise<{ next: ClaimedPost | undefined } | undefined> {
  const {
    ctx: { posts, channels },
    remindOther,
  } = turn;
  const outcome = await posts.sendPost(claimed);
  if (outcome.kind === 'reauthorize')
    // before the slot is free, and never over a newer login
    await channels.needsLogin(claimed.orgId, claimed.channelId, outcome.message, claimed.channel.credentials);
  const { lookUp, followed, next } = await posts.settleAndClaim(claimed, outcome);
  if (lookUp)
    await remindOther(postActor, tenantKey(claimed.orgId, claimed.postId), LOOK_UPS[lookUp.about], lookUp.due, {
      owner: claimed.orgId,
    });
  if (followed) turn.beside(() => followPost(turn, claimed.orgId, followed));
  return outcome.kind === 'not-sent' ? undefined : { next };
}

/**
 * Does what follows a post now, on this host: a reminder of its actor would cost more than the work, in the moment in
 * which the next posts are due. Its rows carry the guarantee.
 */
async function followPost({ ctx, remindOther }: Here, orgId: string, postId: string): Promise<void> {
  const due = await ctx.followUps.follow(orgId, postId);
  if (due) await remindOther(postActor, tenantKey(orgId, postId), 'follow-up', due, { owner: orgId });
}
