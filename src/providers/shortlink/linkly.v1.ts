import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { Id, ownDomain, shortlink, ShortUrl } from './_contract.ts';

const Link = z.object({ id: Id, full_url: ShortUrl }).transform(({ id, full_url }) => ({ id, shortUrl: full_url }));
/** A row of a date and a count. The names of its columns are not documented, so its only number is the count. */
const Row = z
  .record(z.string(), z.unknown())
  .transform((row) => Object.values(row).filter((value) => typeof value === 'number'))
  .pipe(z.tuple([z.int().min(0)]));

/** https://linklyhq.com/url-shortener-api-reference */
export default shortlink({
  id: 'linkly',
  version: 'v1',
  status: 'active',
  title: 'Linkly',
  description: 'Tracked links with pixels and domains of your own.',
  website: 'https://linklyhq.com',
  authType: 'api_key',
  setupNotes: 'Key and workspace id are at app.linklyhq.com > Settings > API.',
  credentials: {
    apiKey: secret('API key'),
    workspaceId: text('Workspace id', { validation: '[0-9]{1,15}', help: 'A number' }),
    domain: ownDomain,
  },
  api: 'https://api.linklyhq.com/api/v1',
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  errors: { 403: 'reauthorize', 404: 'reauthorize' }, // 403: plan or right of the key; 404: its workspace
  shorten: ({ http, values }, url) =>
    http.post('/link', Link, {
      json: { url, workspace_id: Number(values.workspaceId), domain: values.domain },
      creates: true,
    }),
  async clicks({ http, values, clock }, { id }) {
    const query = {
      link_id: id,
      start: '2015-01-01',
      end: clock.now().toISOString().slice(0, 10),
      frequency: 'day',
      bots: 'false',
    };
    const { traffic } = await http.get(`/workspace/${values.workspaceId}/clicks`, z.object({ traffic: z.array(Row) }), {
      query,
    });
    return traffic.reduce((sum, [count]) => sum + count, 0);
  },
  async check({ http, values }) {
    const workspaces = await http.get('/workspaces', z.array(z.object({ id: Id, name: z.string() })));
    const mine = workspaces.find(({ id }) => id === values.workspaceId);
    if (!mine) throw refused('rejected', `The key of Linkly opens no workspace ${values.workspaceId}`);
    return `Short links will be of the workspace ${mine.name}`;
  },
});
