import { z } from 'zod';
import type { ApprovalRow } from '../../../src/oauth-server/index.ts';
import { instant } from '../../http/fields.ts';
import { Picture, presentPicture } from '../oauth/shape.ts';

export const Approval = z.object({
  id: z.string(),
  app: z.object({ name: z.string(), description: z.string(), picture: Picture, clientId: z.string() }),
  scope: z.string(),
  createdAt: instant,
  lastUsedAt: instant.nullable(),
});

/** S98. */
export const presentApproval = (row: ApprovalRow, backendUrl: string): z.input<typeof Approval> => ({
  id: row.id,
  app: {
    name: row.name,
    description: row.description,
    picture: presentPicture(row, backendUrl),
    clientId: row.clientId,
  },
  scope: row.scope.join(' '),
  createdAt: row.createdAt.toISOString(),
  lastUsedAt: row.lastUsedAt?.toISOString() ?? null,
});
