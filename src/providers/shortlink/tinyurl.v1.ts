import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { ownDomain, shortlink, ShortUrl } from './_contract.ts';

const linkOf = (made: string) => ({ id: made, shortUrl: made });
const Made = z.object({ data: z.object({ tiny_url: ShortUrl }) }).transform(({ data }) => linkOf(data.tiny_url));
const WITHOUT_ACCOUNT = 'https://tinyurl.com/api-create.php';

export default shortlink({
  id: 'tinyurl',
  version: 'v1',
  status: 'active',
  title: 'TinyURL',
  description: 'The oldest of the short links.',
  website: 'https://tinyurl.com',
  authType: 'api_key',
  setupNotes:
    'A token is made at tinyurl.com > Settings > API. Without one, links are made without an account. How often a link was followed is not told.',
  credentials: { apiToken: secret('API token', { required: false }), domain: ownDomain },
  api: 'https://api.tinyurl.com',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiToken' },
  facts: { defaultDomain: 'tinyurl.com' },
  errors: { 403: 'reauthorize' },
  errorOf: z.object({ code: z.literal(1) }).transform(() => 'reauthorize' as const),
  shorten: ({ http, values }, url) =>
    values.apiToken
      ? http.post('/create', Made, { json: { url, domain: values.domain }, creates: true })
      : http.get(WITHOUT_ACCOUNT, ShortUrl.transform(linkOf), { query: { url }, creates: true }),
  async check({ http, values }) {
    if (!values.apiToken) return 'Without a token there is nothing to test: links are made without an account';
    await http.get('/urls/available', z.object({ data: z.array(z.unknown()) }));
    return 'TinyURL takes the token';
  },
});
