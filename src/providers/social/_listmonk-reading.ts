import { z } from 'zod';
import type { Field } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Operations } from './_contract.ts';
import { campaignOf } from './_listmonk-campaigns.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';
import { listing } from './_tools.ts';

const Lists = z.object({
  data: z.object({
    results: z.array(z.object({ id: z.number(), name: z.string(), subscriber_count: z.number().nullish() })),
  }),
});
const Templates = z.object({ data: z.array(z.object({ id: z.number(), name: z.string(), type: z.string() })) });
const lists = (http: Http, per_page = 'all') => http.get('/lists', Lists, { query: { per_page } });

/** The server, its lists and templates, and what is told of campaigns. */
export const listmonkReading = {
  async profile({ http, values: { url, username } }) {
    await lists(http, '1'); // the login is good
    const { host } = new URL(url);
    return { id: `${username}@${host}`, name: host, handle: username, server: url };
  },
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const found = await campaignOf(http, id);
      return found && { views: found.data.views, clicks: found.data.clicks };
    }),
  /** A subscriber of several lists counts in each. */
  async channelMetrics({ http, clock }) {
    const { data } = await lists(http);
    const followers = data.results.reduce((sum, { subscriber_count: count }) => sum + (count ?? 0), 0);
    return seriesOfNow(clock, { followers });
  },
  tools: {
    list: listing('Names the lists of the server', async ({ http }) => {
      const { data } = await lists(http);
      return data.results.map(({ id, name }) => ({ id: String(id), name }));
    }),
    templates: listing('Names the templates of campaigns', async ({ http }) => {
      const { data } = await http.get('/templates?no_body=true', Templates);
      return data.filter(({ type }) => type !== 'tx').map(({ id, name }) => ({ id: String(id), name }));
    }),
  },
} satisfies Operations<z.ZodType, Record<'url' | 'username' | 'password', Field>>;
