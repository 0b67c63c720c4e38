import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { Download, HOUR_MS, Id, type Item, PAGE, stockSource, Web, Words } from './_contract.ts';
import { secret } from '../kit/declare/fields.ts';

const Gif = z.object({
  id: Id,
  title: Words,
  alt_text: Words,
  url: Web,
  user: z.object({ display_name: Words, profile_url: Web }).nullish(),
  images: z.object({ original: z.object({ url: Download }), fixed_width: z.object({ url: Web }) }),
});
const Gifs = z.object({
  data: z.array(Gif),
  pagination: z.object({ total_count: z.int(), count: z.int(), offset: z.int() }),
});
/** The answer for an unknown GIF is an empty list. */
const One = z.object({ data: z.union([Gif, z.array(z.unknown()).transform(() => undefined)]) });

const itemOf = ({ id, title, alt_text, url, user, images }: z.output<typeof Gif>): Item => ({
  id,
  title: alt_text ?? title ?? 'GIF',
  preview: images.fixed_width.url,
  url,
  author: user?.display_name ?? null,
  authorUrl: user?.profile_url ?? null,
  licence: 'GIPHY User Terms',
  licenceUrl: 'https://giphy.com/terms',
  credit: 'Powered by GIPHY',
});

const LAST_OFFSET = 4_999;

export const giphy = stockSource({
  id: 'giphy',
  version: 'v1',
  title: 'GIPHY',
  description: 'Animated pictures.',
  website: 'https://giphy.com',
  authType: 'api_key',
  credentials: { apiKey: secret('API key') },
  api: 'https://api.giphy.com',
  auth: { in: 'query', name: 'api_key', field: 'apiKey' },
  errors: { 403: 'reauthorize' },
  errorInside: z.union([
    z
      .object({ meta: z.object({ status: z.literal([401, 403, 429]) }) })
      .transform(({ meta }): ProviderFailure => (meta.status === 429 ? 'rate_limited' : 'reauthorize')),
    // a synthetic response, which stands in for a part of GIPHY that is away
    z.object({ meta: z.object({ response_id: z.literal('') }) }).transform((): ProviderFailure => 'unavailable'),
  ]),
  kinds: ['image'],
  longestQuery: 50,
  lastPage: Math.floor(LAST_OFFSET / PAGE) + 1,
  rates: [{ requests: 100, perMs: HOUR_MS }],
  connect: ({ http }) => ({
    async search({ q, page }) {
      const query = { q, limit: String(PAGE), offset: String((page - 1) * PAGE), rating: 'pg' };
      const { data, pagination } = await http.get('/v1/gifs/search', Gifs, { query });
      return { items: data.map(itemOf), more: pagination.offset + pagination.count < pagination.total_count };
    },
    async acquire(id) {
      const gif = (await http.find(`/v1/gifs/${id}`, One))?.data;
      return gif && { item: itemOf(gif), download: gif.images.original.url };
    },
  }),
});
