import { z } from 'zod';
import { shortlink, ShortUrl } from './_contract.ts';

export default shortlink({
  id: 'cleanuri',
  version: 'v1',
  status: 'active',
  title: 'CleanURI',
  description: 'Free short links without an account.',
  website: 'https://cleanuri.com',
  authType: 'none',
  credentials: {},
  api: 'https://cleanuri.com/api/v1',
  facts: { defaultDomain: 'cleanuri.com' },
  errorInside: z.object({ error: z.string() }).transform(() => 'rejected' as const),
  shorten: ({ http }, url) =>
    http.post(
      '/shorten',
      z.object({ result_url: ShortUrl }).transform(({ result_url: made }) => ({ id: made, shortUrl: made })),
      { form: { url }, creates: true },
    ),
});
