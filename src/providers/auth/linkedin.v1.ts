import { Claims } from '../kit/protocols/openid.ts';
import { network } from './_network.ts';
import { accountOf } from './_people.ts';

/** The id_token has no nonce, so userinfo is read, over TLS. */
export default network({
  id: 'linkedin',
  title: 'LinkedIn',
  website: 'https://www.linkedin.com',
  api: 'https://api.linkedin.com/v2',
  server: 'https://www.linkedin.com',
  authorize: '{server}/oauth/v2/authorization',
  token: '{server}/oauth/v2/accessToken',
  scopes: ['openid', 'profile', 'email'],
  nonce: true,
  person: async (http, headers) => accountOf(await http.get('/userinfo', Claims, { headers })),
});
