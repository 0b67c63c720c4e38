import type { Billing } from '../../src/entitlements/index.ts';
import type { Posts } from '../../src/publishing/posts/index.ts';
import { type AdmissionNeeds, admitPosts, type Room } from './admission.ts';

export interface SeriesNeeds extends AdmissionNeeds {
  posts: AdmissionNeeds['posts'] &
    Pick<Posts, 'prepareSuccessor' | 'insertOverLimit' | 'markRepeated' | 'releaseOverLimit'>;
  billing: Pick<Billing, 'enabled' | 'quota'>;
}

/**
 * Makes the post that follows one of a series. It is let in as any other; beyond the plan it is stored all the same, and
 * waits for room. Run twice, it makes one.
 */
export async function repeatPost(orgId: string, postId: string, needs: SeriesNeeds, room: Room): Promise<void> {
  const { posts } = needs;
  const successor = await posts.prepareSuccessor(orgId, postId);
  if (!successor) return;
  if (successor.create) {
    const [refused] = await admitPosts(orgId, [successor.create], needs, room);
    if (refused?.code === 'limit_exceeded') await posts.insertOverLimit(orgId, successor.create, refused.message);
    else if (refused) throw refused;
  }
  await posts.markRepeated(orgId, postId, successor);
}

/** Lets a post go on that waits for room, where the rows say that there is some. */
export async function releasePost(
  orgId: string,
  postId: string,
  { posts, billing }: SeriesNeeds,
  room: Room,
): Promise<void> {
  await posts.releaseOverLimit(orgId, postId, billing.enabled ? await billing.quota(orgId) : undefined);
  room.quota = undefined; // one more is counted, perhaps
}
