import { z } from 'zod';
import type { Clock } from '../../platform/kernel/index.ts';
import { whenFailed } from '../kit/declare/fallback.ts';
import { secret, text, type ValuesOf } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Tokens } from './_contract.ts';

export const credentials = {
  service: text('Server', { form: 'origin', help: 'The address of your server, for example https://video.example' }),
  username: text('User name', { validation: '.{1,300}' }),
  password: secret('Password'),
};
const Client = z.object({ client_id: z.string(), client_secret: z.string() });
const Granted = z.object({
  access_token: z.string(),
  refresh_token: z.string(),
  expires_in: z.number(),
  refresh_token_expires_in: z.number().nullish(),
});

type Login = { http: Http; values: ValuesOf<typeof credentials>; clock: Clock };
async function grant({ http, clock }: Login, form: Readonly<Record<string, string>>): Promise<Tokens> {
  const client = await http.get('/oauth-clients/local', Client);
  const granted = await http.post('/users/token', Granted, { form: { ...client, ...form } });
  const until = granted.refresh_token_expires_in;
  return {
    accessToken: granted.access_token,
    refreshToken: granted.refresh_token,
    expiresAt: clock.in(granted.expires_in * 1_000),
    ...(until && { refreshExpiresAt: clock.in(until * 1_000) }),
  };
}
/** The password grant of the client that every server has for its own pages. */
export const signIn = (call: Login): Promise<Tokens> => {
  const { username, password } = call.values;
  return grant(call, { grant_type: 'password', response_type: 'code', username, password });
};

/** By the refresh token; after it has ended, by the password. */
export async function refresh({ tokens, ...call }: Login & { tokens: Tokens }): Promise<Tokens> {
  const { refreshToken, values } = tokens;
  const byToken = () => grant(call, { grant_type: 'refresh_token', refresh_token: refreshToken! });
  const fresh = await (refreshToken ? whenFailed('reauthorize', byToken, () => signIn(call)) : signIn(call));
  return { ...fresh, ...(values && { values }) };
}
