import { z } from 'zod';
import { secret } from '../kit/declare/fields.ts';
import { Clicks, Id, ownDomain, shortlink, type ShortlinkLine, ShortUrl } from './_contract.ts';

const Made = z
  .object({ id: Id, domain: z.string() })
  .transform(({ id, domain }) => ({ id, shortUrl: `https://${domain}/${id}` }))
  .pipe(z.object({ id: z.string(), shortUrl: ShortUrl }));
const Counted = z.object({ data: z.object({ links: z.tuple([z.object({ clicks: Clicks })], z.unknown()) }) });
const Workspaces = z.object({ data: z.object({ workspaces: z.array(z.object({ name: z.string() })) }) });
const credentials = {
  apiKey: secret('API token'),
  domain: { ...ownDomain, required: true, help: 'A domain of yours; hi.switchy.io and swiy.io are kept for others' },
};

/** Queries GraphQL on another host: links are made by REST, and read by GraphQL. */
const query = <S extends z.ZodType>(
  { http, values }: ShortlinkLine<typeof credentials>,
  reply: S,
  text: string,
  variables = {},
) =>
  http.post('https://graphql.switchy.io/v1/graphql', reply, {
    headers: { 'api-authorization': values.apiKey },
    json: { query: text, variables },
  });

export default shortlink({
  id: 'switchy',
  version: 'v1',
  status: 'active',
  title: 'Switchy',
  description: 'Short links with pixels for retargeting.',
  website: 'https://www.switchy.io',
  authType: 'api_key',
  setupNotes: 'The token of a workspace is at app.switchy.io > Settings > Integrations.',
  credentials,
  api: 'https://api.switchy.io/v1',
  auth: { in: 'header', name: 'api-authorization', prefix: '', field: 'apiKey' },
  errors: { 403: 'reauthorize' },
  shorten: ({ http, values }, url) =>
    http.post('/links/create', Made, { json: { link: { url, domain: values.domain } }, creates: true }),
  async clicks(line, { id, shortUrl }) {
    const text =
      'query ($domain: String!, $id: String!) { links(where: {domain: {_eq: $domain}, id: {_eq: $id}}) { clicks } }';
    return (await query(line, Counted, text, { domain: new URL(shortUrl).host, id })).data.links[0].clicks;
  },
  async check(line) {
    const { workspaces } = (await query(line, Workspaces, 'query { workspaces { id name } }')).data;
    return `The token opens ${workspaces.map(({ name }) => name).join(', ')}`;
  },
});
