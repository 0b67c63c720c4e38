import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import {
  type Acquired,
  Download,
  Id,
  itemIdOf,
  type Item,
  type Kind,
  MINUTE_MS,
  PAGE,
  readItemId,
  stockSource,
  Web,
  Words,
} from './_contract.ts';
import { secret } from '../kit/declare/fields.ts';

const Hit = z.object({ id: Id, pageURL: Web, tags: Words, user: Words, user_id: Id.nullish() });
const Picture = Hit.extend({ webformatURL: Web, largeImageURL: Download });
const Size = z.object({ url: z.string(), thumbnail: Web });
const Video = Hit.extend({ videos: z.object({ large: Size.nullish(), medium: Size, tiny: Size }) });
const pageOf = <H extends z.ZodType>(hit: H) => z.object({ totalHits: z.int(), hits: z.array(hit) });
const Pictures = pageOf(Picture);
const Videos = pageOf(Video);

const itemOf = (
  kind: Kind,
  preview: string | null,
  { id, pageURL, tags, user, user_id }: z.output<typeof Hit>,
): Item => ({
  id: itemIdOf(kind, id),
  title: tags ?? (kind === 'video' ? 'Video' : 'Image'),
  preview,
  url: pageURL,
  author: user,
  authorUrl: user && user_id ? `https://pixabay.com/users/${encodeURIComponent(user)}-${user_id}/` : null,
  licence: 'Pixabay Content License',
  licenceUrl: 'https://pixabay.com/service/license-summary/',
  credit: `${kind === 'video' ? 'Video' : 'Image'} by ${user ?? 'an unknown person'} on Pixabay`,
});
const pictureOf = (hit: z.output<typeof Picture>): Acquired => ({
  item: itemOf('image', hit.webformatURL, hit),
  download: hit.largeImageURL,
});
const videoOf = (hit: z.output<typeof Video>): Acquired => ({
  item: itemOf('video', hit.videos.tiny.thumbnail, hit),
  download: hit.videos.large?.url || hit.videos.medium.url, // an absent size is an empty string
});

/** Refusals are plain text. */
const refusal = (words: RegExp) => z.object({ body: z.string().regex(words) });
const MOST_RESULTS = 500;

export const pixabay = stockSource({
  id: 'pixabay',
  version: 'v1',
  title: 'Pixabay',
  description: 'Free photos, illustrations and videos.',
  website: 'https://pixabay.com',
  authType: 'api_key',
  credentials: { apiKey: secret('API key') },
  api: 'https://pixabay.com',
  auth: { in: 'query', name: 'key', field: 'apiKey' },
  errors: { 403: 'reauthorize' },
  errorOf: refusal(/API key/).transform((): ProviderFailure => 'reauthorize'),
  kinds: ['image', 'video'],
  longestQuery: 100,
  lastPage: Math.ceil(MOST_RESULTS / PAGE),
  cacheMs: 86_400_000, // required by its terms
  rates: [{ requests: 100, perMs: MINUTE_MS }],
  connect({ http }) {
    const ask = async (kind: Kind, query: Record<string, string>) => {
      if (kind === 'video') {
        const { hits, totalHits } = (await http.find('/api/videos/', Videos, {
          query,
          absent: refusal(/"(id|page)"/),
        })) ?? { hits: [], totalHits: 0 };
        return { found: hits.map(videoOf), totalHits };
      }
      const { hits, totalHits } = (await http.find('/api/', Pictures, { query, absent: refusal(/"(id|page)"/) })) ?? {
        hits: [],
        totalHits: 0,
      };
      return { found: hits.map(pictureOf), totalHits };
    };
    return {
      async search({ q, kind, page }) {
        const { found, totalHits } = await ask(kind, {
          q,
          page: String(page),
          per_page: String(PAGE),
          safesearch: 'true',
        });
        return { items: found.map(({ item }) => item), more: page * PAGE < totalHits };
      },
      async acquire(given) {
        const { kind, id } = readItemId(given);
        return (await ask(kind, { id })).found[0];
      },
    };
  },
});
