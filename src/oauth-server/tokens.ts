import { type AuditActor, writeAudit } from '../platform/audit/index.ts';
import { type Scope, sortedScopes } from '../people/access/index.ts';
import type { Database, Sql } from '../platform/db/index.ts';
import { newId, randomBase62, sha256 } from '../platform/kernel/index.ts';
import { authenticateClient, type ClientClaim, presented } from './clients.ts';
import { invalidGrant, invalidRequest, OAuthError } from './errors.ts';
import { ACCESS_SECONDS, isVerifier, namedScopes, narrowed, REFRESH_SECONDS, verifies } from './rules.ts';
import { type Surface, surfaceOf } from './surfaces.ts';
import * as store from './token-store.ts';

/** The parameters of a token request, as they came. */
export interface TokenRequest {
  grant_type?: string | undefined;
  code?: string | undefined;
  redirect_uri?: string | undefined;
  code_verifier?: string | undefined;
  refresh_token?: string | undefined;
  scope?: string | undefined;
  resource?: string | undefined;
}
export interface Grant {
  orgId: string;
  accessToken: string;
  refreshToken: string;
  expiresIn: number;
  scope: readonly Scope[];
}

export interface OAuthTokens {
  /** Exchanges a code or a refresh token (RFC 6749 4.1.3, 6). Throws `OAuthError`. */
  grant(request: TokenRequest, client: ClientClaim, ip: string): Promise<Grant>;
  /** Ends a token, whoever holds it; one that is unknown, or another client's, is left alone (RFC 7009). */
  revoke(token: string, client: ClientClaim): Promise<void>;
}

interface Source {
  orgId: string;
  authorizationId: string;
  codeHash: Buffer;
  scope: readonly Scope[];
  refreshScope: readonly Scope[];
  resource: Surface | null;
}
/** The audit actor of a client: nobody is logged in. */
const clientActor = (ip: string): AuditActor => ({ userId: null, impersonatorId: null, ip });
const required = (name: string, text: string | undefined): string => {
  if (!text) throw invalidRequest(`${name}: is missing`);
  return text;
};

async function issue(tx: Sql, { orgId, ...source }: Source): Promise<Grant> {
  const accessToken = `pos_${randomBase62(43)}`;
  const refreshToken = `posr_${randomBase62(43)}`;
  await store.insertPair(tx, {
    id: newId(),
    orgId,
    ...source,
    accessHash: sha256(accessToken),
    accessSeconds: ACCESS_SECONDS,
    refreshHash: sha256(refreshToken),
    refreshSeconds: REFRESH_SECONDS,
  });
  return { orgId, accessToken, refreshToken, expiresIn: ACCESS_SECONDS, scope: sortedScopes(source.scope) };
}

export function openOAuthTokens({
  sql,
  issuer,
  forgetAll,
}: {
  sql: Database;
  issuer: string;
  forgetAll: () => void;
}): OAuthTokens {
  /**
   * A refusal must be committed too: it burns the code, or ends what a thief has got. So what is thrown leaves the
   * transaction as a value.
   */
  const decided = async (work: (tx: Sql) => Promise<Grant | OAuthError>): Promise<Grant> => {
    const outcome = await sql.begin(work);
    if (!(outcome instanceof OAuthError)) return outcome;
    forgetAll();
    throw outcome;
  };
  const stolen = (
    tx: Sql,
    ip: string,
    { orgId, authorizationId }: { orgId: string; authorizationId: string },
    what: string,
  ) =>
    writeAudit(tx, clientActor(ip), {
      orgId,
      action: 'oauth_authorization.tokens_revoked',
      resource: 'oauth_apps',
      resourceId: authorizationId,
      detail: { reused: what },
    });

  async function exchange(request: TokenRequest, claim: ClientClaim, ip: string): Promise<Grant> {
    const codeHash = sha256(required('code', request.code));
    const verifier = request.code_verifier || undefined;
    if (verifier !== undefined && !isVerifier(verifier))
      throw invalidRequest('code_verifier: must be 43 to 128 unreserved characters');
    const asked = surfaceOf(issuer, request.resource || undefined);
    const client = await authenticateClient(sql, claim);
    return decided(async (tx) => {
      await store.holdAuthorization(tx, codeHash);
      const code = await store.useCode(tx, codeHash);
      if (!code) {
        const revoked = await store.revokeOfCode(tx, codeHash);
        if (revoked) await stolen(tx, ip, revoked, 'code');
        return invalidGrant();
      }
      const named = request.redirect_uri || undefined;
      const sameRedirect = named === undefined ? !code.redirectNamed : named === code.redirectUri;
      if (!code.alive || code.appId !== client.id || !sameRedirect || !verifies(verifier, code.challenge))
        return invalidGrant();
      if (code.resource !== null && asked !== undefined && asked !== code.resource)
        return new OAuthError('invalid_target', 'resource: not the one that was approved');
      return issue(tx, { ...code, codeHash, refreshScope: code.scope, resource: narrowed(code.resource, asked) });
    });
  }

  async function refresh(request: TokenRequest, claim: ClientClaim, ip: string): Promise<Grant> {
    const refreshHash = sha256(required('refresh_token', request.refresh_token));
    const scope = namedScopes(request.scope);
    const resource = surfaceOf(issuer, request.resource || undefined);
    const client = await authenticateClient(sql, claim);
    return decided(async (tx) => {
      await store.holdAuthorization(tx, refreshHash);
      const old = await store.useRefresh(tx, client.id, { refreshHash, scope, resource });
      if (old)
        return issue(tx, {
          ...old,
          scope: scope ? sortedScopes(['mcp:read', ...scope]) : old.refreshScope,
          resource: narrowed(old.resource, resource),
        });
      const refused = await store.refusedRefresh(tx, client.id, refreshHash);
      if (refused?.reused) {
        await store.revokeOfAuthorization(tx, refused.orgId, refused.authorizationId);
        if (refused.alive) await stolen(tx, ip, refused, 'refresh token');
        return invalidGrant();
      }
      if (!refused?.alive) return invalidGrant();
      if (scope?.some((one) => !refused.refreshScope.includes(one)))
        return new OAuthError('invalid_scope', 'scope: more than was approved');
      return resource !== undefined && refused.resource !== null && resource !== refused.resource
        ? new OAuthError('invalid_target', 'resource: not the one that was approved')
        : invalidGrant(); // the user has left, or was shut out
    });
  }

  return {
    grant(request, client, ip) {
      const grantType = required('grant_type', request.grant_type);
      if (grantType === 'authorization_code') return exchange(request, client, ip);
      if (grantType === 'refresh_token') return refresh(request, client, ip);
      throw new OAuthError('unsupported_grant_type', 'grant_type: possible are authorization_code and refresh_token');
    },

    async revoke(token, claim) {
      const shown = presented(claim);
      if (shown?.clientSecret !== undefined) await authenticateClient(sql, claim);
      await sql.begin(async (tx) => {
        await store.holdAuthorization(tx, sha256(token));
        await store.revokeToken(tx, sha256(token), shown?.clientId);
      });
      forgetAll();
    },
  };
}
