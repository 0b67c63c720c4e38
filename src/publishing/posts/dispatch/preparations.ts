import type { PostsDeps } from '../deps.ts';
import { type Preparation, takePreparation } from './ahead.ts';
import { tracked } from './in-hand.ts';

/** Takes a post for preparing it ahead of its publish date, if it is near and nobody else does. */
export const claimPreparation = async (
  { sql, clock, sender, channels }: PostsDeps,
  orgId: string,
  postId: string,
): Promise<Preparation | undefined> =>
  sender.closed ? undefined : takePreparation(sql, clock, { orgId, postId, networks: channels.preparing() });

/** Makes the steps before publishing. Whatever comes of it, the attempt at the publish date is made. */
export const prepareAhead = ({ sender, inHand }: PostsDeps, preparation: Preparation): Promise<void> =>
  tracked(inHand, sender.prepareAhead(preparation));
