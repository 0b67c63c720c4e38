import { z } from 'zod';
import type { Manifest } from '../kit/declare/adapter.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { Clicks, shortlink, ShortUrl } from './_contract.ts';

type Words = NonNullable<Manifest['errors']>;
const OF_LINK: Words = {
  1: 'rejected',
  2: 'rejected',
  3: 'rejected',
  4: 'reauthorize',
  5: 'rejected',
  6: 'rejected',
  8: 'exhausted',
};
const OF_STATISTICS: Words = { 0: 'rejected', 2: 'reauthorize' };
const refusal = (key: string, words: Words) =>
  z
    .object({ [key]: z.object({ status: z.coerce.number().refine((status) => words[status] !== undefined) }) })
    .transform((said) => words[said[key]!.status]!);

const YES_NO = [
  { value: 'no', label: 'No' },
  { value: 'yes', label: 'Yes' },
];
const pathOf = (team: string) => (team === 'yes' ? '/team/API/index.php' : '/api/api.php');

export default shortlink({
  id: 'cuttly',
  version: 'v1',
  status: 'active',
  title: 'Cuttly',
  description: 'Short links with click counts.',
  website: 'https://cutt.ly',
  authType: 'api_key',
  setupNotes: 'The key is at cutt.ly > Edit account. A free account takes three calls a minute.',
  credentials: {
    apiKey: secret('API key'),
    useBrandedDomain: text('Use the branded domain', { required: false, default: 'no', options: YES_NO }),
    team: text('It is the key of a team', { required: false, default: 'no', options: YES_NO }),
  },
  api: 'https://cutt.ly',
  auth: { in: 'query', name: 'key', field: 'apiKey' },
  facts: { defaultDomain: 'cutt.ly' },
  errorInside: z.union([refusal('url', OF_LINK), refusal('stats', OF_STATISTICS)]), // every refusal has status 200
  shorten: ({ http, values }, url) =>
    http.get(
      pathOf(values.team),
      z
        .object({ url: z.object({ shortLink: ShortUrl }) })
        .transform(({ url: { shortLink } }) => ({ id: shortLink, shortUrl: shortLink })),
      { query: { short: url, ...(values.useBrandedDomain === 'yes' && { userDomain: '1' }) }, creates: true },
    ),
  async clicks({ http, values }, { shortUrl }) {
    const { stats } = await http.get(pathOf(values.team), z.object({ stats: z.object({ clicks: Clicks }) }), {
      query: { stats: shortUrl },
    });
    return stats.clicks;
  },
});
