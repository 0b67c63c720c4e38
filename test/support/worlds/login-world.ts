import { z } from 'zod';
import type { Database } from '../../../src/platform/db/index.ts';
import { type Client, testApp } from './app.ts';
import { consent } from '../peers/visitor.ts';

export const FRONTEND = 'https://app.example.test';
export const MAIN = 'https://main.example.test';
export const SECRET = 'the-secret-of-the-client';

/** What the peer `login` says of itself. */
export const LoginPeer = z.object({
  google: z.string(),
  github: z.string(),
  web3: z.string(),
  address: z.string(),
  otherAddress: z.string(),
  contract: z.string(),
});
export type LoginPeer = z.output<typeof LoginPeer>;

/** Settings of the environment that name an OpenID provider by its three addresses. */
export const genericByAddresses = (issuer: string, more: Record<string, string> = {}) => ({
  SERVICE_GENERIC_OAUTH: 'true',
  SERVICE_OAUTH_AUTH_URL: `${issuer}/auth`,
  SERVICE_OAUTH_TOKEN_URL: `${issuer}/token`,
  SERVICE_OAUTH_USERINFO_URL: `${issuer}/me`,
  SERVICE_OAUTH_CLIENT_ID: 'rookery',
  SERVICE_OAUTH_CLIENT_SECRET: SECRET,
  ...more,
});

/** The app with its login providers; `google` is the address that stands in for Google's. */
export async function loginApp({
  sql,
  env = {},
  google,
}: {
  sql: Database;
  env?: Record<string, string>;
  google?: string;
}) {
  return testApp({
    sql,
    env: {
      FRONTEND_URL: FRONTEND,
      MAIN_URL: MAIN,
      NEXT_PUBLIC_BACKEND_URL: `${FRONTEND}/api`,
      OUTBOUND_HTTP_TIMEOUT_MS: '10000',
      ...env,
    },
    ...(google !== undefined && { servers: { 'auth/google': google } }),
  });
}
export type LoginApp = Awaited<ReturnType<typeof loginApp>>;

/** From the login page to the provider and back, as a browser goes. */
export async function comeBack(client: Client, provider: string, as: string, redirectUri?: string) {
  const query = redirectUri === undefined ? '' : `?redirect_uri=${encodeURIComponent(redirectUri)}`;
  const { status, text } = await client.get(`/auth/oauth/${provider}${query}`);
  if (status !== 200) throw new Error(`No consent page: ${text}`);
  const back = await consent(text, { as, until: (url) => url.startsWith(redirectUri ?? FRONTEND) });
  return { url: new URL(text), back, code: back.searchParams.get('code')!, state: back.searchParams.get('state')! };
}

/** The whole way to a new user; answers who that is. */
export async function registerBy(client: Client, provider: string, as: string) {
  const { code, state } = await comeBack(client, provider, as);
  const known = await client.post(`/auth/oauth/${provider}/exists`, { code, state });
  if (known.body?.token === undefined) throw new Error(`Not a newcomer: ${known.text}`);
  const registered = await client.post('/auth/register', {
    provider,
    providerToken: known.body.token,
    company: 'Acme Ltd',
  });
  if (registered.status !== 200) throw new Error(`Not registered: ${registered.text}`);
  return (await client.get('/user/self')).body;
}
