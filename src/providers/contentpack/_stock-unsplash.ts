import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { Download, HOUR_MS, Id, type Item, PAGE, stockSource, Web, Words } from './_contract.ts';
import { secret } from '../kit/declare/fields.ts';

const Photo = z.object({
  id: Id,
  alt_description: Words,
  description: Words,
  urls: z.object({ small: Web }),
  links: z.object({ html: Web, download_location: Download }),
  user: z.object({ name: Words, links: z.object({ html: Web }).nullish() }),
});
const Results = z.object({ total_pages: z.int(), results: z.array(Photo) });

const HEADERS = { 'accept-version': 'v1' };
/** Adds the source of the visitor, as the guidelines require. */
const referred = (url: string | null | undefined): string | null =>
  url ? `${url}?utm_source=rookery&utm_medium=referral` : null;

const itemOf = ({ id, alt_description, description, urls, links, user }: z.output<typeof Photo>): Item => ({
  id,
  title: alt_description ?? description ?? 'Photo',
  preview: urls.small,
  url: referred(links.html),
  author: user.name,
  authorUrl: referred(user.links?.html),
  licence: 'Unsplash License',
  licenceUrl: 'https://unsplash.com/license',
  credit: `Photo by ${user.name ?? 'an unknown person'} on Unsplash`,
});

export const unsplash = stockSource({
  id: 'unsplash',
  version: 'v1',
  title: 'Unsplash',
  description: 'Free photos.',
  website: 'https://unsplash.com',
  authType: 'api_key',
  credentials: { apiKey: secret('Access key') },
  api: 'https://api.unsplash.com',
  auth: { in: 'header', name: 'authorization', prefix: 'Client-ID ', field: 'apiKey' },
  errors: { 403: 'reauthorize' },
  errorOf: z
    .object({ body: z.string().regex(/rate limit exceeded/i) })
    .transform((): ProviderFailure => 'rate_limited'),
  kinds: ['image'],
  rates: [{ requests: 1_000, perMs: HOUR_MS }], // of a production key; a demo key gets 429 earlier
  connect: ({ http }) => ({
    async search({ q, page }) {
      const query = { query: q, page: String(page), per_page: String(PAGE), content_filter: 'high' };
      const { results, total_pages } = await http.get('/search/photos', Results, { query, headers: HEADERS });
      return { items: results.map(itemOf), more: page < total_pages };
    },
    async acquire(id) {
      const photo = await http.find(`/photos/${id}`, Photo, { headers: HEADERS });
      if (!photo) return undefined;
      // reports the download, as the guidelines require
      const { url } = await http.get(photo.links.download_location, z.object({ url: Download }), { headers: HEADERS });
      return { item: itemOf(photo), download: url };
    },
  }),
});
