import { z } from 'zod';
import { secret, text } from '../kit/declare/fields.ts';
import type { Login } from './_contract.ts';

/** The field that lets competitors be read: X charges the app for each reading. */
export const COMPETITORS = 'competitors';

/** X gives an app OAuth 2, OAuth 1.0a or both. */
export const xApp = {
  clientId: text('OAuth 2 client id', { required: false }),
  clientSecret: secret('OAuth 2 client secret', { required: false }),
  consumerKey: text('OAuth 1 consumer key', { required: false }),
  consumerSecret: secret('OAuth 1 consumer secret', { required: false }),
  [COMPETITORS]: text('Read competitors', {
    required: false,
    options: [{ value: 'true', label: 'Read the accounts that are watched once a day; X charges for each' }],
  }),
};

export const xLogin = {
  kind: 'oauth2',
  authorize: 'https://x.com/i/oauth2/authorize',
  token: 'https://api.x.com/2/oauth2/token',
  scopes: ['tweet.read', 'tweet.write', 'tweet.moderate.write', 'users.read', 'media.write', 'offline.access'],
  pkce: true,
  secretIn: 'header',
  revoke: { at: 'https://api.x.com/2/oauth2/revoke' },
  refusal: z
    .object({ error: z.literal('invalid_request'), error_description: z.string().regex(/token was invalid/i) })
    .transform(() => 'reauthorize' as const),
  oauth1: {
    request: 'https://api.x.com/oauth/request_token',
    authorize: 'https://api.x.com/oauth/authenticate',
    access: 'https://api.x.com/oauth/access_token',
  },
} as const satisfies Login;
