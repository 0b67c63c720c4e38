import type { Permission } from '../access/index.ts';
import { type AuditActor, writeAudit } from '../../platform/audit/index.ts';
import type { Database, Sql } from '../../platform/db/index.ts';
import { AppError, type Clock, isId, newId, notFound, sha256 } from '../../platform/kernel/index.ts';
import type { AuthTokens } from './jwt.ts';
import { lastUsed } from './last-used.ts';
import { refreshTokens } from './refresh-token.ts';
import * as store from './store.ts';

export type { Device, SessionRow } from './store.ts';

/** The tokens that a client gets when it logs in or refreshes. */
export interface SessionTokens {
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
  /** The permissions of a custom role; null for a system role. */
  granted: readonly Permission[] | null;
  isSuperAdmin: boolean;
}

/** Where a login comes from. */
export interface Browser extends store.Device {
  /** The session token of its cookie, if it sent one. */
  session?: string | undefined;
}

export interface Sessions extends AsyncDisposable {
  /**
   * A new session whatever the browser sent (no fixation), which ends the one that it had; in the caller's transaction
   * if there is one.
   */
  start(userId: string, browser: Browser, transaction?: Sql): Promise<SessionTokens>;
  /**
   * Whom a session token stands for, in the wanted org if the user belongs to it; throws `session_revoked` or
   * `unauthenticated` (S249).
   */
  authenticate(token: string, wantedOrgs: readonly string[]): Promise<Holder & { sessionId: string }>;
  /** Whom living sessions stand for, each in its org, in their order; undefined for one that has ended. */
  findHolders(
    sessions: readonly { sessionId: string; userId: string; orgId: string }[],
  ): Promise<(Holder | undefined)[]>;
  /** The same session's token with a new expiry. */
  renew(holder: { userId: string; sessionId: string }): Promise<string>;
  /** New credentials for a refresh token; a token that was rotated before revokes its session (S39). */
  refresh(token: string, device: store.Device): Promise<SessionTokens>;
  list(userId: string): Promise<readonly store.SessionRow[]>;
  /** 404 when it is not one of the user's. */
  revoke(by: AuditActor & { userId: string }, sessionId: string): Promise<void>;
  /** `action`: what the user did, for the audit log. */
  revokeAll(by: AuditActor & { userId: string }, action?: 'revoked_all' | 'logged_out'): Promise<number>;
  /** Forgets sessions that ended long ago, at most `limit`; answers how many. */
  dropEnded(limit: number): Promise<number>;
}

export const unauthenticated = () => new AppError('unauthenticated', 'Log in first');

/** Somebody who acts by a session. */
export type SessionActor = AuditActor & { userId: string; sessionId: string };

/**
 * Holds the session for what it makes in this transaction, before anything else is locked but its user: a new password
 * that ends the session waits for that, and ends what was made with it.
 * @throws AppError `unauthenticated` when it has ended
 */
export async function requireSession(tx: Sql, { sessionId }: Pick<SessionActor, 'sessionId'>): Promise<void> {
  if (!(await store.holdSession(tx, sessionId))) throw unauthenticated();
}
const by = (userId: string, ip: string): AuditActor => ({ userId, impersonatorId: null, ip });
const ofSession = (action: string, sessionId: string | null) => ({
  orgId: null,
  action: `session.${action}`,
  resource: 'session',
  resourceId: sessionId,
});
const revoked = () => new AppError('session_revoked', 'This session has ended, log in again');

interface Options {
  sql: Database;
  clock: Clock;
  tokens: AuthTokens;
  secret: string;
  failed: (error: unknown) => void;
}

export function openSessions({ sql, clock, tokens, secret, failed }: Options): Sessions {
  const chain = refreshTokens(secret);
  const uses = lastUsed<store.SessionUse>({ clock, failed, write: (notes) => store.noteSessions(sql, notes) });

  return {
    async start(userId, { session: before, ...device }, transaction) {
      const id = newId();
      const refreshToken = chain.first(id);
      const replaced = before === undefined ? undefined : await tokens.verifySession(before);
      const insert = async (tx: Sql) => {
        if (replaced && (await store.endSession(tx, replaced.sub, replaced.sid)))
          await writeAudit(tx, by(replaced.sub, device.ip), ofSession('replaced', replaced.sid));
        await store.insertSession(tx, { id, userId, tokenHash: sha256(refreshToken), device });
        await writeAudit(tx, by(userId, device.ip), ofSession('created', id));
      };
      await (transaction ? insert(transaction) : sql.begin(insert));
      return { userId, sessionId: id, accessToken: await tokens.signSession({ sub: userId, sid: id }), refreshToken };
    },

    async authenticate(token, wantedOrgs) {
      const claims = await tokens.verifySession(token);
      if (!claims) throw unauthenticated();
      const wanted = wantedOrgs.filter(isId);
      const holder = await store.sessionHolder(sql, { id: claims.sid, userId: claims.sub, wantedOrgs: wanted });
      if (!holder) throw unauthenticated();
      if (holder.revoked) throw revoked();
      const { userId, orgId, roleKey, granted, isSuperAdmin } = holder;
      if (orgId === null || roleKey === null) throw unauthenticated(); // disabled in every org (S53)
      uses.note(`${claims.sid} ${orgId}`, { sessionId: claims.sid, userId, orgId, at: clock.now() });
      return { userId, orgId, roleKey, granted, isSuperAdmin, sessionId: claims.sid };
    },

    findHolders: async (sessions) => (sessions.length === 0 ? [] : store.findSessionHolders(sql, sessions)),

    renew: ({ userId, sessionId }) => tokens.signSession({ sub: userId, sid: sessionId }),

    async refresh(token, device) {
      const known = chain.sessionOf(token);
      if (!known) throw revoked();
      const { sessionId, secret: old } = known;
      const refreshToken = chain.next(sessionId, old);
      const rotation = { sessionId, oldHash: sha256(token), newHash: sha256(refreshToken), device };
      const rotated = (await store.rotateSession(sql, rotation)) ?? (await store.recentRotation(sql, rotation));
      if (!rotated) {
        await sql.begin(async (tx) => {
          const [stolen] = await store.revokeStolen(tx, sessionId);
          if (stolen)
            await writeAudit(tx, { userId: null, impersonatorId: null, ip: device.ip }, ofSession('stolen', sessionId));
        });
        throw revoked();
      }
      const { userId, rotatedAt } = rotated;
      return {
        userId,
        sessionId,
        accessToken: await tokens.signSession({ sub: userId, sid: sessionId }, rotatedAt),
        refreshToken,
      };
    },

    list: (userId) => store.sessionsOf(sql, userId),
    revoke: (auditActor, sessionId) =>
      sql.begin(async (tx) => {
        if (!(await store.revokeSession(tx, auditActor.userId, sessionId))) throw notFound();
        await writeAudit(tx, auditActor, ofSession('revoked', sessionId));
      }),
    revokeAll: (auditActor, action = 'revoked_all') =>
      sql.begin(async (tx) => {
        const count = await store.revokeSessions(tx, auditActor.userId);
        await writeAudit(tx, auditActor, { ...ofSession(action, null), detail: { sessions: count } });
        return count;
      }),
    dropEnded: (limit) => store.dropEndedSessions(sql, limit),
    [Symbol.asyncDispose]: () => uses[Symbol.asyncDispose](),
  };
}
