/** Dimensions that have a limit (S60): the keys of overrides, of 402 answers and of add-ons. */
export const DIMENSIONS = [
  'channel',
  'team_members',
  'posts_per_month',
  'brand_kits',
  'webhooks',
  'competitors',
  'storage_gb',
  'video_exports',
] as const;
export type Dimension = (typeof DIMENSIONS)[number];
export type PlanLimits = Readonly<Record<Dimension, number>>;
export const isDimension = (key: string): key is Dimension => (DIMENSIONS as readonly string[]).includes(key);

export const TIERS = ['STARTER', 'PRO', 'TEAM', 'AGENCY'] as const;
export type Tier = (typeof TIERS)[number];

export interface Plan {
  /** Whole USD. */
  monthPrice: number;
  yearPrice: number;
  limits: PlanLimits;
  campaigns: boolean;
  api: boolean;
  mcp: boolean;
  analyticsRetentionDays: number;
}

const UNBOUNDED = 1_000_000;

export const PLANS: Readonly<Record<Tier, Plan>> = {
  STARTER: {
    monthPrice: 9,
    yearPrice: 90,
    limits: {
      channel: 3,
      team_members: 1,
      posts_per_month: 100,
      brand_kits: 0,
      webhooks: 1,
      competitors: 1,
      storage_gb: 1,
      video_exports: 15,
    },
    campaigns: false,
    api: false,
    mcp: false,
    analyticsRetentionDays: 180,
  },
  PRO: {
    monthPrice: 29,
    yearPrice: 290,
    limits: {
      channel: 10,
      team_members: 3,
      posts_per_month: UNBOUNDED,
      brand_kits: 2,
      webhooks: 5,
      competitors: 5,
      storage_gb: 5,
      video_exports: 60,
    },
    campaigns: true,
    api: true,
    mcp: true,
    analyticsRetentionDays: 548,
  },
  TEAM: {
    monthPrice: 99,
    yearPrice: 990,
    limits: {
      channel: 30,
      team_members: 10,
      posts_per_month: UNBOUNDED,
      brand_kits: 10,
      webhooks: 20,
      competitors: 20,
      storage_gb: 20,
      video_exports: 200,
    },
    campaigns: true,
    api: true,
    mcp: true,
    analyticsRetentionDays: 548,
  },
  AGENCY: {
    monthPrice: 249,
    yearPrice: 2_490,
    limits: {
      channel: 100,
      team_members: 25,
      posts_per_month: UNBOUNDED,
      brand_kits: UNBOUNDED,
      webhooks: UNBOUNDED,
      competitors: 50,
      storage_gb: 100,
      video_exports: 600,
    },
    campaigns: true,
    api: true,
    mcp: true,
    analyticsRetentionDays: 548,
  },
};
