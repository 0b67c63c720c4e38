import { z } from 'zod';
import type { SocialAdapter } from './_contract.ts';

const AppReply = z.object({ client_id: z.string(), client_secret: z.string() });

/** Consent at a server, at which an app is registered first (https://docs.joinmastodon.org/methods/oauth/). */
export const mastodonLogin = (
  scopes: readonly string[],
  { noPkce, noRevocation }: { noPkce?: boolean; noRevocation?: boolean },
): SocialAdapter['login'] => ({
  kind: 'oauth2',
  authorize: '{instance}/oauth/authorize',
  token: '{instance}/oauth/token',
  scopes,
  pkce: !noPkce,
  ...(!noRevocation && { revoke: { at: '{instance}/oauth/revoke' } }), // ends this token alone
  async registerApp({ http, redirectUri, appName }) {
    const app = await http.post('/v1/apps', AppReply, {
      form: { client_name: appName, redirect_uris: redirectUri, scopes: scopes.join(' ') },
    });
    return { clientId: app.client_id, clientSecret: app.client_secret };
  },
});
