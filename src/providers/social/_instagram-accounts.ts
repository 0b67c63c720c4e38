import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Operations } from './_contract.ts';
import { plainHandle } from './_handles.ts';
import { Id, managedPages } from './_meta-graph.ts';
import { chosenPage } from './_pages.ts';

const Account = Id.extend({
  username: z.string(),
  name: z.string().nullish(),
  profile_picture_url: z.url().nullish().catch(undefined),
});
const FIELDS = 'id,username,name,profile_picture_url';
const Page = Id.extend({ access_token: z.string().nullish(), instagram_business_account: Account.nullish() });
const Person = Id.extend({ name: z.string() });
const shown = ({ id, username, name, profile_picture_url: picture }: z.output<typeof Account>) => ({
  id,
  name: name || username,
  handle: `@${username}`,
  picture,
});
/** The accounts that belong to pages of the person, each with the token of its page. */
const accountsOf = async (http: Http) =>
  (await managedPages(http, Page, `id,access_token,instagram_business_account{${FIELDS}}`)).flatMap(
    ({ access_token: token, instagram_business_account: account }) => (account ? [{ account, token }] : []),
  );

/** https://developers.facebook.com/docs/instagram-platform/instagram-api-with-facebook-login/business-discovery */
const Discovered = z.object({
  business_discovery: Account.extend({ followers_count: z.number().nullish(), media_count: z.number().nullish() }),
});
/** Nobody has this name, or it is no professional account. */
const Nobody = z.object({ error: z.object({ code: z.literal(110), error_subcode: z.literal(2_207_013) }) });

/** The accounts of the pages that the connected person manages. */
export const instagramAccounts = {
  async profile({ http, values }) {
    const page = chosenPage(values, 'page');
    if (page !== undefined) return shown(await http.get(`/${page}`, Account, { query: { fields: FIELDS } }));
    return { ...(await http.get('/me', Person, { query: { fields: 'id,name' } })), handle: '' };
  },
  publicProfile: {
    by: 'channel',
    example: '@name',
    read: (typed) => plainHandle(typed, /^[a-z0-9._]{1,30}$/),
    /** Professional accounts only: Instagram shows no others. */
    async find({ http, account, handle }) {
      const query = {
        fields: `business_discovery.username(${handle.slice(1)}){${FIELDS},followers_count,media_count}`,
      };
      const found = await http.find(`/${account}`, Discovered, { query, absent: Nobody });
      if (!found) return undefined;
      const { followers_count: followers, media_count: posts, ...one } = found.business_discovery;
      const { id, name, picture } = shown(one);
      return { id, name, picture, counts: { followers, posts } };
    },
  },
  pages: async ({ http }) => (await accountsOf(http)).map(({ account }) => shown(account)),
  async choose({ http, page, tokens }) {
    const token = (await accountsOf(http)).find(({ account }) => account.id === page)?.token;
    if (!token) throw refused('rejected', 'The login may not post to this account');
    return { accessToken: token, values: { ...tokens.values, page } }; // a token of a page does not expire
  },
} satisfies Operations;
