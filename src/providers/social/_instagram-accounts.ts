import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Operations } from './_contract.ts';
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

/** The accounts of the pages that the connected person manages. */
export const instagramAccounts = {
  async profile({ http, values }) {
    const page = chosenPage(values, 'page');
    if (page !== undefined) return shown(await http.get(`/${page}`, Account, { query: { fields: FIELDS } }));
    return { ...(await http.get('/me', Person, { query: { fields: 'id,name' } })), handle: '' };
  },
  pages: async ({ http }) => (await accountsOf(http)).map(({ account }) => shown(account)),
  async choose({ http, page, tokens }) {
    const token = (await accountsOf(http)).find(({ account }) => account.id === page)?.token;
    if (!token) throw refused('rejected', 'The login may not post to this account');
    return { accessToken: token, values: { ...tokens.values, page } }; // a token of a page does not expire
  },
} satisfies Operations;
