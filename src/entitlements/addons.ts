import type { Config } from '../platform/config/index.ts';
import { type Dimension, DIMENSIONS } from './plans.ts';

export interface Addon {
  /** The increase of the limit by one pack. */
  packSize: number;
  /** The price of a pack and month, in cents. */
  priceCents: number;
}

const SETTING = {
  channel: 'channels',
  team_members: 'teamSeats',
  posts_per_month: 'posts',
  brand_kits: 'brandKits',
  webhooks: 'webhooks',
  competitors: 'competitors',
  storage_gb: 'storageGb',
  video_exports: 'videoExports',
} as const satisfies Record<Dimension, keyof Config['addons']>;

/** Size and price of packs, by dimension, as the operator has set them. */
export const addonsOf = (settings: Config['addons']): Readonly<Record<Dimension, Addon>> =>
  Object.fromEntries(
    DIMENSIONS.map((dimension) => {
      const { perPack, priceCents } = settings[SETTING[dimension]];
      return [dimension, { packSize: perPack, priceCents }];
    }),
  ) as Record<Dimension, Addon>;
