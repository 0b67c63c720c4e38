import { z } from 'zod';
import {
  contentPack,
  type ContentPackLine,
  Download,
  Id,
  type Item,
  PAGE,
  type ProviderFailure,
  Web,
  Words,
} from './_contract.ts';
import { clientToken } from '../kit/protocols/client-token.ts';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import type { Call } from '../kit/wire/http.ts';
import { TokenRefusal } from '../kit/protocols/oauth.ts';

const credentials = {
  clientId: text('Client id', { help: 'The API key of the Adobe Developer Console' }),
  clientSecret: secret('Client secret', { required: false, help: 'Needed to license; searching works without it' }),
  scopes: text('OAuth scopes', {
    required: false,
    default: '',
    help: 'As the console shows them beside the client secret',
  }),
  productName: text('Name of this product', {
    default: 'Rookery/1.0',
    validation: '[\\x21-\\x7e]{1,100}',
    help: 'Adobe wants to be told one (X-Product)',
  }),
};

const TOKENS = 'https://ims-na1.adobelogin.com/ims/token/v3';
const File = z.object({
  id: Id,
  title: Words,
  creator_name: Words,
  thumbnail_url: Web,
  details_url: Web,
  media_type_id: z.int().nullish(),
});
type File = z.output<typeof File>;
const Files = z.object({ nb_results: z.int().nullish(), files: z.array(File) });
const Contents = z.object({
  contents: z.record(
    z.string(),
    z.object({ purchase_details: z.object({ state: z.string(), url: Download.nullish() }) }),
  ),
});
const Options = z.object({ purchase_options: z.object({ state: z.string() }) });
const Quota = z.object({ available_entitlement: z.object({ quota: z.int() }).nullable() });

const COLUMNS = ['id', 'title', 'creator_name', 'thumbnail_url', 'details_url', 'media_type_id', 'nb_results']
  .map((name) => `result_columns[]=${name}`)
  .join('&');
const VIDEOS = 4;
const licenceOf = ({ media_type_id }: File): string => (media_type_id === VIDEOS ? 'Video_HD' : 'Standard');
const itemOf = (file: File): Item => ({
  id: file.id,
  title: file.title ?? 'Photo',
  preview: file.thumbnail_url,
  url: file.details_url,
  author: file.creator_name,
  authorUrl: null,
  licence: `Adobe Stock ${licenceOf(file)} licence`,
  licenceUrl: 'https://stock.adobe.com/license-terms',
  credit: null,
});

/** Makes the calls: the key alone allows searches, licences need a token. */
function calls(line: ContentPackLine<typeof credentials>) {
  const { http, values } = line;
  const headers = { 'x-api-key': values.clientId, 'x-product': values.productName };
  const form = {
    client_id: values.clientId,
    client_secret: values.clientSecret,
    ...(values.scopes && { scope: values.scopes }),
  };
  const token = values.clientSecret ? clientToken(line, TOKENS, form) : undefined;
  return {
    token,
    search: (query: Record<string, string>) =>
      http.get(`/Media/1/Search/Files?${COLUMNS}`, Files, { query: { locale: 'en_US', ...query }, headers }),
    files: (ids: string) => http.get(`/Media/1/Files?${COLUMNS}`, Files, { query: { ids, locale: 'en_US' }, headers }),
    as: <S extends z.ZodType>(bearer: string, path: string, reply: S, call: Call) =>
      http.get(`/Libraries/1/${path}`, reply, { ...call, headers: { ...headers, authorization: `Bearer ${bearer}` } }),
  };
}

export default contentPack({
  id: 'adobe-stock',
  version: 'v1',
  status: 'active',
  title: 'Adobe Stock',
  description: 'Stock photos and videos with enterprise licences.',
  website: 'https://stock.adobe.com',
  authType: 'oauth2',
  setupNotes:
    'The API is open to customers of Stock for Enterprise, and for searching to approved affiliates. What is taken into the library is licensed from the quota of the plan; where Adobe would charge more than that, it is refused.',
  credentials,
  api: 'https://stock.adobe.io/Rest',
  errors: { 403: 'exhausted' }, // not entitled
  errorOf: z.union([
    TokenRefusal,
    // the API key
    z.object({ code: z.coerce.number().refine((code) => code === 10) }).transform((): ProviderFailure => 'reauthorize'),
    // from the gateway, for key or token
    z.object({ error_code: z.coerce.string().regex(/^40[13]\d{3}$/) }).transform((): ProviderFailure => 'reauthorize'),
  ]),
  kinds: ['image', 'video'],
  connect(line) {
    const { token, search, files, as } = calls(line);
    return {
      async search({ q, kind, page }) {
        const { files: found, nb_results } = await search({
          'search_parameters[words]': q,
          'search_parameters[limit]': String(PAGE),
          'search_parameters[offset]': String((page - 1) * PAGE),
          'search_parameters[thumbnail_size]': '500',
          [`search_parameters[filters][content_type:${kind === 'video' ? 'video' : 'photo'}]`]: '1',
        });
        return { items: found.map(itemOf), more: page * PAGE < (nb_results ?? 0) };
      },
      async acquire(id) {
        if (!token)
          throw refused('unsupported', 'Adobe Stock licenses only with the client secret: add it to the settings');
        const [file] = (await files(id)).files;
        if (!file) return undefined;
        const bearer = await token();
        const licence = { content_id: id, license: licenceOf(file) };
        const ofId = ({ contents }: z.output<typeof Contents>) => contents[id]?.purchase_details;
        if (ofId(await as(bearer, 'Content/Info', Contents, { query: licence }))?.state !== 'purchased') {
          const { purchase_options: options } = await as(bearer, 'Member/Profile', Options, {
            query: { ...licence, locale: 'en_US' },
          });
          if (options.state !== 'possible')
            throw refused('exhausted', 'The plan at Adobe Stock does not include this item, or its quota is used up');
        }
        const bought = ofId(await as(bearer, 'Content/License', Contents, { query: licence, creates: true }));
        if (!bought?.url)
          throw refused('exhausted', `Adobe Stock gave no licence of this item (${bought?.state ?? 'not listed'})`);
        const download = new URL(bought.url);
        download.searchParams.set('token', bearer); // the download host refuses it as a header
        return { item: itemOf(file), download: download.href };
      },
    };
  },
  async check(line) {
    const { token, search, as } = calls(line);
    await search({ 'search_parameters[words]': 'a', 'search_parameters[limit]': '1' });
    if (!token) return 'Adobe Stock takes the key for searching; licensing needs the client secret';
    const { available_entitlement: left } = await as(await token(), 'Member/Profile', Quota, {
      query: { locale: 'en_US' },
    });
    return `Adobe Stock takes the key: ${left?.quota ?? 0} licences are left`;
  },
});
