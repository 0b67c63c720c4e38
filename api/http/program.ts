import type { ProgramLimits } from '../../src/entitlements/index.ts';
import type { Principal } from './route.ts';

/** The key, or the approval of an app, by which somebody asks. */
export const programOf = ({ apiKeyId, authorizationId }: Principal): string | undefined => apiKeyId ?? authorizationId;

/** The program whose posts are counted, where they are. */
export const countedPosts = (principal: Principal): { programId?: string } => counted(principal, 'postsPerDay');

/** Who pays for what AI makes, with the program whose money is counted, where it is. */
export const payerOf = (principal: Principal): { orgId: string; userId: string; programId?: string } => ({
  orgId: principal.orgId,
  userId: principal.userId,
  ...counted(principal, 'aiCentsPerDay'),
});

function counted(principal: Principal, limit: keyof ProgramLimits): { programId?: string } {
  const programId = programOf(principal);
  return programId !== undefined && principal.limits?.[limit] != null ? { programId } : {};
}
