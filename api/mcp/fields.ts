import { z } from 'zod';
import { possibleId } from '../http/validate.ts';

// Inputs that several tools have. Each is described, for a model reads nothing else.

/** As in every JSON body (S268). */
const ODD_KEYS = new Set(['__proto__', 'constructor', 'prototype']);
const Value = z.union([z.string().max(100_000), z.number(), z.boolean()]);
const Pairs = z
  .array(
    z.strictObject({
      key: z
        .string()
        .min(1)
        .max(255)
        .refine((key) => !ODD_KEYS.has(key), 'may not be used')
        .describe('Name of the setting.'),
      value: Value.describe('Its value; a list or an object is written as JSON text.'),
    }),
  )
  .max(200);

/** Values by name, as a list of pairs: strict clients know no object with free keys. */
export const pairs = (what: string) => Pairs.describe(what);

function valueOf(value: z.output<typeof Value>): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value; // a text that begins like JSON
  }
}

/** The object that pairs stand for; of a repeated key the last counts. */
export const objectOf = (given: z.output<typeof Pairs>): Record<string, unknown> =>
  Object.fromEntries(given.map(({ key, value }) => [key, valueOf(value)]));

/** What others have written of a file: a stock source names files and describes them, as an address does. */
export const UNTRUSTED_OF_FILE = ['/name', '/originalName', '/alt', '/attribution/**'] as const;

/** An id of what `of` names; one that cannot be an id is answered as an unknown one. */
const idOf = (of: string) => z.string().max(255).transform(possibleId).describe(of);
export const channelId = idOf('Id of a channel, of `list_channels`.');
export const postId = idOf('Id of a post, of `list_posts` or `create_post`.');
/** As many days as the routes of numbers go back without a number. */
export const WEEK = 7;
export const daysBack = z.int().min(1).max(548).optional().describe('Whole days back from yesterday, 7 unless said.');
export const fileId = idOf('Id of a file of the media library.');
export const jobId = idOf('Id of a media job.');
export const proposalId = idOf('`proposalId` of `propose_post`.');
export const brandKitId = idOf('Id of a brand kit.');
