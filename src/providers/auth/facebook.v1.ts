import { z } from 'zod';
import { network } from './_network.ts';

const Me = z.object({
  id: z.string().min(1),
  name: z.string().nullish(),
  email: z.string().nullish(), // one that Facebook has confirmed, or none
  picture: z.object({ data: z.object({ url: z.url() }) }).nullish(),
});

/** The id is of this app alone: the same person is another one to another app. */
export default network({
  id: 'facebook',
  title: 'Facebook',
  website: 'https://www.facebook.com',
  api: 'https://graph.facebook.com/v25.0',
  authorize: 'https://www.facebook.com/v25.0/dialog/oauth',
  token: '/oauth/access_token',
  scope: 'public_profile email',
  noPkce: true,
  async person(http, headers) {
    const me = await http.get('/me', Me, { headers, query: { fields: 'id,name,email,picture' } });
    return { providerId: me.id, email: me.email ?? null, name: me.name ?? '', avatarUrl: me.picture?.data.url ?? null };
  },
});
