import { z } from 'zod';
import { whenFailed } from '../kit/declare/fallback.ts';
import { type Fields, secret, text } from '../kit/declare/fields.ts';
import { jwtExpiry } from '../kit/protocols/jwt.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Login, Tokens } from './_contract.ts';

export const credentials = {
  service: text('Server', {
    form: 'origin',
    default: 'https://bsky.social',
    help: 'The personal data server of the account',
  }),
  identifier: text('Handle or email', { validation: '.{3,300}', help: 'For example alice.bsky.social' }),
  password: secret('App password'),
} as const satisfies Fields;

const DidDoc = z.object({ service: z.array(z.object({ id: z.string(), serviceEndpoint: z.url() })) });
const Session = z.object({
  accessJwt: z.string(),
  refreshJwt: z.string(),
  did: z.string(),
  handle: z.string(),
  didDoc: DidDoc.nullish().catch(undefined),
});

function tokensOf(session: z.output<typeof Session>, typed: string): Tokens {
  const home = session.didDoc?.service.find(({ id }) => id.endsWith('#atproto_pds'))?.serviceEndpoint ?? typed;
  const expiresAt = jwtExpiry(session.accessJwt);
  return {
    accessToken: session.accessJwt,
    refreshToken: session.refreshJwt,
    values: { service: home },
    ...(expiresAt && { expiresAt }),
  };
}

const signIn = async (http: Http, values: { service: string; identifier: string; password: string }): Promise<Tokens> =>
  tokensOf(
    await http.post(`${values.service}/xrpc/com.atproto.server.createSession`, Session, {
      json: { identifier: values.identifier.replace(/^@/, ''), password: values.password },
    }),
    values.service,
  );

export const login: Login<typeof credentials> = {
  kind: 'credentials',
  signIn: ({ http, values }) => signIn(http, values),
  /** Both tokens are replaced; when the refresh token is refused, the app password is used. */
  refresh: ({ http, values, tokens }) =>
    whenFailed(
      'reauthorize',
      async () =>
        tokensOf(
          await http.post('/com.atproto.server.refreshSession', Session, {
            headers: { authorization: `Bearer ${tokens.refreshToken}` },
          }),
          tokens.values?.['service'] ?? values.service,
        ),
      () => signIn(http, values),
    ),
};
