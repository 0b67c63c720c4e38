import { z } from 'zod';
import type { Manifest } from '../kit/declare/adapter.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { Clicks, ownDomain, shortlink, ShortUrl } from './_contract.ts';

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
const PERSONAL = '/api/api.php';
const TEAM = '/team/API/index.php';
const Made = z
  .object({ url: z.object({ shortLink: ShortUrl }) })
  .transform(({ url: { shortLink } }) => ({ id: shortLink, shortUrl: shortLink }));
const Counted = z.object({ stats: z.object({ clicks: Clicks }) });

/** https://cutt.ly/api-documentation; a team has an API of its own, which refuses by status. */
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
    useBrandedDomain: text('Use the branded domain', {
      required: false,
      default: 'no',
      options: YES_NO,
      help: 'The one of the account; for the key of a team give its domain',
    }),
    team: text('It is the key of a team', { required: false, default: 'no', options: YES_NO }),
    domain: { ...ownDomain, label: 'Domain of the team', help: 'One that the team has; without it cutt.ly' },
  },
  api: 'https://cutt.ly',
  auth: { in: 'query', name: 'key', field: 'apiKey' },
  facts: { defaultDomain: 'cutt.ly' },
  errorInside: z.union([refusal('url', OF_LINK), refusal('stats', OF_STATISTICS)]), // refusals with status 200
  shorten: ({ http, values }, url) =>
    values.team === 'yes'
      ? http.get(TEAM, Made, { query: { action: 'shorten', url, domain: values.domain }, creates: true })
      : http.get(PERSONAL, Made, {
          query: { short: url, ...(values.useBrandedDomain === 'yes' && { userDomain: '1' }) },
          creates: true,
        }),
  clicks: async ({ http, values }, { shortUrl }) =>
    (values.team === 'yes'
      ? await http.get(TEAM, Counted, { query: { action: 'stats', url: shortUrl } })
      : await http.get(PERSONAL, Counted, { query: { stats: shortUrl } })
    ).stats.clicks,
});
