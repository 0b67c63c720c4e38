import { z } from 'zod';
import { bodiesOf, SocialPosts } from '../../resources/posts/agent-posts.ts';
import { toolsOf } from '../tool.ts';

export const proposePostTool = toolsOf('proposals')({
  name: 'propose_post',
  title: 'Propose posts to a person',
  description:
    'Takes what `create_post` takes and creates nothing: a person accepts or rejects it. Ask `get_proposal` what became of it.',
  surfaces: ['mcp'],
  scope: 'mcp:posts:write',
  scopeOfProposals: 'mcp:read',
  permission: 'posts:read',
  input: SocialPosts,
  output: z.strictObject({ proposalId: z.string(), status: z.literal('pending') }),
  async run({ rooms, principal, input }) {
    bodiesOf(input); // refused now, and not when a person accepts it
    const { id } = await rooms.proposals.propose(principal.orgId, {
      content: input,
      excerpt: input.socialPost[0]!.postsAndComments[0]!.content.slice(0, 1_000),
      proposedBy: principal.userId,
      program: principal.program ?? null,
    });
    return { proposalId: id, status: 'pending' as const };
  },
});
