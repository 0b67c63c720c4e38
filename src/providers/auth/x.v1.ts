import { z } from 'zod';
import { network } from './_network.ts';

const Me = z.object({
  data: z.object({
    id: z.string().min(1),
    name: z.string(),
    username: z.string(),
    profile_image_url: z.url().nullish(),
    confirmed_email: z.string().nullish(),
  }),
});

export default network({
  id: 'x',
  title: 'X',
  website: 'https://x.com',
  api: 'https://api.x.com/2',
  authorize: 'https://x.com/i/oauth2/authorize',
  token: '/oauth2/token',
  scopes: ['tweet.read', 'users.read', 'users.email'], // /users/me needs the first two together
  pkce: true,
  secretIn: 'header',
  async person(http, headers) {
    const { data } = await http.get('/users/me', Me, {
      headers,
      query: { 'user.fields': 'profile_image_url,confirmed_email' },
    });
    return {
      providerId: data.id,
      email: data.confirmed_email ?? null,
      name: data.name || data.username,
      avatarUrl: data.profile_image_url ?? null,
    };
  },
});
