import type { Counted } from './store.ts';

/** The statistics of a post (S119): what its links were followed. Null where the provider does not tell. */
export const presentClicks = (links: readonly Counted[]) => ({
  clicks: links.map(({ shortUrl, url, clicks }) => ({ short: shortUrl, original: url, clicks })),
});
