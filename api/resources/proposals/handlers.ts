import { rootIdsOf, withProposalIds } from '../../../src/publishing/proposals/index.ts';
import { auditActor } from '../../http/audit-actor.ts';
import type { Call } from '../../http/route.ts';
import { bodiesOf, byAgents, refusalOfEntry, SocialPosts } from '../posts/agent-posts.ts';
import { admitBodies } from '../posts/handlers.ts';

type Accepting = Call<'posts' | 'proposals', { date?: Date | undefined }, undefined, { id: string }>;

/** Creates the posts of a proposal for whoever accepts it; with a date all of them are scheduled for that. */
export const acceptProposal = (call: Accepting) =>
  call.rooms.proposals.accept(call.principal.orgId, auditActor(call), call.params.id, async ({ id, content }) => {
    const { date } = call.body;
    const { socialPost } = SocialPosts.parse(content);
    const roots = rootIdsOf(
      id,
      socialPost.map(({ postsAndComments }) => postsAndComments.length),
    );
    // all are made in one commit: by an acceptance that was cut off, and is not judged again
    if ((await call.rooms.posts.findKnownPosts(call.principal.orgId, roots)).size > 0) return roots;
    const dated = date
      ? socialPost.map((post) => ({ ...post, type: 'schedule' as const, date: date.toISOString() }))
      : socialPost;
    const made = await admitBodies({ ...call, idempotency: undefined }, bodiesOf({ socialPost: dated }), {
      refused: refusalOfEntry,
      made: (posts) => byAgents(withProposalIds(id, posts)),
    });
    return made.map(({ postId }) => postId);
  });
