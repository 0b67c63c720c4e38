import { z } from 'zod';
import { text } from '../kit/declare/fields.ts';
import {
  authorizeUrl,
  checkClient,
  clientApp,
  CodeRefusal,
  exchangeCode,
  type OAuth2,
} from '../kit/protocols/oauth.ts';
import { auth, type AuthLine } from './_contract.ts';
import { appOf } from './_people.ts';

const User = z.object({
  id: z.int().positive(),
  login: z.string(),
  name: z.string().nullish(),
  avatar_url: z.url().nullish(),
});
const Emails = z.array(z.object({ email: z.string(), primary: z.boolean(), verified: z.boolean() }));

const loginOf = ({ values }: Pick<AuthLine, 'values'>): OAuth2 => ({
  authorize: `${values['server']}/login/oauth/authorize`,
  token: `${values['server']}/login/oauth/access_token`,
  scopes: ['read:user', 'user:email'],
  pkce: true,
});

/** OAuth 2 without an id_token. The numeric id stays when a person changes the login name. */
export default auth({
  id: 'github',
  version: 'v1',
  status: 'active',
  title: 'GitHub',
  description: 'Login with an account at GitHub, or at a GitHub Enterprise Server.',
  website: 'https://github.com',
  authType: 'oauth2',
  setupNotes: 'Make an OAuth app at github.com > Settings > Developer settings.',
  credentials: {
    ...clientApp,
    server: text('Server', { form: 'origin', default: 'https://github.com', required: false }),
    api: text('API', {
      form: 'url',
      default: 'https://api.github.com',
      required: false,
      help: 'https://<server>/api/v3 of an Enterprise Server',
    }),
  },
  api: '{api}',
  errors: { 403: 'rate_limited' },
  errorOf: CodeRefusal,
  errorInside: CodeRefusal, // the token endpoint refuses with status 200
  by: 'consent',
  connect: ({ http, clock, values }) => ({
    by: 'consent',
    authorize: async (start) => authorizeUrl(loginOf({ values }), { app: appOf(values), ...start }),
    async identify(returned) {
      const { tokens } = await exchangeCode(http, clock, loginOf({ values }), { app: appOf(values), ...returned });
      const headers = {
        accept: 'application/vnd.github+json',
        authorization: `Bearer ${tokens.accessToken}`,
        'x-github-api-version': '2022-11-28',
      };
      const user = await http.get('/user', User, { headers });
      const emails = await http.get('/user/emails', Emails, { headers });
      return {
        providerId: String(user.id),
        // not the public address of the profile, which is not verified
        email: emails.find(({ primary, verified }) => primary && verified)?.email ?? null,
        name: user.name || user.login,
        avatarUrl: user.avatar_url ?? null,
      };
    },
  }),
  check: ({ http, clock, values }) => checkClient(http, clock, loginOf({ values }), appOf(values), values.server),
});
