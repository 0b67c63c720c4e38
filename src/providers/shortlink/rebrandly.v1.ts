import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import { Clicks, ownDomain, shortlink, ShortUrl } from './_contract.ts';

/** Links have no scheme: `https` is told in a field beside them. */
const Link = z
  .object({ id: z.string().min(1), shortUrl: z.string(), https: z.boolean().nullish() })
  .transform(({ id, shortUrl, https }) => ({ id, shortUrl: `${https === false ? 'http' : 'https'}://${shortUrl}` }))
  .pipe(z.object({ id: z.string(), shortUrl: ShortUrl }));
const Limit = z.object({ code: z.literal('LimitExceeded') });
/** Every fault of a request is a 403 with a code, alone or in a list; one of the codes is the limit of the plan. */
const UsedUp = z
  .union([
    Limit,
    z.object({ errors: z.array(z.unknown()).refine((all) => all.some((one) => Limit.safeParse(one).success)) }),
  ])
  .transform(() => 'exhausted' as const);
const within = (workspace: string | undefined) => (workspace ? { headers: { workspace } } : {});

/** https://developers.rebrandly.com/docs/403-limit-exceeded and /validation-errors */
export default shortlink({
  id: 'rebrandly',
  version: 'v1',
  status: 'active',
  title: 'Rebrandly',
  description: 'Branded links with click counts.',
  website: 'https://www.rebrandly.com',
  authType: 'api_key',
  setupNotes: 'Make a key at app.rebrandly.com > Account > API keys.',
  credentials: {
    apiKey: secret('API key'),
    workspaceId: text('Workspace id', {
      required: false,
      validation: '[A-Za-z0-9-]{1,64}',
      help: 'Without it the main one',
    }),
    domain: ownDomain,
  },
  api: 'https://api.rebrandly.com/v1',
  auth: { in: 'header', name: 'apikey', prefix: '', field: 'apiKey' },
  facts: { defaultDomain: 'rebrand.ly' },
  errorOf: UsedUp,
  shorten: ({ http, values: { domain, workspaceId } }, url) =>
    http.post('/links', Link, {
      ...within(workspaceId),
      json: { destination: url, ...(domain && { domain: { fullName: domain } }) },
      creates: true,
    }),
  clicks: async ({ http, values }, { id }) =>
    (await http.get(`/links/${encodeURIComponent(id)}`, z.object({ clicks: Clicks }), within(values.workspaceId)))
      .clicks,
  check: async ({ http, values }) =>
    `The key is ${(await http.get('/account', z.object({ email: z.string() }), within(values.workspaceId))).email}'s`,
});
