import { z } from 'zod';
import { contentPack, Download, Id, type Item, MINUTE_MS, PAGE, Web, Words } from './_contract.ts';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';

const Resource = z.object({
  id: Id,
  content_type: z.string(),
  title: Words,
  preview_url: Web,
  thumbnail_2x_url: Web,
  file_metadata: z.object({ available_file_types: z.array(z.object({ extension: z.string() })) }).nullish(),
});
const Results = z.object({ page: z.int(), last_page: z.int(), resources: z.array(Resource) });
const File = z.object({ url: Download, requires_attribution: z.boolean().nullish(), required_attribution_url: Web });
const Preparing = z.object({ download_status: z.string() }).transform(() => undefined);
const Account = z.object({ current: z.object({ download: z.object({ call_count: z.int(), call_limit: z.int() }) }) });

const itemOf = ({ id, content_type, title, thumbnail_2x_url, preview_url }: z.output<typeof Resource>): Item => ({
  id,
  title: title ?? (content_type === 'video' ? 'Video' : 'Photo'),
  preview: thumbnail_2x_url ?? preview_url,
  url: null,
  author: null,
  authorUrl: null,
  licence: 'Vecteezy licence of the account',
  licenceUrl: 'https://www.vecteezy.com/licensing-agreement',
  credit: null,
});
/** File types that the library accepts, in order of preference. */
const TYPES = ['mp4', 'mov', 'jpg', 'jpeg', 'png'];

export default contentPack({
  id: 'vecteezy',
  version: 'v1',
  status: 'active',
  title: 'Vecteezy',
  description: 'Stock photos and videos.',
  website: 'https://www.vecteezy.com',
  authType: 'api_key',
  setupNotes: 'Vecteezy gives access to each account on request. A download is the licence; the plan counts it.',
  credentials: {
    accountId: text('Account id', { validation: '[0-9]{1,20}', help: 'The number of the account' }),
    apiKey: secret('API secret', { placeholder: 'sk_…' }),
  },
  api: 'https://api.vecteezy.com/v2/{accountId}',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errors: { 403: 'exhausted' }, // not included in the plan
  kinds: ['image', 'video'],
  cacheMs: 0, // its terms forbid caching addresses
  connect: ({ http }) => ({
    async search({ q, kind, page }) {
      const content_type = kind === 'video' ? 'video' : 'photo';
      const query = {
        term: q,
        content_type,
        page: String(page),
        per_page: String(PAGE),
        sort_by: 'relevance',
        license_type: 'commercial',
        family_friendly: 'true',
      };
      const { resources, last_page } = await http.get('/resources', Results, { query });
      return { items: resources.map(itemOf), more: page < last_page };
    },
    async acquire(id) {
      const resource = await http.find(`/resources/${id}`, Resource);
      if (!resource) return undefined;
      const offered =
        resource.file_metadata?.available_file_types.map(({ extension }) => extension.toLowerCase()) ?? [];
      const file_type = TYPES.find((type) => offered.includes(type));
      if (file_type === undefined)
        throw refused('unsupported', 'Vecteezy has no file of this item that the library takes');
      const file = await http.get(`/resources/${id}/download`, z.union([File, Preparing]), {
        query: { file_type },
        creates: true,
      });
      if (!file)
        throw refused('unavailable', 'Vecteezy is still preparing this file: try again in a minute', MINUTE_MS);
      const credit = file.requires_attribution ? { credit: 'Vecteezy.com', url: file.required_attribution_url } : {};
      return { item: { ...itemOf(resource), ...credit }, download: file.url };
    },
  }),
  async check({ http }) {
    const { call_count, call_limit } = (await http.get('/account/info', Account)).current.download;
    return `Vecteezy takes the key: ${Math.max(call_limit - call_count, 0)} of ${call_limit} downloads are left`;
  },
});
