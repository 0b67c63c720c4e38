import { z } from 'zod';
import { network } from './_network.ts';

const Me = z.object({
  id: z.string().min(1),
  name: z.string().nullish(),
  email: z.string().nullish(), // absent unless Facebook has verified it
  picture: z.object({ data: z.object({ url: z.url() }) }).nullish(),
});

/** Ids are specific to the app: another app sees another id of the same person. */
export default network({
  id: 'facebook',
  title: 'Facebook',
  website: 'https://www.facebook.com',
  api: 'https://graph.facebook.com/v25.0',
  authorize: 'https://www.facebook.com/v25.0/dialog/oauth',
  token: '/oauth/access_token',
  scopes: ['public_profile', 'email'],
  async person(http, headers) {
    const me = await http.get('/me', Me, { headers, query: { fields: 'id,name,email,picture' } });
    return { providerId: me.id, email: me.email ?? null, name: me.name ?? '', avatarUrl: me.picture?.data.url ?? null };
  },
});
