import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret } from '../kit/declare/fields.ts';
import { Clicks, ownDomain, shortlink, ShortUrl } from './_contract.ts';

const Link = z
  .object({ idString: z.string().min(1), shortURL: ShortUrl, secureShortURL: ShortUrl.nullish() })
  .transform(({ idString, shortURL, secureShortURL }) => ({ id: idString, shortUrl: secureShortURL ?? shortURL }));

export default shortlink({
  id: 'shortio',
  version: 'v1',
  status: 'active',
  title: 'Short.io',
  description: 'Short links of a domain of your own.',
  website: 'https://short.io',
  authType: 'api_key',
  setupNotes: 'Make a secret key at app.short.io > Integrations & API.',
  credentials: {
    apiKey: secret('Secret API key', { placeholder: 'sk_…' }),
    domain: { ...ownDomain, required: true, help: 'A domain of the account' },
  },
  api: 'https://api.short.io',
  hosts: { statistics: 'https://statistics.short.io/statistics' },
  auth: [
    { in: 'header', name: 'authorization', field: 'apiKey' },
    { in: 'header', name: 'authorization', field: 'apiKey', host: 'statistics' },
  ],
  errors: { 403: 'reauthorize' },
  repeatable: true,
  shorten: ({ http, values }, url) =>
    http.post('/links', Link, { json: { originalURL: url, domain: values.domain }, creates: true }),
  async clicks({ http, hosts }, { id }) {
    const reply = z.object({ totalClicks: Clicks });
    const path = `${hosts['statistics']}/link/${encodeURIComponent(id)}`;
    return (await http.get(path, reply, { query: { period: 'total' } })).totalClicks;
  },
  async check({ http, values }) {
    const domains = await http.get('/api/domains', z.array(z.object({ hostname: z.string() })));
    if (!domains.some(({ hostname }) => hostname === values.domain))
      throw refused('rejected', `Short.io knows no domain ${values.domain} of this account`);
    return `Short links will be of ${values.domain}`;
  },
});
