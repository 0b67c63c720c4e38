import type { Context } from '../../src/context.ts';
import { updatesOnlyOwn } from '../../src/people/access/index.ts';
import { permit } from '../http/permit.ts';
import { principalOf } from '../http/authenticate.ts';
import { scopesOfToken } from '../../src/people/access/index.ts';
import { programOf } from '../http/program.ts';
import type { Principal } from '../http/route.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import type { Program } from '../../src/studio/collaboration/index.ts';
import type { RoomName } from './address.ts';
import { resourceOf } from './kinds.ts';

/** What a caller may do in a room. */
export type Rights = 'none' | 'read' | 'write';

const AUTH = ['session', 'api-key', 'oauth'] as const;
/** The declaration that callers of a room are authenticated by. */
export const OPENING = { method: 'get', auth: AUTH } as const;

/** Asks what the ladder would be asked for: reading what the room stands for, or changing it. */
function may(action: 'read' | 'update', room: Pick<RoomName, 'kind'>, principal: Principal): boolean {
  const method = action === 'read' ? 'get' : 'put';
  try {
    permit({ method, auth: AUTH, permission: `${resourceOf(room)}:${action}` }, principal);
    return true;
  } catch (error) {
    if (error instanceof AppError) return false;
    throw error;
  }
}

/**
 * What a caller may do with what `author` has made. Nobody opens a room as somebody else: each change of an
 * impersonation is noted, and frames are not requests.
 */
export function rightsOf(
  principal: Principal,
  room: Pick<RoomName, 'kind'>,
  author: string | null | undefined,
): Rights {
  if (principal.impersonatorId !== undefined || !may('read', room, principal)) return 'none';
  const isOwn = author === principal.userId || !updatesOnlyOwn(principal.roleKey, principal.isSuperAdmin);
  return isOwn && may('update', room, principal) ? 'write' : 'read';
}

/** A credential by its id: what a ticket stands for, and what is asked about again. */
export interface Credential {
  kind: Principal['kind'];
  id: string;
  userId: string;
  orgId: string;
}
/** The credential of a caller; undefined for who acts as somebody else. */
export function credentialOf({ kind, userId, orgId, sessionId, apiKeyId, tokenId }: Principal): Credential | undefined {
  const id = { session: sessionId, 'api-key': apiKeyId, oauth: tokenId }[kind];
  return id === undefined ? undefined : { kind, id, userId, orgId };
}

/** The program by which a caller takes part; undefined for a person who is logged in. */
export function coAuthorOf(principal: Principal): Program | undefined {
  const { kind, program: name } = principal;
  if (kind === 'session' || name === undefined) return undefined;
  return { kind, id: programOf(principal) ?? null, name };
}

type Rooms = Pick<Context, 'auth' | 'oauth' | 'billing' | 'clock'>;

/** Whom credentials stand for now, in their order; undefined for one that has ended. One statement for each kind. */
export async function principalsOf(
  { auth, oauth, billing, clock }: Rooms,
  credentials: readonly Credential[],
): Promise<(Principal | undefined)[]> {
  const of = (kind: Principal['kind']) => credentials.filter((one) => one.kind === kind);
  const [sessions, keys, tokens] = [of('session'), of('api-key'), of('oauth')];
  const [people, keyHolders, tokenHolders] = await Promise.all([
    auth.sessions.findHolders(sessions.map(({ id, userId, orgId }) => ({ sessionId: id, userId, orgId }))),
    auth.apiKeys.findHolders(keys.map(({ id }) => id)),
    oauth.access.findHolders(tokens.map(({ id }) => id)),
  ]);
  const plan = (holder: Parameters<typeof billing.planOf>[0]) => {
    try {
      return { plan: billing.planOf(holder, clock.now()) };
    } catch {
      return undefined; // no plan any more: as for a request
    }
  };
  const found = new Map<Credential, Principal>();
  for (const [n, { id }] of sessions.entries())
    if (people[n]) found.set(sessions[n]!, principalOf('session', people[n], { sessionId: id }));
  for (const [n, holder] of keyHolders.entries()) {
    const planned = holder && plan(holder);
    if (planned)
      found.set(
        keys[n]!,
        principalOf('api-key', holder, { apiKeyId: holder.apiKeyId, program: holder.program, ...planned }),
      );
  }
  for (const [n, holder] of tokenHolders.entries()) {
    const planned = holder && plan(holder);
    if (planned)
      found.set(
        tokens[n]!,
        principalOf('oauth', holder, {
          tokenId: holder.tokenId,
          authorizationId: holder.authorizationId,
          program: holder.program,
          scopes: scopesOfToken(holder.scope),
          ...planned,
        }),
      );
  }
  return credentials.map((one) => {
    const principal = found.get(one);
    return principal?.userId === one.userId && principal.orgId === one.orgId ? principal : undefined;
  });
}
