import { createHmac, randomBytes } from 'node:crypto';
import { equalSecrets } from '../../platform/kernel/index.ts';

const FORM = /^([A-Za-z0-9_-]{22})([A-Za-z0-9_-]{43})([A-Za-z0-9_-]{22})$/;

/**
 * Login refresh tokens: session id, a secret of 256 bits, and a mark by which an old token is known as one of ours.
 * The next secret follows from the one before and the deployment's key, so that two tabs that refresh at once get the
 * same pair.
 */
export function refreshTokens(key: string) {
  const hmac = (use: string, sessionId: string, secret: string) =>
    createHmac('sha256', key).update(`refresh-${use}|${sessionId}|${secret}`).digest();
  const compose = (sessionId: string, secret: string) =>
    Buffer.from(sessionId.replaceAll('-', ''), 'hex').toString('base64url') +
    secret +
    hmac('mark', sessionId, secret).subarray(0, 16).toString('base64url');

  /** The session that a token was made for; undefined for what we never made. */
  function sessionOf(token: string): { sessionId: string; secret: string } | undefined {
    const parts = FORM.exec(token);
    if (!parts) return undefined;
    const hex = Buffer.from(parts[1]!, 'base64url').toString('hex');
    const sessionId = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
    return equalSecrets(token, compose(sessionId, parts[2]!)) ? { sessionId, secret: parts[2]! } : undefined;
  }

  return {
    first: (sessionId: string) => compose(sessionId, randomBytes(32).toString('base64url')),
    sessionOf,
    next: (sessionId: string, secret: string) =>
      compose(sessionId, hmac('next', sessionId, secret).toString('base64url')),
  };
}
