import { z } from 'zod';
import { possibleId } from '../http/validate.ts';
import { daysText } from '../resources/analytics/shape.ts';

// Inputs that several tools have. Each is described, for a model reads nothing else.

/** What others have written of a file: a stock source names files and describes them, as an address does. */
export const UNTRUSTED_OF_FILE = ['/name', '/originalName', '/alt', '/attribution/**'] as const;

/** An id of what `of` names; one that cannot be an id is answered as an unknown one. */
const idOf = (of: string) => z.string().max(255).transform(possibleId).describe(of);
export const channelId = idOf('Id of a channel, of `list_channels`.');
export const postId = idOf('Id of a post, of `list_posts` or `create_post`.');
/** As many days as the routes of numbers go back without a number. */
export const WEEK = 7;
export const daysBack = z
  .union([z.int().min(1).max(548), daysText])
  .optional()
  .describe('Whole days back from yesterday, 7 unless said.');
export const fileId = idOf('Id of a file of the media library.');
export const jobId = idOf('Id of a media job.');
export const proposalId = idOf('`proposalId` of `propose_post`.');
export const brandKitId = idOf('Id of a brand kit.');
