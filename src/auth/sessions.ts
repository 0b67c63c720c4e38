import type { Database } from '../db/index.ts';
import { AppError, type Clock, isId, newId, notFound, sha256 } from '../kernel/index.ts';
import type { Tokens } from './jwt.ts';
import { lastUsed } from './last-used.ts';
import { refreshTokens } from './refresh-token.ts';
import * as store from './store.ts';

export type { Device, SessionRow } from './store.ts';

/** What a client gets when it logs in or refreshes. */
export interface Credentials {
  userId: string;
  sessionId: string;
  accessToken: string;
  refreshToken: string;
}
/** Whom a credential stands for, and in which org. */
export interface Holder {
  userId: string;
  orgId: string;
  roleKey: string;
  isSuperAdmin: boolean;
}

export interface Sessions extends AsyncDisposable {
  start(userId: string, device: store.Device): Promise<Credentials>;
  /** Whom a session token stands for, in the wanted org if the user belongs to it; throws `session_revoked` or `unauthenticated` (S249). */
  authenticate(token: string, wantedOrg: string | undefined): Promise<Holder & { sessionId: string }>;
  /** The same session's token with a new expiry. */
  renew(holder: { userId: string; sessionId: string }): Promise<string>;
  /** New credentials for a refresh token; a token that was rotated before revokes its session (S39). */
  refresh(token: string, device: store.Device): Promise<Credentials>;
  list(userId: string): Promise<readonly store.SessionRow[]>;
  revoke(userId: string, sessionId: string): Promise<void>;
  revokeAll(userId: string): Promise<number>;
}

export const unauthenticated = () => new AppError('unauthenticated', 'Log in first');
const revoked = () => new AppError('session_revoked', 'This session has ended, log in again');

interface Options {
  sql: Database;
  clock: Clock;
  tokens: Tokens;
  secret: string;
  failed: (error: unknown) => void;
}

export function openSessions({ sql, clock, tokens, secret, failed }: Options): Sessions {
  const chain = refreshTokens(secret);
  const uses = lastUsed<store.SessionUse>({ clock, failed, write: (notes) => store.noteSessions(sql, notes) });

  return {
    async start(userId, device) {
      const id = newId();
      const refreshToken = chain.first(id);
      await store.insertSession(sql, { id, userId, tokenHash: sha256(refreshToken), device });
      return { userId, sessionId: id, accessToken: await tokens.signSession({ sub: userId, sid: id }), refreshToken };
    },

    async authenticate(token, wantedOrg) {
      const claims = await tokens.verifySession(token);
      if (!claims) throw unauthenticated();
      const wanted = wantedOrg !== undefined && isId(wantedOrg) ? wantedOrg : null;
      const holder = await store.sessionHolder(sql, { id: claims.sid, userId: claims.sub, wantedOrg: wanted });
      if (!holder) throw unauthenticated();
      if (holder.revoked) throw revoked();
      const { userId, orgId, roleKey, isSuperAdmin } = holder;
      if (orgId === null || roleKey === null) throw unauthenticated(); // disabled in every org (S53)
      uses.note(`${claims.sid} ${orgId}`, { sessionId: claims.sid, userId, orgId, at: clock.now() });
      return { userId, orgId, roleKey, isSuperAdmin, sessionId: claims.sid };
    },

    renew: ({ userId, sessionId }) => tokens.signSession({ sub: userId, sid: sessionId }),

    async refresh(token, device) {
      const known = chain.sessionOf(token);
      if (!known) throw revoked();
      const { sessionId, secret: old } = known;
      const refreshToken = chain.next(sessionId, old);
      const rotation = { sessionId, oldHash: sha256(token), newHash: sha256(refreshToken), device };
      const rotated = (await store.rotateSession(sql, rotation)) ?? (await store.recentRotation(sql, rotation));
      if (!rotated) {
        await store.revokeStolen(sql, sessionId);
        throw revoked();
      }
      const { userId, rotatedAt } = rotated;
      return { userId, sessionId, accessToken: await tokens.signSession({ sub: userId, sid: sessionId }, rotatedAt), refreshToken };
    },

    list: (userId) => store.sessionsOf(sql, userId),
    async revoke(userId, sessionId) {
      if (!(await store.revokeSession(sql, userId, sessionId))) throw notFound();
    },
    revokeAll: (userId) => store.revokeSessions(sql, userId),
    [Symbol.asyncDispose]: () => uses[Symbol.asyncDispose](),
  };
}
