import { z } from 'zod';
import { DAY_MS, Download, Id, type Item, MINUTE_MS, PAGE, stockSource, Web, Words } from './_contract.ts';
import { clientToken } from '../kit/protocols/client-token.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { TokenRefusal } from '../kit/protocols/oauth.ts';

const Image = z.object({
  id: Id,
  title: Words,
  url: Download,
  thumbnail: Web,
  foreign_landing_url: Web,
  creator: Words,
  creator_url: Web,
  license: z.string(),
  license_version: z.string().nullish(),
  license_url: Web,
  attribution: Words,
});
const Results = z.object({ page_count: z.int(), results: z.array(Image) });

const NAMES: Readonly<Record<string, string>> = { cc0: 'CC0', pdm: 'Public Domain Mark' };
const itemOf = ({
  id,
  title,
  thumbnail,
  foreign_landing_url,
  creator,
  creator_url,
  license,
  license_version,
  license_url,
  attribution,
}: z.output<typeof Image>): Item => ({
  id,
  title: title ?? 'Image',
  preview: thumbnail,
  url: foreign_landing_url,
  author: creator,
  authorUrl: creator_url,
  licence: `${NAMES[license] ?? `CC ${license.toUpperCase()}`} ${license_version ?? ''}`.trim(),
  licenceUrl: license_url,
  credit: attribution,
});

/** Greatest page size without a login. */
const PAGE_WITHOUT = 20;
const hasLogin = ({ clientId, clientSecret }: Readonly<Record<string, string>>) => !!clientId && !!clientSecret;

export const openverse = stockSource({
  id: 'openverse',
  version: 'v1',
  title: 'Openverse',
  description: 'Openly licensed pictures, found on many sites.',
  website: 'https://openverse.org',
  authType: 'oauth2',
  credentials: {
    clientId: text('Client id', { required: false, help: 'It answers without one, too, but less often' }),
    clientSecret: secret('Client secret', { required: false }),
  },
  api: 'https://api.openverse.org',
  errors: { 403: 'reauthorize' },
  errorOf: TokenRefusal,
  kinds: ['image'],
  lastPage: 20,
  rates: (values) =>
    hasLogin(values)
      ? [
          { requests: 100, perMs: MINUTE_MS },
          { requests: 10_000, perMs: DAY_MS },
        ]
      : [
          { requests: 20, perMs: MINUTE_MS },
          { requests: 200, perMs: DAY_MS },
        ],
  connect({ values, ...line }) {
    const { http } = line;
    const form = { client_id: values.clientId, client_secret: values.clientSecret };
    const token = hasLogin(values) ? clientToken(line, '/v1/auth_tokens/token/', form) : undefined;
    const pageSize = String(token ? PAGE : PAGE_WITHOUT);
    const headers = async () => (token ? { authorization: `Bearer ${await token()}` } : {});
    return {
      async search({ q, page }) {
        const query = { q, page: String(page), page_size: pageSize };
        const { results, page_count } = await http.get('/v1/images/', Results, { query, headers: await headers() });
        return { items: results.map(itemOf), more: page < page_count };
      },
      async acquire(id) {
        const image = await http.find(`/v1/images/${id}/`, Image, { headers: await headers() });
        return image && { item: itemOf(image), download: image.url };
      },
    };
  },
});
