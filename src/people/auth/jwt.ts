import { createSecretKey, type webcrypto } from 'node:crypto';
import { compactVerify, SignJWT } from 'jose';
import { type Clock, isId } from '../../platform/kernel/index.ts';
import type { Log } from '../../platform/telemetry/index.ts';

/** One audience for each kind of token: none is accepted as another (S28). */
export type Audience = 'session' | 'extension' | 'lifetime' | 'impersonate' | 'unsubscribe' | 'collab';

export interface SessionClaims {
  sub: string;
  sid: string;
}
/** `act`: the super-admin who acts as `sub`, in the session `sid`. */
export interface ImpersonationClaims extends SessionClaims {
  act: string;
  jti: string;
}
/** Of what a person takes themselves off: categories of notices, or `digest`. */
export interface UnsubscribeClaims {
  sub: string;
  of: readonly string[];
}
/** Opens one room of `org` to `sub` for as long as the credential `cid` lives. */
export interface CollaborationClaims {
  sub: string;
  org: string;
  room: string;
  kind: 'session' | 'api-key' | 'oauth';
  cid: string;
}
export interface ExtensionClaims {
  sub: string;
  org: string;
  provider: string;
}

/** Seconds that a session token lives. */
export const SESSION_SECONDS = 30 * 24 * 60 * 60;
const LEEWAY = 60;
const DAY = 24 * 60 * 60;
const LONGEST = 31 * DAY;
const UNSUBSCRIBE_SECONDS = 2 * 365 * DAY;
const LONGEST_EXTENSION = 10 * 60;
const COLLABORATION_SECONDS = 10 * 60;
const CREDENTIALS: readonly string[] = ['session', 'api-key', 'oauth'] satisfies CollaborationClaims['kind'][];
const WARNING_MS = 60_000; // one line says it; every request of such a client would write another

/** A part as it would be written again: no padding, no white space, no stray bits. */
const isCanonical = (part: string): boolean =>
  /^[A-Za-z0-9_-]+$/.test(part) && Buffer.from(part, 'base64url').toString('base64url') === part;

/**
 * The object in a part; undefined when it is none, or when a member appears twice (what is written again is then
 * shorter).
 */
function object(part: string): Record<string, unknown> | undefined {
  const text = Buffer.from(part, 'base64url').toString('utf8');
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) && JSON.stringify(value) === text
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

const isTime = (value: unknown): value is number =>
  typeof value === 'number' && Number.isSafeInteger(value) && value > 0;

const seconds = (at: Date) => Math.floor(at.getTime() / 1000);

interface Signing {
  key: webcrypto.CryptoKey;
  clock: Clock;
  verify(token: string, audience: Audience): Promise<Record<string, unknown> | undefined>;
}
const collaborationTokens = ({ key, clock, verify }: Signing) => ({
  /** A ticket for one room of co-editing; it may be used again until it ends (S204). */
  async signCollaboration({
    sub,
    org,
    room,
    kind,
    cid,
  }: CollaborationClaims): Promise<{ token: string; expiresAt: Date }> {
    const iat = seconds(clock.now());
    const exp = iat + COLLABORATION_SECONDS;
    const token = await new SignJWT({ sub, org, room, kind, cid, aud: 'collab', iat, exp })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .sign(key);
    return { token, expiresAt: new Date(exp * 1000) };
  },
  async verifyCollaboration(token: string): Promise<CollaborationClaims | undefined> {
    const { sub, org, room, kind, cid } = (await verify(token, 'collab')) ?? {};
    if (![sub, org, cid].every((id) => typeof id === 'string' && isId(id)) || typeof room !== 'string')
      return undefined;
    if (typeof kind !== 'string' || !CREDENTIALS.includes(kind)) return undefined;
    return { sub, org, room, kind, cid } as CollaborationClaims; // each was looked at
  },
});

