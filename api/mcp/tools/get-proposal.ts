import { z } from 'zod';
import { Proposal, presentProposal } from '../../resources/proposals/shape.ts';
import { proposalId } from '../fields.ts';
import { toolsOf } from '../tool.ts';

export const getProposalTool = toolsOf('proposals')({
  name: 'get_proposal',
  title: 'Get a proposal',
  description:
    'Says whether a person accepted or rejected what `propose_post` proposed, why, and which posts came of it.',
  surfaces: ['mcp'],
  scope: 'mcp:read',
  permission: 'posts:read',
  input: z.strictObject({ id: proposalId }),
  output: Proposal,
  run: async ({ rooms, principal, input }) => presentProposal(await rooms.proposals.get(principal.orgId, input.id)),
});
