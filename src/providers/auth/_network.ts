import { checkClient, type CodeLogin, CodeRefusal, consentUrl, takeToken } from '../kit/protocols/code-login.ts';
import { secret, text } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import { type Account, auth, type AuthAdapter, type AuthLine } from './_contract.ts';

interface Network extends Pick<CodeLogin, 'scope' | 'secretIn' | 'noPkce'> {
  id: string;
  title: string;
  website: string;
  /** Base URL of the API, and of the token endpoint when `token` is a path. */
  api: string;
  authorize: string;
  token: string;
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
export function network({ id, title, website, api, authorize, token, server, person, ...way }: Network): AuthAdapter {
  const clientOf = ({ values }: Pick<AuthLine, 'values'>): CodeLogin => {
    const at = (address: string) => address.replace('{server}', values['server'] ?? '');
    return {
      ...way,
      authorize: at(authorize),
      token: at(token),
      clientId: values['clientId']!,
      clientSecret: values['clientSecret']!,
    };
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
      clientId: text('Client id'),
      clientSecret: secret('Client secret'),
      ...(server !== undefined && { server: text('Server', { form: 'origin', default: server, required: false }) }),
    },
    api,
    errorOf: CodeRefusal,
    by: 'consent',
    connect: ({ http, values }) => ({
      by: 'consent',
      authorize: async (start) => consentUrl(clientOf({ values }), start),
      async identify(returned) {
        const { access_token } = await takeToken(http, clientOf({ values }), returned);
        return person(http, { authorization: `Bearer ${access_token}` });
      },
    }),
    check: ({ http, values }) => checkClient(http, clientOf({ values }), website),
  });
}
