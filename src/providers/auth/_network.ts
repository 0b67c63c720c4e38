import { text } from '../kit/declare/fields.ts';
import {
  authorizeUrl,
  checkClient,
  clientApp,
  CodeRefusal,
  exchangeCode,
  type OAuth2,
} from '../kit/protocols/oauth.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Account, auth, type AuthAdapter, type AuthLine } from './_contract.ts';
import { appOf } from './_people.ts';

interface Network extends OAuth2 {
  id: string;
  title: string;
  website: string;
  /** Base URL of the API, and of the token endpoint when `token` is a path. */
  api: string;
  /**
   * Default of the field `server`, which fills `{server}` in `authorize` and `token`; absent where there is one host.
   */
  server?: string;
  person(http: Http, headers: Record<string, string>): Promise<Account>;
}

/**
 * Declares the login by a social network whose app the operator has registered for channels (`*_SSO_ENABLED`). Offered
 * only where it is switched on.
 */
export function network({ id, title, website, api, server, person, ...login }: Network): AuthAdapter {
  const loginOf = ({ values }: Pick<AuthLine, 'values'>): OAuth2 => {
    const at = (address: string) => address.replace('{server}', values['server'] ?? '');
    return { ...login, authorize: at(login.authorize), token: at(login.token) };
  };
  return auth({
    id,
    version: 'v1',
    status: 'active',
    title,
    description: `Login with an account at ${title}.`,
    website,
    optional: 'sso',
    authType: 'oauth2',
    credentials: {
      ...clientApp,
      ...(server !== undefined && { server: text('Server', { form: 'origin', default: server, required: false }) }),
    },
    api,
    errorOf: CodeRefusal,
    by: 'consent',
    connect: ({ http, clock, values }) => ({
      by: 'consent',
      authorize: async (start) => authorizeUrl(loginOf({ values }), { app: appOf(values), ...start }),
      async identify(returned) {
        const { tokens } = await exchangeCode(http, clock, loginOf({ values }), { app: appOf(values), ...returned });
        return person(http, { authorization: `Bearer ${tokens.accessToken}` });
      },
    }),
    check: ({ http, clock, values }) => checkClient(http, clock, loginOf({ values }), appOf(values), website),
  });
}
