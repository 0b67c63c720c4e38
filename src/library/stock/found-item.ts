import { z } from 'zod';
import type { Attribution } from '../media/index.ts';
import type { ContentPackAdapter, Item } from '../../providers/registry/index.ts';

/**
 * One picture or video that was found (S154). `preview` is null where the source gives no address that a browser may
 * open.
 */
export const FoundItem = z.strictObject({
  id: z.string(),
  preview: z.string().nullable(),
  url: z.string().nullable(),
  author: z.string().nullable(),
  licence: z.string(),
  source: z.string(),
});
export type FoundItem = z.output<typeof FoundItem>;

export const foundItemOf = (source: string, { id, preview, url, author, licence }: Item): FoundItem => ({
  id,
  preview,
  url,
  author,
  licence,
  source,
});

/** What stays with the file. */
export const attributionOf = (
  { domain, id, version }: Pick<ContentPackAdapter, 'domain' | 'id' | 'version'>,
  { id: itemId, title, author, authorUrl, url, licence, licenceUrl, credit }: Item,
): Attribution => ({
  provider: `${domain}/${id}`,
  version,
  itemId,
  title,
  author,
  authorUrl,
  url,
  licence,
  licenceUrl,
  credit,
});
