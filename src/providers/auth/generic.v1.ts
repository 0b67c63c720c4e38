import { refused } from '../kit/declare/fallback.ts';
import { text } from '../kit/declare/fields.ts';
import { idTokenClaims } from '../kit/protocols/jwt.ts';
import {
  authorizeUrl,
  checkClient,
  clientApp,
  CodeRefusal,
  exchangeCode,
  type OAuth2,
} from '../kit/protocols/oauth.ts';
import { Claims, openId } from '../kit/protocols/openid.ts';
import { auth, type AuthLine, type Consent } from './_contract.ts';
import { accountOf, appOf } from './_people.ts';

/** The server belongs to the operator: an address counts unless the server states that it is not verified. */
const OPERATORS = { vouched: true };
const url = (label: string, help: string) => text(label, { form: 'url', required: false, help });

/** Logs in by the issuer: endpoints and keys are discovered, the id_token is verified. */
function byIssuer({ fetch, timeoutMs, base, values }: AuthLine): Consent & { check(): Promise<void> } {
  const provider = openId(
    { fetch, title: 'The login server', timeoutMs },
    { issuer: base, ...appOf(values), scope: values['scope']! },
  );
  return {
    by: 'consent',
    authorize: provider.authorize,
    identify: async (returned) => accountOf(await provider.identify(returned), OPERATORS),
    check: () => provider.check(base),
  };
}

/**
 * Logs in by three addresses, without keys: userinfo names the person, over TLS; an id_token that comes along must not
 * contradict it.
 */
function byAddresses({ http, values, clock }: AuthLine): Consent & { check(): Promise<void> } {
  const app = appOf(values);
  const scope = values['scope']!;
  const login: OAuth2 = {
    authorize: values['authUrl']!,
    token: values['tokenUrl']!,
    scopes: [scope],
    pkce: true,
    ...(scope.split(' ').includes('openid') && { nonce: true }),
    secretIn: 'either',
  };
  return {
    by: 'consent',
    authorize: async (start) => authorizeUrl(login, { app, ...start }),
    async identify(returned) {
      const { tokens, idToken } = await exchangeCode(http, clock, login, { app, ...returned });
      const person = await http.get(values['userInfoUrl']!, Claims, {
        headers: { authorization: `Bearer ${tokens.accessToken}` },
      });
      if (idToken) {
        const { sub, aud, nonce, exp } = idTokenClaims(idToken) ?? {};
        const isOurs =
          [aud].flat().includes(app.clientId) &&
          (nonce === undefined || nonce === returned.nonce) &&
          Number(exp) * 1000 > clock.now().getTime() - 60_000;
        if (sub !== person.sub || !isOurs)
          throw refused('rejected', 'The answer of the login server cannot be believed (id_token)');
      }
      return accountOf(person, OPERATORS);
    },
    check: () => checkClient(http, clock, login, app, values['authUrl']!),
  };
}

const connect = (connection: AuthLine) => (connection.base ? byIssuer(connection) : byAddresses(connection));

export default auth({
  id: 'generic',
  version: 'v1',
  status: 'active',
  title: 'OpenID Connect',
  description: 'Login with any OpenID Connect or OAuth 2 server of the operator, such as Authentik, Keycloak or Dex.',
  website: 'https://openid.net',
  authType: 'oauth2',
  setupNotes:
    'The issuer is enough where the server has a discovery document; else the three addresses. A server in a private network needs OPERATOR_ALLOWED_PRIVATE_CIDRS.',
  credentials: {
    issuer: url('Issuer', 'Finds the addresses and the keys'),
    authUrl: url('Authorization URL', 'Without an issuer'),
    tokenUrl: url('Token URL', 'Without an issuer'),
    userInfoUrl: url('Userinfo URL', 'Without an issuer'),
    ...clientApp,
    scope: text('Scope', { required: false, default: 'openid profile email' }),
  },
  oneOf: [['issuer'], ['authUrl', 'tokenUrl', 'userInfoUrl']],
  api: '{issuer}',
  errorOf: CodeRefusal,
  by: 'consent',
  registersWhenClosed: true,
  connect: (connection) => connect(connection),
  check: (connection) => connect(connection).check(),
});
