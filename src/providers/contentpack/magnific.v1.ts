import { z } from 'zod';
import { contentPack, Download, Id, type Item, PAGE, Web, Words } from './_contract.ts';
import { secret, text } from '../kit/declare/fields.ts';

/** The hosts of the API: the old name still answers, and each host has its own header. */
const HEADERS: Readonly<Record<string, string>> = {
  'api.magnific.com': 'x-magnific-api-key',
  'api.freepik.com': 'x-freepik-api-key',
};

const Author = z.object({ name: Words });
const Results = z.object({
  data: z.array(
    z.object({
      id: Id,
      title: Words,
      url: Web,
      author: Author.nullish(),
      image: z.object({ source: z.object({ url: Web }) }),
      licenses: z.array(z.object({ type: z.string(), url: Web })),
    }),
  ),
  meta: z.object({ current_page: z.int(), last_page: z.int() }),
});
const Detail = z.object({
  data: z.object({
    id: Id,
    name: Words,
    url: Web,
    premium: z.boolean(),
    license: Web,
    author: Author.nullish(),
    preview: z.object({ url: Web }).nullish(),
  }),
});
const File = z.object({ data: z.object({ url: Download, signed_url: Download.nullish() }) });

interface Terms {
  premium: boolean;
  author: string | null;
  licenceUrl: string | null;
}
/** Licence and credit of an item: free items require a credit unless the plan waives it. */
const termsOf = ({
  premium,
  author,
  licenceUrl,
}: Terms): Pick<Item, 'author' | 'authorUrl' | 'licence' | 'licenceUrl' | 'credit'> => ({
  author,
  authorUrl: null,
  licence: premium ? 'Magnific premium licence' : 'Magnific free licence, with attribution',
  licenceUrl,
  credit: premium ? null : `Designed by ${author ?? 'Magnific'} / Magnific`,
});

export default contentPack({
  id: 'magnific',
  version: 'v1',
  status: 'active',
  title: 'Magnific',
  description: 'Stock photos of the former Freepik.',
  website: 'https://www.magnific.com',
  authType: 'api_key',
  setupNotes: 'A licence is granted by the plan with each download; downloads are counted and charged by Magnific.',
  credentials: {
    apiKey: secret('API key'),
    host: text('API host', {
      default: 'api.magnific.com',
      options: [
        { value: 'api.magnific.com', label: 'api.magnific.com' },
        { value: 'api.freepik.com', label: 'api.freepik.com (older)' },
      ],
    }),
  },
  api: 'https://{host}',
  errors: { 403: 'exhausted' }, // not included in the plan
  kinds: ['image'],
  connect({ http, values: { apiKey, host } }) {
    const headers = { [HEADERS[host]!]: apiKey };
    return {
      async search({ q, page }) {
        const query = {
          term: q,
          page: String(page),
          limit: String(PAGE),
          order: 'relevance',
          'filters[content_type][photo]': '1',
        };
        const { data, meta } = await http.get('/v1/resources', Results, { query, headers });
        const items = data.map(({ id, title, url, author, image, licenses }) => ({
          id,
          title: title ?? 'Photo',
          preview: image.source.url,
          url,
          ...termsOf({
            premium: licenses.some(({ type }) => type === 'premium'),
            author: author?.name ?? null,
            licenceUrl: licenses[0]?.url ?? null,
          }),
        }));
        return { items, more: meta.current_page < meta.last_page };
      },
      async acquire(id) {
        const found = await http.find(`/v1/resources/${id}`, Detail, { headers });
        if (!found) return undefined;
        const { data: file } = await http.get(`/v1/resources/${id}/download`, File, {
          query: { image_size: 'large' },
          headers,
          creates: true,
        });
        const { name, url, premium, license, author, preview } = found.data;
        const terms = termsOf({ premium, author: author?.name ?? null, licenceUrl: license });
        return {
          item: { id, title: name ?? 'Photo', preview: preview?.url ?? null, url, ...terms },
          download: file.signed_url ?? file.url,
        };
      },
    };
  },
  async check({ http, values: { apiKey, host } }) {
    await http.get('/v1/resources', Results, {
      query: { term: 'a', limit: '1' },
      headers: { [HEADERS[host]!]: apiKey },
    });
    return 'Magnific takes the key';
  },
});
