import { z } from 'zod';
import { type ProposalRow, PROPOSAL_STATUSES } from '../../../src/publishing/proposals/index.ts';
import { instant } from '../../http/fields.ts';
import { SocialPosts } from '../posts/agent-posts.ts';

/** Posts that a program proposes, for a person to decide about. */
export const Proposal = z.strictObject({
  id: z.string(),
  status: z.enum(PROPOSAL_STATUSES),
  socialPost: SocialPosts.shape.socialPost,
  contentHash: z.string(),
  proposedBy: z.string().nullable().meta({ description: 'The user whose key or token it was.' }),
  program: z.string().nullable().meta({ description: 'The name of the key or the app.' }),
  createdAt: instant,
  expiresAt: instant,
  decidedBy: z.string().nullable(),
  decidedAt: instant.nullable(),
  reason: z.string().nullable(),
  postIds: z.array(z.string()).nullable(),
});

export const presentProposal = ({
  content,
  createdAt,
  expiresAt,
  decidedAt,
  ...row
}: ProposalRow): z.input<typeof Proposal> => ({
  id: row.id,
  status: row.status,
  socialPost: SocialPosts.parse(content).socialPost,
  contentHash: row.contentHash,
  proposedBy: row.proposedBy,
  program: row.program,
  createdAt: createdAt.toISOString(),
  expiresAt: expiresAt.toISOString(),
  decidedBy: row.decidedBy,
  decidedAt: decidedAt?.toISOString() ?? null,
  reason: row.reason,
  postIds: row.postIds,
});
