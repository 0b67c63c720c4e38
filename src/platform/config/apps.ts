import type { ConfigIssue, Env } from './env.ts';
import { NETWORK_APPS } from './network-apps.ts';
import type { SettingName } from './settings.ts';

/** Credentials of the apps that the operator registered at networks, for every organization. */
export interface AppCredentials {
  clientId: string;
  /** Empty for a public app. */
  clientSecret: string;
  /** Where the app is registered, for networks of many servers. */
  server?: string;
  botToken?: string;
  /** OAuth 1 pair, for what its network does not offer otherwise. */
  consumerKey?: string;
  consumerSecret?: string;
}
type Field = keyof AppCredentials;

const PAIRS: readonly (readonly [Field, Field])[] = [
  ['clientId', 'clientSecret'],
  ['consumerKey', 'consumerSecret'],
];
const isHalf = (set: SettingName, missing: SettingName): ConfigIssue => ({
  setting: missing,
  level: 'warning',
  message: `is missing although ${set} is set: that network has no one-click connect`,
  remedy: 'Set both, or none.',
});

/**
 * The apps that are whole, by provider id. Half a pair is an issue. No other provider's credentials come from the
 * environment.
 */
export function readApps(env: Env): { apps: Record<string, AppCredentials>; issues: ConfigIssue[] } {
  const issues: ConfigIssue[] = [];
  const apps: Record<string, AppCredentials> = {};
  for (const row of NETWORK_APPS) {
    const variables = Object.entries(row.settings) as [SettingName, readonly [Field, string]][]; // names of the table
    const nameOf = (field: Field) => variables.find(([, [of]]) => of === field)?.[0];
    const read = Object.fromEntries(
      variables.flatMap(([name, [field]]) => (env[name] ? [[field, String(env[name])]] : [])),
    ) as Partial<Record<Field, string>>; // fields of the table
    const isPublic = 'publicApp' in row;
    const isWhole = ([id, secret]: (typeof PAIRS)[number]) =>
      read[id] !== undefined && (read[secret] !== undefined || (isPublic && id === 'clientId'));
    for (const [id, secret] of PAIRS) {
      if (isWhole([id, secret])) continue;
      if (read[id] !== undefined) issues.push(isHalf(nameOf(id)!, nameOf(secret)!));
      if (read[secret] !== undefined) issues.push(isHalf(nameOf(secret)!, nameOf(id)!));
      delete read[id];
      delete read[secret];
    }
    if (!PAIRS.some(isWhole)) continue;
    const server = 'server' in row ? { server: row.server } : {};
    for (const id of row.providers) apps[id] = { ...server, clientId: '', clientSecret: '', ...read };
  }
  return { apps, issues };
}
