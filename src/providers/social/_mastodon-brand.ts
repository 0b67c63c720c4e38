import { z } from 'zod';
import { multiLine } from '../kit/declare/setting-texts.ts';
import type { Limits, SocialAdapter } from './_contract.ts';

/** Differences of servers with Mastodon's API. Absent: as Mastodon. */
export interface Quirks {
  /** A repeat with the same idempotency key may post again. */
  noIdempotencyKey?: boolean;
  noPkce?: boolean;
  /** Tokens cannot be revoked by clients. */
  noRevocation?: boolean;
  /** Pictures go to `/v1/media` and are ready at once; covers of videos are not taken. */
  mediaV1?: boolean;
  /** A post shows so many of its direct answers alone, and the list of an account has no answers. */
  answersShown?: number;
  /** What looks like a tag is cut out of a text. */
  stripsTags?: boolean;
  /** The greatest length of a content warning. Default: 500. */
  warning?: number;
  /** The greatest length of an alternative text. Default: 1,500. */
  alt?: number;
  /** The language of a status cannot be set. */
  noLanguage?: boolean;
}

export interface Brand {
  id: string;
  title: string;
  description: string;
  website: string;
  instance?: string;
  /** The fields of an own app; without one an app is registered at each server. */
  app?: NonNullable<SocialAdapter['app']>;
  scopes: readonly string[];
  visibilities: readonly [string, ...string[]];
  /** Settings that clients name and the API does not take: refused, unless they are empty. */
  refuses?: readonly string[];
  limits: Limits;
  /** The failure of status 403. */
  forbidden: 'reauthorize' | 'rejected';
  quirks?: Quirks;
}

const NOT_TAKEN = 'can be chosen in the app of the network only';

const Language = z
  .string()
  .regex(/^[a-z]{2,3}$/)
  .optional();

/** What a status has beside its text and files. */
export const settingsOf = ({ visibilities, refuses = [], quirks = {} }: Brand) =>
  z.looseObject({
    visibility: z.enum(visibilities).optional(),
    spoiler_text: multiLine(quirks.warning ?? 500).optional(),
    sensitive: z.boolean().optional(),
    ...(!quirks.noLanguage && { language: Language }),
    ...Object.fromEntries(refuses.map((name) => [name, z.literal('', { error: NOT_TAKEN }).optional()])),
  });