/** Signs and checks our own tokens: HS256 over the UTF-8 bytes of JWT_SECRET and nothing else (S28, S247, S248). */
export function openAuthTokens({ secret, clock, log }: { secret: string; clock: Clock; log: Pick<Log, 'warn'> }) {
  // made once: `jose` would import any other kind of key for each token
  const key = createSecretKey(secret, 'utf8').toCryptoKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  let warnedAt = -Infinity;

  /** Only for what we signed ourselves: nobody else can write to the log this way. */
  function warnOfFuture(audience: Audience, aheadSeconds: number): void {
    if (clock.monotonic() - warnedAt < WARNING_MS) return;
    warnedAt = clock.monotonic();
    log.warn(
      { audience, aheadSeconds },
      'a token signed in the future was refused: correct the clocks of the machines, then log in again',
    );
  }

  /** The claims of a well-formed, well-signed, living token of this audience; undefined for anything else. */
  async function verify(token: string, audience: Audience): Promise<Record<string, unknown> | undefined> {
    const parts = token.split('.');
    if (token.length > 4096 || parts.length !== 3 || !parts.every(isCanonical)) return undefined;
    const header = object(parts[0]!);
    if (!header || header['alg'] !== 'HS256' || (header['typ'] !== undefined && header['typ'] !== 'JWT'))
      return undefined;
    if (Object.keys(header).some((name) => name !== 'alg' && name !== 'typ')) return undefined;
    try {
      await compactVerify(token, key, { algorithms: ['HS256'] });
    } catch {
      return undefined;
    }
    const claims = object(parts[1]!);
    const now = seconds(clock.now());
    if (!claims || claims['aud'] !== audience) return undefined;
    // a code that is sold has no end of its own
    const { iat, exp } = audience === 'lifetime' ? { iat: now, exp: now + 1, ...claims } : claims;
    if (!isTime(iat) || !isTime(exp) || exp <= now) return undefined;
    if (iat > now + LEEWAY) {
      warnOfFuture(audience, iat - now);
      return undefined;
    }
    const longest = audience === 'unsubscribe' ? UNSUBSCRIBE_SECONDS + LEEWAY : LONGEST;
    if (audience !== 'lifetime' && exp > now + longest) return undefined;
    if (claims['nbf'] !== undefined && !(isTime(claims['nbf']) && claims['nbf'] <= now + LEEWAY)) return undefined;
    return claims;
  }

  return {
    /** A session token that lives 30 days from `at`; the same claims and instant give the same text. */
    signSession: ({ sub, sid }: SessionClaims, at: Date = clock.now()): Promise<string> =>
      new SignJWT({ sub, sid, aud: 'session', iat: seconds(at), exp: seconds(at) + SESSION_SECONDS })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(key),

    async verifySession(token: string): Promise<SessionClaims | undefined> {
      const claims = await verify(token, 'session');
      const { sub, sid } = claims ?? {};
      return typeof sub === 'string' && typeof sid === 'string' && isId(sub) && isId(sid) ? { sub, sid } : undefined;
    },

    /**
     * Verifies the token with which the browser extension signs its `params`; it lives 10 minutes at most (S11, S251).
     */
    async verifyExtension(token: string): Promise<ExtensionClaims | undefined> {
      const claims = await verify(token, 'extension');
      const { sub, org, provider, exp, iat } = claims ?? {};
      if (typeof sub !== 'string' || typeof org !== 'string' || typeof provider !== 'string') return undefined;
      return Number(exp) - Number(iat) <= LONGEST_EXTENSION ? { sub, org, provider } : undefined;
    },

    /** A super-admin acts as a user until `end` (S212). */
    signImpersonation: ({ sub, act, sid, jti }: ImpersonationClaims, end: Date): Promise<string> =>
      new SignJWT({ sub, act, sid, jti, aud: 'impersonate', iat: seconds(clock.now()), exp: seconds(end) })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(key),
    async verifyImpersonation(token: string): Promise<ImpersonationClaims | undefined> {
      const { sub, act, sid, jti } = (await verify(token, 'impersonate')) ?? {};
      const ids = [sub, act, sid, jti];
      return ids.every((id): id is string => typeof id === 'string' && isId(id))
        ? { sub: ids[0]!, act: ids[1]!, sid: ids[2]!, jti: ids[3]! }
        : undefined;
    },

    /** What a mail carries for the day its reader wants no more of the kind; it lives two years (S181). */
    signUnsubscribe: ({ sub, of }: UnsubscribeClaims): Promise<string> =>
      new SignJWT({
        sub,
        of,
        aud: 'unsubscribe',
        iat: seconds(clock.now()),
        exp: seconds(clock.now()) + UNSUBSCRIBE_SECONDS,
      })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(key),
    async verifyUnsubscribe(token: string): Promise<UnsubscribeClaims | undefined> {
      const { sub, of } = (await verify(token, 'unsubscribe')) ?? {};
      const isList = Array.isArray(of) && of.every((one): one is string => typeof one === 'string');
      return typeof sub === 'string' && isId(sub) && isList ? { sub, of } : undefined;
    },

    ...collaborationTokens({ key, clock, verify }),

    /** A code that gives one org its plan for life (S73); its `jti` is used once. */
    signLifetime: (jti: string): Promise<string> =>
      new SignJWT({ jti, aud: 'lifetime', iat: seconds(clock.now()) })
        .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
        .sign(key),
    async verifyLifetime(token: string): Promise<{ jti: string } | undefined> {
      const { jti } = (await verify(token, 'lifetime')) ?? {};
      return typeof jti === 'string' && jti !== '' && jti.length <= 255 ? { jti } : undefined;
    },
  };
}
export type AuthTokens = ReturnType<typeof openAuthTokens>;
