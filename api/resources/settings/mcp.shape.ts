import { z } from 'zod';
import { SCOPES } from '../../../src/people/access/index.ts';

/** S201. */
export const OrgMcp = z.strictObject({
  allowedScopes: z.array(z.enum(SCOPES)).nullable(),
  allowProposals: z.boolean(),
});
