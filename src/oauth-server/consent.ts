import { type AuditActor, writeAudit } from '../platform/audit/index.ts';
import type { Scope } from '../people/access/index.ts';
import { requireSession, type SessionActor } from '../people/auth/index.ts';
import type { Database } from '../platform/db/index.ts';
import { newId, notFound, randomBase62, sha256 } from '../platform/kernel/index.ts';
import type { Outbound } from '../platform/outbound/index.ts';
import { findClient } from './client-documents.ts';
import { invalidRequest, OAuthError } from './errors.ts';
import { matchesRedirect, withParameters } from './redirects.ts';
import { CODE_SECONDS, judgeChallenge, namedScopes, scopesToGrant } from './rules.ts';
import { type Surface, surfaceOf } from './surfaces.ts';
import * as store from './store.ts';
import { insertCode, revokeBeyond } from './token-store.ts';

/** The parameters of an authorization request, as they came (RFC 6749 4.1.1). */
export interface AuthorizationRequest {
  client_id?: string | undefined;
  redirect_uri?: string | undefined;
  response_type?: string | undefined;
  state?: string | undefined;
  scope?: string | undefined;
  code_challenge?: string | undefined;
  code_challenge_method?: string | undefined;
  resource?: string | undefined;
}
/** Where an answer may be sent: client and address are known to be right. */
export interface Destination {
  client: store.ClientRow;
  redirectUri: string;
  /** The request named it, so that the exchange must name it too. */
  redirectNamed: boolean;
}
/** A request that can be shown to a person. */
export interface JudgedRequest extends Destination {
  state: string | undefined;
  scope: Scope[];
  challenge: string | undefined;
  resource: Surface | null;
}

export interface ConsentRoom {
  /**
   * Throws where nothing may be sent to the client: it is unknown, the address is not its own, or its state is too long
   * to come back as it was, without which it knows no answer (RFC 6749 4.1.2.1).
   */
  destination(request: AuthorizationRequest): Promise<Destination>;
  /** Throws for every other fault of a request. */
  judge(request: AuthorizationRequest, to: Destination): JudgedRequest;
  /** Where the browser goes with an error. */
  refuse(request: AuthorizationRequest, to: Destination, error: OAuthError): string;
  /**
   * Where the browser goes with a code that stands for the user, the org and what was asked for. What the client was
   * given before and may do more ends.
   */
  approve(orgId: string, by: SessionActor, request: JudgedRequest): Promise<string>;
  /** Lists what the user approved in this org, newest first. */
  list(orgId: string, userId: string): Promise<readonly store.ApprovalRow[]>;
  revoke(orgId: string, by: AuditActor & { userId: string }, id: string): Promise<void>;
}

const STATE_LENGTH = 4_096;
const given = (text: string | undefined) => text || undefined; // an empty parameter counts as absent (RFC 6749 3.1)

interface Needs {
  sql: Database;
  issuer: string;
  forgetAll: () => void;
  flush: () => Promise<void>;
  outbound: Outbound;
}

export function openConsent({ sql, issuer, forgetAll, flush, outbound }: Needs): ConsentRoom {
  return {
    async destination({ client_id: clientId, redirect_uri: sent, state }) {
      const client = given(clientId) ? await findClient({ sql, outbound }, clientId!) : undefined;
      if (!client) throw new OAuthError('invalid_client', 'client_id: no such client');
      const { redirectUris } = client;
      const isNamed = given(sent) !== undefined;
      if (!isNamed && redirectUris.length > 1)
        throw invalidRequest('redirect_uri: this client has several, so one must be named');
      if (isNamed && !redirectUris.some((registered) => matchesRedirect(registered, sent!)))
        throw invalidRequest('redirect_uri: not one that this client registered');
      if (state !== undefined && state.length > STATE_LENGTH)
        throw invalidRequest(`state: at most ${STATE_LENGTH} characters`);
      return { client, redirectUri: isNamed ? sent! : redirectUris[0]!, redirectNamed: isNamed };
    },

    judge(request, to) {
      const { response_type: type, state, code_challenge: challenge, code_challenge_method: method } = request;
      if ((given(type) ?? 'code') !== 'code')
        throw new OAuthError('unsupported_response_type', 'response_type: must be code');
      return {
        ...to,
        state: given(state),
        challenge: judgeChallenge(given(challenge), given(method), to.client.secretHash === null),
        scope: scopesToGrant(namedScopes(request.scope), to.client.scope, {
          isAgent: to.client.orgId === null && to.client.secretHash === null,
        }),
        resource: surfaceOf(issuer, given(request.resource)) ?? null,
      };
    },

    refuse: ({ state }, { redirectUri }, { error, message }) =>
      withParameters(redirectUri, {
        error,
        error_description: message,
        state: given(state),
        iss: issuer,
      }),

    async approve(orgId, by, { client, redirectUri, redirectNamed, state, challenge, scope, resource }) {
      const code = randomBase62(43);
      const ended = await sql.begin(async (tx) => {
        await requireSession(tx, by);
        const authorizationId = await store.approve(tx, orgId, {
          id: newId(),
          userId: by.userId,
          appId: client.id,
          scope,
        });
        if (authorizationId === undefined) throw new OAuthError('invalid_client', 'client_id: no such client');
        const revoked = await revokeBeyond(tx, orgId, authorizationId, scope);
        await insertCode(tx, orgId, {
          codeHash: sha256(code),
          authorizationId,
          redirectUri,
          redirectNamed,
          challenge,
          scope,
          resource,
          seconds: CODE_SECONDS,
        });
        await writeAudit(tx, by, {
          orgId,
          action: 'oauth_authorization.approved',
          resource: 'oauth_apps',
          resourceId: authorizationId,
          detail: { clientId: client.clientId, scope },
        });
        return revoked;
      });
      if (ended > 0) forgetAll();
      return withParameters(redirectUri, { code, state, iss: issuer });
    },

    async list(orgId, userId) {
      await flush();
      return store.approvalsOf(sql, orgId, userId);
    },

    async revoke(orgId, by, id) {
      await sql.begin(async (tx) => {
        if (!(await store.deleteApproval(tx, orgId, by.userId, id))) throw notFound();
        await writeAudit(tx, by, {
          orgId,
          action: 'oauth_authorization.revoked',
          resource: 'oauth_apps',
          resourceId: id,
        });
      });
      forgetAll();
    },
  };
}
