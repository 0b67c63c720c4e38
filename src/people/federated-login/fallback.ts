import type { Config } from '../../platform/config/index.ts';

const clientOf = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) => ({
  clientId,
  clientSecret,
});

/** The networks whose login the operator has switched on, by provider id (DE22, DE23, DE24). */
export const ssoOf = (login: Config['login']): string[] =>
  (['facebook', 'x', 'linkedin'] as const).filter((id) => login[id]);

/**
 * Configurations of login providers in the environment, by provider id; used where the database says nothing of a
 * provider (US5).
 */
export function environmentLogins({
  login,
  social,
}: Pick<Config, 'login' | 'social'>): Record<string, Record<string, string>> {
  const { enabled, authUrl, tokenUrl, userinfoUrl, clientId, clientSecret, scope } = login.generic;
  const google = social.apps['youtube']; // Google has one kind of app for both
  const networks = ssoOf(login).flatMap((id) => (social.apps[id]?.clientId ? [[id, social.apps[id]] as const] : []));
  return {
    ...(enabled &&
      authUrl &&
      tokenUrl &&
      userinfoUrl &&
      clientId &&
      clientSecret && { generic: { authUrl, tokenUrl, userInfoUrl: userinfoUrl, clientId, clientSecret, scope } }),
    ...(login.github && { github: { ...login.github } }),
    ...(google && { google: clientOf(google) }),
    ...Object.fromEntries(networks.map(([id, app]) => [id, clientOf(app)])),
  };
}
