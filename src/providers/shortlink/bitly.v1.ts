import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { Clicks, ownDomain, shortlink, ShortUrl } from './_contract.ts';

const Bitlink = z.object({ id: z.string(), link: ShortUrl }).transform(({ id, link }) => ({ id, shortUrl: link }));
const Quota = z.object({ message: z.enum(['MONTHLY_RATE_LIMIT_EXCEEDED', 'MONTHLY_ENCODE_LIMIT_REACHED']) });

export default shortlink({
  id: 'bitly',
  version: 'v1',
  status: 'active',
  title: 'Bitly',
  description: 'Short links with domains of your own and click counts.',
  website: 'https://bitly.com',
  authType: 'api_key',
  setupNotes: 'Make an access token at app.bitly.com > Settings > API.',
  credentials: {
    accessToken: secret('Access token'),
    groupGuid: text('Group GUID', { required: false, help: 'Without it the default group of the token' }),
    domain: ownDomain,
  },
  api: 'https://api-ssl.bitly.com/v4',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'accessToken' },
  facts: { defaultDomain: 'bit.ly' },
  errors: { 403: 'reauthorize' }, // a wrong token or a missing permission
  errorOf: Quota.transform(() => 'exhausted' as const), // sent with 429, although waiting does not help
  repeatable: true,
  shorten: ({ http, values }, url) =>
    http.post('/shorten', Bitlink, {
      json: { long_url: url, domain: values.domain, group_guid: values.groupGuid },
      creates: true,
    }),
  async clicks({ http }, { id }) {
    const reply = z.object({ total_clicks: Clicks });
    const query = { unit: 'day', units: '-1' };
    return (await http.get(`/bitlinks/${encodeURIComponent(id)}/clicks/summary`, reply, { query })).total_clicks;
  },
  check: async ({ http }) => `The token is ${(await http.get('/user', z.object({ login: z.string() }))).login}'s`,
});
