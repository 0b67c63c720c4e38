import { z } from 'zod';
import type { BriefPost } from '../../../src/publishing/posts/index.ts';
import { State } from './shape.ts';

/** A post of a list for agents: as little as names it. */
export const Listed = z.strictObject({
  id: z.string(),
  publishDate: z.string(),
  state: State,
  content: z.string(),
  group: z.string(),
  integrationId: z.string(),
  platform: z.string(),
  integrationName: z.string(),
});
export const presentListed = (row: BriefPost): z.input<typeof Listed> => ({
  id: row.id,
  publishDate: row.publishDate.toISOString(),
  state: row.state,
  content: row.content,
  group: row.group,
  integrationId: row.channelId,
  platform: row.providerId,
  integrationName: row.channelName,
});
