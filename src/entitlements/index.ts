export { type Feature, requireFeature, type Subscribed } from './access.ts';
export { type Addon, addonsOf } from './addons.ts';
export type { OverLimit, LimitEnforcement } from './enforce-limits.ts';
export { isActive } from './entitlement.ts';
export type { Limit, Overrides } from './limits.ts';
export { type Dimension, DIMENSIONS, isDimension, type PlanLimits, PLANS, type Tier, TIERS } from './plans.ts';
export type { Stop } from './ports.ts';
export {
  addPosts,
  copyKeyLimits,
  findAiCap,
  findProgramLimits,
  type HeldLimits,
  limitsOfProgram,
  lockPostDays,
  type ProgramLimits,
  writeProgramLimits,
} from './program-limits.ts';
export type { PostQuota } from './quota.ts';
export type { Billing, ShownPlan } from './service.ts';
export type { Usage } from './usage.ts';
