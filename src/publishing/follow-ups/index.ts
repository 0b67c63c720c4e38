export type { ClaimedFollowUps } from './claim.ts';
export type { CountsPort } from './deps.ts';
export type { NetworkPlugs } from './configurations.ts';
export type { ConfigurationRow } from './configurations-store.ts';
export { planFollowUps, planReply, shortenThread } from './plan.ts';
export { type FollowUps, openFollowUps } from './service.ts';
