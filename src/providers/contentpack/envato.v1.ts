import { z } from 'zod';
import { contentPack, Download, Id, type Item, PAGE, Web, Words } from './_contract.ts';
import { refused } from '../kit/declare/fallback.ts';
import { secret } from '../kit/declare/fields.ts';

const Preview = z.object({ landscape_url: Web, thumbnail_url: Web, large_url: Web, icon_url: Web });
const Entry = z.object({
  id: Id,
  name: Words,
  url: Web,
  author_username: Words,
  author_url: Web,
  /** By kind of preview; the kinds differ by site. */
  previews: z.record(z.string(), z.unknown()).nullish(),
});
const Results = z.object({
  matches: z.array(Entry),
  links: z.object({ next_page_url: z.string().nullish() }).nullish(),
});

const previewOf = (previews: z.output<typeof Entry>['previews']): string | null => {
  const known = Object.values(previews ?? {}).flatMap((one) => Preview.safeParse(one).data ?? []);
  const best = known.map(
    ({ landscape_url, large_url, thumbnail_url, icon_url }) => landscape_url ?? large_url ?? thumbnail_url ?? icon_url,
  );
  return best.find((url) => url !== null) ?? null;
};
const itemOf = ({ id, name, url, author_username, author_url, previews }: z.output<typeof Entry>): Item => ({
  id,
  title: name ?? 'Photo',
  preview: previewOf(previews),
  url,
  author: author_username,
  authorUrl: author_url,
  licence: 'Envato Market licence, as bought',
  licenceUrl: 'https://themeforest.net/licenses',
  credit: null,
});

export default contentPack({
  id: 'envato',
  version: 'v1',
  status: 'active',
  title: 'Envato Market',
  description: 'Photos of PhotoDune; only what the owner of the token has bought can be taken.',
  website: 'https://market.envato.com',
  authType: 'api_key',
  setupNotes:
    'No API of Envato sells or licenses: buy on the site first, then take it from here. The token needs the permissions to view and search, to download and to list purchases. Envato Elements has no API.',
  credentials: { token: secret('Personal token') },
  api: 'https://api.envato.com',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'token' },
  errors: { 403: 'reauthorize' }, // the token lacks a permission
  kinds: ['image'],
  connect: ({ http }) => ({
    async search({ q, page }) {
      const query = { term: q, site: 'photodune.net', page: String(page), page_size: String(PAGE) };
      const { matches, links } = await http.get('/v1/discovery/search/search/item', Results, { query });
      return { items: matches.map(itemOf), more: !!links?.next_page_url };
    },
    async acquire(id) {
      const entry = await http.find('/v3/market/catalog/item', Entry, { query: { id } });
      if (!entry) return undefined;
      const file = await http.find('/v3/market/buyer/download', z.object({ download_url: Download }), {
        query: { item_id: id },
      });
      if (!file)
        throw refused(
          'rejected',
          'Envato gives out only what the owner of the token has bought: buy this item there first',
        );
      return { item: itemOf(entry), download: file.download_url };
    },
  }),
  async check({ http }) {
    const { username } = await http.get('/v1/market/private/user/username.json', z.object({ username: z.string() }));
    return `Envato takes the token of ${username}`;
  },
});
