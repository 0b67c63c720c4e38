import type { PostsDeps } from '../deps.ts';
import { type Preparation, takePreparation } from './ahead.ts';
import type { Preparable } from './preparable.ts';
import { tracked } from './in-hand.ts';

/** What this process prepares ahead of publish dates. */
export const preparableBy = ({ channels, media }: Pick<PostsDeps, 'channels' | 'media'>): Preparable => ({
  ...channels.preparing(),
  ownAddresses: media.ownAddresses,
});

/** Takes a post for preparing it ahead of its publish date, if it is near and nobody else does. */
export const claimPreparation = async (
  deps: PostsDeps,
  orgId: string,
  postId: string,
): Promise<Preparation | undefined> =>
  deps.sender.closed ? undefined : takePreparation(deps.sql, deps.clock, { orgId, postId, ...preparableBy(deps) });

/** Makes the steps before publishing. Whatever comes of it, the attempt at the publish date is made. */
export const prepareAhead = ({ sender, inHand }: PostsDeps, preparation: Preparation): Promise<void> =>
  tracked(inHand, sender.prepareAhead(preparation));
