import { secret, text } from '../kit/declare/fields.ts';
import { openId } from '../kit/protocols/openid.ts';
import { auth, type AuthLine } from './_contract.ts';
import { accountOf } from './_people.ts';

const client = ({ fetch, timeoutMs, base, values }: Pick<AuthLine, 'fetch' | 'timeoutMs' | 'base' | 'values'>) =>
  openId(
    { fetch, title: 'Google', timeoutMs },
    {
      issuer: base,
      clientId: values['clientId']!,
      clientSecret: values['clientSecret']!,
      scope: 'openid email profile',
      asks: { prompt: 'select_account' },
    },
  );

export default auth({
  id: 'google',
  version: 'v1',
  status: 'active',
  title: 'Google',
  description: 'Login with a Google account (OpenID Connect).',
  website: 'https://accounts.google.com',
  authType: 'oauth2',
  setupNotes: 'Make an OAuth client of the type "Web application" at console.cloud.google.com.',
  credentials: { clientId: text('Client id'), clientSecret: secret('Client secret') },
  api: 'https://accounts.google.com',
  by: 'consent',
  connect(connection) {
    const google = client(connection);
    return {
      by: 'consent',
      authorize: google.authorize,
      identify: async (returned) => accountOf(await google.identify(returned)),
    };
  },
  check: (connection) => client(connection).check(connection.base),
});
