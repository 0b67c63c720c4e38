import { PLANS, type Tier } from '../../src/entitlements/plans.ts';

// What an org pays for and may have, in plain words: no database, no events, no order of deliveries. The service must
// say the same after every command, whatever came late, twice or out of order.

export type Counted = 'channel' | 'team_members' | 'webhooks' | 'posts_per_month' | 'storage_gb';
const SIZES: Record<Counted, number> = {
  channel: 5,
  team_members: 5,
  webhooks: 10,
  posts_per_month: 500,
  storage_gb: 25,
};
const RANK: Record<Tier, number> = { STARTER: 0, PRO: 1, TEAM: 2, AGENCY: 3 };

export interface Plan {
  tier: Tier;
  pending: Tier | null;
  /** At the processor; a granted plan or one for life is not. */
  paid: boolean;
  lifetime: boolean;
  trial: boolean;
  cancelling: boolean;
  /** Days of grace that are left. */
  grace: number | null;
}
export interface Model {
  plan: Plan | null;
  /** Null: a plan that ended before it was heard of may have been a trial or not, as its events come. */
  allowTrial: boolean | null;
  cardWorks: boolean;
  packs: Partial<Record<Counted, number>>;
  overrides: Partial<Record<Counted, number>>;
  /** In the order of their making; of members the first is the owner. */
  channels: boolean[];
  members: boolean[];
  webhooks: number;
  /** GB of each file that counts. */
  files: number[];
  /** Of the month that is counted, and of the one that would be counted without a plan. */
  posts: number;
  postsOfOrg: number;
  /** Something happened at the processor that was not told yet. */
  behind: boolean;
  /** The plan took the place of a given one: whether that comes back when it ends unheard of is left open. */
  tookOver: boolean;
}
export const newModel = (): Model => ({
  plan: null,
  allowTrial: true,
  cardWorks: true,
  packs: {},
  overrides: {},
  channels: [],
  members: [true],
  webhooks: 0,
  files: [],
  posts: 0,
  postsOfOrg: 0,
  behind: false,
  tookOver: false,
});

const active = ({ plan }: Model): Plan | null => (plan && (plan.grace === null || plan.grace > 0) ? plan : null);
const lapsed = (model: Model): boolean => model.plan !== null && active(model) === null;
export function limit(model: Model, of: Counted): number {
  const plan = active(model);
  return (
    model.overrides[of] ?? PLANS[plan?.tier ?? 'STARTER'].limits[of] + (plan ? (model.packs[of] ?? 0) * SIZES[of] : 0)
  );
}
const on = (list: boolean[]) => list.filter(Boolean).length;
const USED: Record<Counted, (model: Model) => number> = {
  channel: ({ channels }) => on(channels),
  team_members: ({ members }) => on(members),
  webhooks: ({ webhooks }) => webhooks,
  posts_per_month: ({ posts }) => posts,
  storage_gb: ({ files }) => files.reduce((sum, gb) => sum + gb, 0),
};
export const used = (model: Model, of: Counted): number => USED[of](model);
export const hasRoom = (model: Model, of: Counted, more = 1): boolean => used(model, of) + more <= limit(model, of);

/** The newest go first; the owner never. */
function enforceLimits(model: Model): void {
  for (const [list, of, kept] of [
    [model.channels, 'channel', 0],
    [model.members, 'team_members', 1],
  ] as const)
    for (let n = list.length - 1; n >= kept && on(list) > limit(model, of); n--) list[n] = false;
}
export function begin(model: Model, tier: Tier): void {
  const before = model.plan;
  model.tookOver = before !== null;
  model.plan = {
    tier,
    pending: null,
    paid: true,
    lifetime: false,
    trial: model.allowTrial ?? false,
    cancelling: false,
    grace: null,
  };
  model.allowTrial = false;
  if (!before) model.posts = 0; // the month is reckoned from the plan
  else if (RANK[tier] < RANK[before.tier]) enforceLimits(model);
}
export function end(model: Model): void {
  model.plan = null;
  model.packs = {};
  model.posts = model.postsOfOrg;
  enforceLimits(model);
}
/** What an order of a tier does to a plan that is paid. */
export function order(model: Model, tier: Tier): 'changed' | 'conflict' | 'portal' {
  const plan = model.plan!;
  if (tier === plan.tier && !plan.pending) return 'conflict';
  if (plan.grace !== null) return 'portal';
  if (RANK[tier] < RANK[plan.tier]) plan.pending = tier;
  else {
    const pays = RANK[tier] > RANK[plan.tier] && !plan.trial;
    if (pays && !model.cardWorks) return 'portal';
    Object.assign(plan, { tier, pending: null });
  }
  return 'changed';
}
/** A period ends, or the trial. */
export function renew(model: Model): void {
  const plan = model.plan!;
  if (plan.cancelling) return end(model);
  plan.trial = false;
  if (model.cardWorks) pay(model);
  else plan.grace ??= 7;
  if (model.cardWorks) startPending(model);
}
/** What was paid opened a period. */
export function startPending(model: Model): void {
  const plan = model.plan!;
  if (!plan.pending) return;
  Object.assign(plan, { tier: plan.pending, pending: null });
  enforceLimits(model);
}
export function pay(model: Model): void {
  const was = lapsed(model);
  model.plan!.grace = null;
  if (was) enforceLimits(model);
}
export function passDays(model: Model, days: number): void {
  if (model.plan?.grace) model.plan.grace = Math.max(0, model.plan.grace - days);
}
export function setPacks(model: Model, of: Counted, packs: number): void {
  if ((model.packs[of] ?? 0) === packs) return;
  model.packs[of] = packs;
  if (!lapsed(model)) enforceLimits(model);
}
export function giveForLife(model: Model): void {
  if (!model.plan) model.posts = 0;
  model.plan = {
    tier: 'AGENCY',
    pending: null,
    paid: false,
    lifetime: true,
    trial: false,
    cancelling: false,
    grace: null,
  };
  model.allowTrial = false;
}
export function grant(model: Model, tier: Tier): void {
  if (!model.plan) model.posts = 0;
  model.plan = {
    tier,
    pending: null,
    paid: false,
    lifetime: model.plan?.lifetime ?? false,
    trial: false,
    cancelling: false,
    grace: null,
  };
  model.allowTrial = false;
  enforceLimits(model);
}
