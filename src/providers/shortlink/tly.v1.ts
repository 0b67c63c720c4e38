import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { Clicks, ownDomain, shortlink, ShortUrl } from './_contract.ts';

const Link = z.object({ short_url: ShortUrl }).transform(({ short_url: made }) => ({ id: made, shortUrl: made }));
/** Refusals that their status does not tell from others. */
const REFUSALS = [
  { message: /^(API key is not valid|Domain Not Allowed)\b/i, failure: 'reauthorize' },
  { message: /^Short link limit reached\b/i, failure: 'exhausted' },
] as const;
const failureOf = (said: string) => REFUSALS.find(({ message }) => message.test(said))?.failure;

/** https://t.ly/docs; the refusals are those of the maker's own client. */
export default shortlink({
  id: 'tly',
  version: 'v1',
  status: 'active',
  title: 'T.LY',
  description: 'Short links with statistics and domains of your own.',
  website: 'https://t.ly',
  authType: 'api_key',
  setupNotes: 'Make a token at t.ly > Settings > API. A paid plan is needed.',
  credentials: { apiKey: secret('API token'), domain: ownDomain },
  api: 'https://api.t.ly',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  facts: { defaultDomain: 't.ly' },
  errors: { 403: 'reauthorize' },
  errorOf: z
    .object({ message: z.string().refine((said) => failureOf(said) !== undefined) })
    .transform(({ message }) => failureOf(message)!),
  shorten: ({ http, values }, url) =>
    http.post('/api/v1/link/shorten', Link, { json: { long_url: url, domain: values.domain }, creates: true }),
  clicks: async ({ http }, { shortUrl }) =>
    (await http.get('/api/v1/link/stats', z.object({ clicks: Clicks }), { query: { short_url: shortUrl } })).clicks,
  async check({ http }) {
    const { total } = await http.get(
      '/api/v1/link/list',
      z.object({ data: z.array(z.unknown()), total: z.int().nullish() }),
      { query: { limit: '1' } },
    );
    return `The account has ${total ?? 0} links`;
  },
});
