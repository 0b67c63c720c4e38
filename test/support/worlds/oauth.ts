import { createHash, randomBytes } from 'node:crypto';
import { type Answer, Client, type SignedUp, type TestApp } from './app.ts';

export const CALLBACK = 'https://client.example/callback';

/** PKCE, made here from RFC 7636 and not by the product. */
export const pkce = (verifier = randomBytes(32).toString('base64url')) => ({
  verifier,
  challenge: {
    code_challenge: createHash('sha256').update(verifier, 'ascii').digest('base64url'),
    code_challenge_method: 'S256',
  },
});

export interface OrgApp {
  clientId: string;
  clientSecret: string;
  id: string;
}
/** The org's app. */
export async function makeApp(owner: SignedUp, redirectUrl = CALLBACK, name = 'Scheduler'): Promise<OrgApp> {
  const { status, body } = await owner.client.post('/user/oauth-app', {
    name,
    description: 'Plans things',
    redirectUrl,
  });
  if (status !== 201) throw new Error(`No app was made: ${JSON.stringify(body)}`);
  return { clientId: body.clientId, clientSecret: body.clientSecret, id: body.id };
}

/** A client that registered itself. */
export async function register(app: Pick<TestApp, 'client'>, metadata: Record<string, unknown> = {}) {
  const { status, body } = await app
    .client()
    .post('/oauth/register', { redirect_uris: [CALLBACK], client_name: 'Agent', ...metadata });
  if (status !== 201) throw new Error(`No client was registered: ${JSON.stringify(body)}`);
  return body as { client_id: string; client_secret?: string; redirect_uris: string[]; scope: string };
}

export const approval = (clientId: string, more: Record<string, unknown> = {}) => ({
  client_id: clientId,
  action: 'approve',
  state: 's 1&2',
  ...more,
});

/** Approves and answers what the redirect carries. */
export async function approve(user: { client: Client }, clientId: string, more: Record<string, unknown> = {}) {
  const { status, body } = await user.client.post('/oauth/authorize', approval(clientId, more));
  if (status !== 200) throw new Error(`Not approved: ${JSON.stringify(body)}`);
  const redirect = new URL(body.redirect);
  return { redirect, code: redirect.searchParams.get('code')!, error: redirect.searchParams.get('error') };
}

export const exchange = (
  app: Pick<TestApp, 'client'>,
  { clientId, clientSecret }: Partial<OrgApp>,
  more: Record<string, unknown>,
): Promise<Answer> =>
  app.client().post('/oauth/token', {
    grant_type: 'authorization_code',
    client_id: clientId,
    client_secret: clientSecret,
    ...more,
  });

export const refresh = (
  app: Pick<TestApp, 'client'>,
  { clientId, clientSecret }: Partial<OrgApp>,
  refreshToken: string,
  more: Record<string, unknown> = {},
) =>
  app.client().post('/oauth/token', {
    grant_type: 'refresh_token',
    client_id: clientId,
    client_secret: clientSecret,
    refresh_token: refreshToken,
    ...more,
  });

/** A pair of tokens of a user for an app. */
export async function tokensFor(
  app: Pick<TestApp, 'client'>,
  user: { client: Client },
  client: OrgApp,
  more: Record<string, unknown> = {},
) {
  const { verifier, challenge } = pkce();
  const { code } = await approve(user, client.clientId, { ...challenge, ...more });
  const { status, body } = await exchange(app, client, { code, code_verifier: verifier });
  if (status !== 200) throw new Error(`No tokens: ${JSON.stringify(body)}`);
  return { code, verifier, access: body.access_token as string, refresh: body.refresh_token as string, body };
}

/** The status that a token opens the public API with. */
export const opens = async (app: Pick<TestApp, 'client'>, token: string): Promise<number> =>
  (await app.client().get('/public/v1/is-connected', { authorization: `Bearer ${token}` })).status;

/** Looks again for a second: what changed by another process is seen within one. */
export async function closes(app: Pick<TestApp, 'client'>, token: string): Promise<boolean> {
  for (let n = 0; n < 30; n += 1) {
    if ((await opens(app, token)) === 401) return true;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return false;
}
