import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text, type ValuesOf } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Tokens } from './_contract.ts';
import { api, type Version } from './_lemmy-api.ts';

export const credentials = {
  service: text('Server', {
    form: 'origin',
    default: 'https://lemmy.world',
    help: 'The address of your server, for example https://lemmy.example',
  }),
  identifier: text('User name or email', { validation: '.{1,300}' }),
  password: secret('Password'),
};
type Typed = ValuesOf<typeof credentials>;

const Login = z.object({ jwt: z.string().nullish(), registration_created: z.boolean() });

/** Asks a server which version of the API it has. */
export async function versionAt(http: Http): Promise<Version> {
  const site = await http.find('/api/v4/site', z.object({ version: z.string() }));
  return site ? 'v4' : 'v3';
}

/** Signs in, and keeps which version of the API the server has. */
export async function signIn({ http, values }: { http: Http; values: Typed }): Promise<Tokens> {
  const version = await versionAt(http);
  const { at, login } = api({ api: version });
  const { jwt } = await http.post(at + login, Login, {
    json: {
      username_or_email: values.identifier,
      password: values.password,
      ...(version === 'v4' && { stay_logged_in: true }),
    },
  });
  if (!jwt) throw refused('rejected', 'Lemmy waits for the email or the registration of this account to be confirmed');
  return { accessToken: jwt, values: { api: version } };
}
