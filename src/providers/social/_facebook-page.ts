import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Operations } from './_contract.ts';
import { Id, managedPages } from './_meta-graph.ts';
import { chosenPage } from './_pages.ts';

const Node = Id.extend({
  name: z.string(),
  username: z.string().nullish(),
  picture: z
    .object({ data: z.object({ url: z.url() }) })
    .nullish()
    .catch(undefined),
});
const NODE_FIELDS = 'id,name,username,picture.type(large){url}';
const shown = ({ id, name, username, picture }: z.output<typeof Node>) => ({
  id,
  name,
  handle: username ?? '',
  picture: picture?.data.url,
});

/** The pages of the connected person. */
export const facebookPage = {
  async profile({ http, values }) {
    const page = chosenPage(values, 'page');
    return shown(await http.get(`/${page ?? 'me'}`, Node, { query: { fields: page ? NODE_FIELDS : 'id,name' } }));
  },
  pages: async ({ http }) => (await managedPages(http, Node, NODE_FIELDS)).map(shown),
  async choose({ http, page, tokens }) {
    const Page = Id.extend({ access_token: z.string().optional() });
    const { access_token: accessToken } = await http.get(`/${page}`, Page, { query: { fields: 'access_token' } });
    if (accessToken === undefined) throw refused('rejected', 'The login may not post to this page');
    return { accessToken, values: { ...tokens.values, page } }; // a token of a page does not expire
  },
} satisfies Operations;
