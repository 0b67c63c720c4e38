import { z } from 'zod';
import type { Vault } from '../../platform/kernel/index.ts';
import type { App, Tokens } from '../../providers/registry/index.ts';

/**
 * What a channel needs to act at its network. It exists sealed in `channels.credentials`, and open only while it is
 * used.
 */
export interface Credentials {
  /** `Profile.id` of the account. */
  account: string;
  values: Readonly<Record<string, string>>;
  app?: App | undefined;
  tokens?: Tokens | undefined;
  /** When the tokens were given. */
  grantedAt: Date;
}
/** Credentials beside the sealed text that they were read from. */
export interface Opened {
  sealed: string;
  credentials: Credentials;
}
export interface PendingLogin {
  values: Readonly<Record<string, string>>;
  app: App;
  /** Secrets of the begun login, such as the PKCE verifier. */
  kept: Readonly<Record<string, string>>;
}

const Texts = z.record(z.string(), z.string());
const StoredApp = z
  .object({ clientId: z.string(), clientSecret: z.string() })
  .catchall(z.string())
  .transform((app): App => app);
const StoredTokens = z
  .object({
    accessToken: z.string(),
    tokenSecret: z.string().optional(),
    refreshToken: z.string().optional(),
    expiresAt: z.coerce.date().optional(),
    refreshExpiresAt: z.coerce.date().optional(),
    values: Texts.optional(),
  })
  .transform(({ accessToken, tokenSecret, refreshToken, expiresAt, refreshExpiresAt, values }): Tokens => ({
    accessToken,
    ...(tokenSecret !== undefined && { tokenSecret }),
    ...(refreshToken !== undefined && { refreshToken }),
    ...(expiresAt && { expiresAt }),
    ...(refreshExpiresAt && { refreshExpiresAt }),
    ...(values && { values }),
  }));
const StoredCredentials = z.object({
  account: z.string(),
  values: Texts,
  app: StoredApp.optional(),
  tokens: StoredTokens.optional(),
  grantedAt: z.coerce.date(),
});
const StoredLogin = z.object({ values: Texts, app: StoredApp, kept: Texts });

export const sealCredentials = (vault: Vault, credentials: Credentials): string =>
  vault.seal(JSON.stringify(credentials));
export const openCredentials = (vault: Vault, sealed: string): Credentials =>
  StoredCredentials.parse(JSON.parse(vault.open(sealed)));
export const sealLogin = (vault: Vault, login: PendingLogin): string => vault.seal(JSON.stringify(login));
export const openLogin = (vault: Vault, sealed: string): PendingLogin =>
  StoredLogin.parse(JSON.parse(vault.open(sealed)));
