import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { Clicks, ownDomain, shortlink, ShortUrl } from './_contract.ts';

const Link = z
  .object({ id: z.string().min(1), shortLink: ShortUrl })
  .transform(({ id, shortLink }) => ({ id, shortUrl: shortLink }));

/** https://dub.co/docs/api-reference/errors */
export default shortlink({
  id: 'dub',
  version: 'v1',
  status: 'active',
  title: 'Dub',
  description: 'Short links and what they lead to, from an open-source maker.',
  website: 'https://dub.co',
  authType: 'api_key',
  setupNotes: 'Make a key of the workspace at app.dub.co > Settings > API keys.',
  credentials: { apiKey: secret('API key', { placeholder: 'dub_…' }), domain: ownDomain },
  api: 'https://api.dub.co',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  facts: { defaultDomain: 'dub.sh' },
  errors: { 403: 'reauthorize' }, // the key may not do this
  errorOf: z.object({ error: z.object({ code: z.literal('exceeded_limit') }) }).transform(() => 'exhausted' as const),
  repeatable: true,
  shorten: ({ http, values }, url) =>
    http.put('/links/upsert', Link, { json: { url, domain: values.domain }, creates: true }),
  async clicks({ http }, { id }) {
    const query = { event: 'clicks', groupBy: 'count', linkId: id, interval: 'all' };
    return (await http.get('/analytics', z.object({ clicks: Clicks }), { query })).clicks;
  },
  async check({ http }) {
    const [first] = await http.get('/domains', z.array(z.object({ slug: z.string() })), { query: { pageSize: '1' } });
    return first ? `The workspace has the domain ${first.slug}` : 'The workspace has no domain of its own';
  },
});
