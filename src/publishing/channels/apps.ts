import type { Sql } from '../../platform/db/index.ts';
import { AppError } from '../../platform/kernel/index.ts';
import type { EgressRoute } from '../../platform/outbound/index.ts';
import type { App, SocialAdapter, Values } from '../../providers/registry/index.ts';
import type { Credentials } from './credentials.ts';
import type { ChannelsOptions } from './deps.ts';
import { registeredApp, saveApp } from './connect/logins.ts';

/** Servers forget apps that nobody used, some after a day: an older one is registered anew. */
const APP_MS = 12 * 3_600_000;

type AppDeps = Pick<ChannelsOptions, 'providers' | 'settings'>;

/** Reads the apps that an organization has set, by provider id; they win over those of the operator (DE42). */
export async function appsOfOrg({ settings }: Pick<AppDeps, 'settings'>, orgId: string): Promise<Map<string, Values>> {
  const configured = await settings.configured(orgId, 'social');
  return new Map([...configured].flatMap(([id, setting]) => (setting ? [[id, setting.values] as const] : [])));
}

/** Answers the app of the organization for this server, else the operator's. */
async function ownApp(deps: AppDeps, orgId: string, adapter: SocialAdapter, values: Values): Promise<App | undefined> {
  const own = adapter.app ? (await appsOfOrg(deps, orgId)).get(adapter.id) : undefined;
  return deps.providers.ownApp(adapter, values, own);
}

/** Answers whether a channel of this network can be connected: by fields, or with an app that there is or can be. */
export const isConnectable = (
  { providers }: Pick<AppDeps, 'providers'>,
  adapter: SocialAdapter,
  own: Values | undefined,
): boolean => {
  const { login } = adapter;
  if (login.kind === 'credentials') return true;
  return (
    (login.kind === 'oauth2' && login.registerApp !== undefined) || providers.ownApp(adapter, {}, own) !== undefined
  );
};

const isSameApp = (app: App, other: App): boolean =>
  app.clientId === other.clientId && app.consumerKey === other.consumerKey;

/**
 * Answers the app as it is set now, where the tokens of a login belong to it: its secret or its bot may be newer than
 * those of the login.
 */
export const latestApp = (app: App | undefined, current: App | undefined): App | undefined =>
  current && (app === undefined || isSameApp(app, current)) ? current : app;

/**
 * Checks that the app of a login is still there, in the transaction that writes its channel: `lockOrg`, which that holds,
 * keeps whoever deletes the settings with the app until they see the channel.
 * @throws AppError 400 where the organization has deleted them since the login began
 */
export async function checkApp(
  { providers }: Pick<AppDeps, 'providers'>,
  sql: Sql,
  orgId: string,
  adapter: SocialAdapter,
  { app, values }: { app?: App | undefined; values: Values },
): Promise<void> {
  const ofOperator = providers.ownApp(adapter, values);
  if (!app || !adapter.app || (ofOperator && isSameApp(app, ofOperator))) return;
  if (adapter.login.kind === 'oauth2' && adapter.login.registerApp) return;
  const rows = await sql`
    select
    from provider_settings
    where org_id = ${orgId}
      and domain = 'social'
      and provider_id = ${adapter.id}
    limit 1`;
  if (rows.length === 0)
    throw new AppError(
      'invalid_request',
      `The app for ${adapter.title} was deleted meanwhile: set one, and connect again`,
      { provider: adapter.id },
    );
}

/** Answers the app of a connected channel, with what was set since its login. */
export async function appOfChannel(
  deps: AppDeps,
  orgId: string,
  adapter: SocialAdapter,
  { app, values }: Credentials,
): Promise<App | undefined> {
  return latestApp(app, await ownApp(deps, orgId, adapter, values));
}

/** The address where a network sends people back to. */
export const redirectOf = ({ frontendUrl }: Pick<ChannelsOptions, 'frontendUrl'>, providerId: string): string =>
  `${frontendUrl}/integrations/social/${providerId}`;

/** Answers the app to log in with: an own one, else one that is registered at the server and kept for a while. */
export async function appToLogInWith(
  deps: AppDeps & Pick<ChannelsOptions, 'sql' | 'vault' | 'frontendUrl'>,
  orgId: string,
  adapter: SocialAdapter,
  values: Values,
  egressRoute: EgressRoute | undefined,
): Promise<App> {
  const { sql, vault, providers } = deps;
  const own = await ownApp(deps, orgId, adapter, values);
  if (own) return own;
  const redirectUri = redirectOf(deps, adapter.id);
  const key = { providerId: adapter.id, server: Object.values(values)[0] ?? '', redirectUri };
  const known = await registeredApp(sql, key, APP_MS);
  if (known) return { clientId: known.clientId, clientSecret: vault.open(known.clientSecret) };
  const app = await providers.registerApp(adapter, values, redirectUri, egressRoute);
  if (!app) throw noApp(adapter);
  await saveApp(
    sql,
    { ...key, providerVersion: adapter.version },
    { clientId: app.clientId, clientSecret: vault.seal(app.clientSecret) },
  );
  return app;
}

const noApp = ({ id, title, app }: SocialAdapter) =>
  new AppError(
    'invalid_request',
    `${title} cannot be connected here: the operator has not set its app credentials${app ? `, nor has the organization (its settings of the provider social/${id})` : ''}`,
    { provider: id },
  );
