import { z } from 'zod';
import { isScope, SCOPES, sortedScopes } from '../people/access/index.ts';
import type { Database } from '../platform/db/index.ts';
import { newId, randomBase62, sha256 } from '../platform/kernel/index.ts';
import { OAuthError } from './errors.ts';
import { mayRegister } from './redirects.ts';
import { dropUnusedBeyond, insertClient } from './store.ts';

const METHODS = ['none', 'client_secret_post', 'client_secret_basic'] as const;
/**
 * Clients of one kind that nobody uses, self-registered or named by a document: about 25 kB each at worst, from
 * anywhere. Beyond these the oldest go, since a refusal would let a flood keep everybody else out for the 30 days that
 * they are kept.
 */
export const MOST_UNUSED = 5_000;
/** One line: who registers itself lays nothing out on the consent page, and turns no text around. */
const line = (max: number) =>
  z
    .string()
    .trim()
    .max(max)
    .transform((text) => text.replace(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim());

/** Client metadata of a registration (RFC 7591 2); anything else is ignored. */
export const ClientMetadata = z.looseObject({
  redirect_uris: z.array(z.string()).min(1).max(10),
  client_name: line(100).optional(),
  client_uri: line(2_048).optional(),
  logo_uri: line(2_048).optional(),
  token_endpoint_auth_method: z.enum(METHODS).optional(),
  grant_types: z.array(z.string()).max(20).optional(),
  response_types: z.array(z.string()).max(20).optional(),
  scope: z.string().max(1_000).optional(),
});
export type ClientMetadata = z.output<typeof ClientMetadata>;

export const RegisteredClient = z.object({
  client_id: z.string(),
  client_id_issued_at: z.int(),
  client_name: z.string(),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  response_types: z.array(z.string()),
  token_endpoint_auth_method: z.enum(METHODS),
  scope: z.string(),
  client_uri: z.string().optional(),
  logo_uri: z.string().optional(),
  client_secret: z.string().optional(),
  client_secret_expires_at: z.literal(0),
});
export type RegisteredClient = z.output<typeof RegisteredClient>;

/**
 * Registers a client by its own word (S94, S255). Nothing it names is ever fetched: its addresses are shown as text.
 */
export async function registerClient(sql: Database, metadata: ClientMetadata): Promise<RegisteredClient> {
  const {
    redirect_uris: redirectUris,
    client_uri: clientUri,
    logo_uri: logoUri,
    token_endpoint_auth_method: method = 'none',
  } = metadata;
  for (const uri of redirectUris)
    if (!mayRegister(uri))
      throw new OAuthError(
        'invalid_redirect_uri',
        'redirect_uris: https, http on loopback or a scheme of your own, without a fragment',
      );
  // what we do not offer is replaced, and answered so (RFC 7591 2)
  const asked = metadata.scope?.split(' ').filter(isScope) ?? [];
  const scope = sortedScopes(asked.length > 0 ? ['mcp:read', ...asked] : SCOPES);
  const clientId = `pcd_${randomBase62(24)}`;
  const secret = method === 'none' ? undefined : `pcs_${randomBase62(43)}`;
  const name = metadata.client_name || 'An app without a name';
  const description = [clientUri && `Website: ${clientUri}`, logoUri && `Logo: ${logoUri}`].filter(Boolean).join('\n');
  const row = {
    id: newId(),
    orgId: null,
    clientId,
    secretHash: secret === undefined ? null : sha256(secret),
    name,
    description,
    pictureId: null,
    redirectUris,
    scope,
  };
  const made = await insertClient(sql, row);
  await dropUnusedBeyond(sql, MOST_UNUSED, 'registered');
  return {
    client_id: clientId,
    client_id_issued_at: Math.floor(made!.createdAt.getTime() / 1000),
    client_name: name,
    redirect_uris: redirectUris,
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: method,
    scope: scope.join(' '),
    ...(clientUri && { client_uri: clientUri }),
    ...(logoUri && { logo_uri: logoUri }),
    ...(secret !== undefined && { client_secret: secret }),
    client_secret_expires_at: 0,
  };
}
