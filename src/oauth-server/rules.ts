import { isScope, type Scope, SCOPES, sortedScopes } from '../people/access/index.ts';
import { equalSecrets, sha256 } from '../platform/kernel/index.ts';
import { invalidRequest, OAuthError } from './errors.ts';
import type { Surface } from './surfaces.ts';

export const CODE_SECONDS = 10 * 60;
export const ACCESS_SECONDS = 60 * 60;
export const REFRESH_SECONDS = 30 * 24 * 60 * 60;

/** The values of a `scope` parameter; undefined when it names none. */
export function namedScopes(text: string | undefined): Scope[] | undefined {
  const named = text?.split(' ').filter((one) => one !== '') ?? [];
  if (named.length === 0) return undefined;
  const unknown = named.find((one) => !isScope(one));
  if (unknown !== undefined) throw new OAuthError('invalid_scope', `scope: possible are ${SCOPES.join(' and ')}`);
  return named.filter(isScope);
}

/**
 * Answers the scopes that a person is asked to approve: what was asked for and the app may have, and always the floor
 * (S89). For an agent, a public client that registered itself, its registration says what it wants at first and bounds
 * nothing: it registers with the scope of the first refusal, and asks for more when it is refused again (S200).
 */
export const scopesToGrant = (
  asked: readonly Scope[] | undefined,
  ofApp: readonly string[],
  { isAgent = false } = {},
): Scope[] =>
  sortedScopes([
    'mcp:read',
    ...(asked ?? SCOPES).filter((scope) => (isAgent && asked !== undefined) || ofApp.includes(scope)),
  ]);

/** PKCE (RFC 7636): `S256` and no other method; who cannot keep a secret must use it (S85, S88). */
export function judgeChallenge(
  challenge: string | undefined,
  method: string | undefined,
  isPublic: boolean,
): string | undefined {
  if (challenge === undefined) {
    if (isPublic) throw invalidRequest('code_challenge: a public client must use PKCE');
    if (method !== undefined) throw invalidRequest('code_challenge: is missing beside code_challenge_method');
    return undefined;
  }
  if (method !== 'S256') throw invalidRequest('code_challenge_method: must be S256');
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw invalidRequest('code_challenge: must be the unpadded base64url of a SHA-256');
  return challenge;
}

/** A verifier without a stored challenge is refused too: somebody took the challenge away (RFC 9700 4.8.2). */
export const verifies = (verifier: string | undefined, challenge: string | null): boolean =>
  verifier === undefined || challenge === null
    ? verifier === undefined && challenge === null
    : equalSecrets(sha256(verifier).toString('base64url'), challenge);

export const isVerifier = (text: string): boolean => /^[A-Za-z0-9._~-]{43,128}$/.test(text);

/** Binds to what was asked for now, within what was bound before. */
export function narrowed(bound: Surface | null, asked: Surface | undefined): Surface | null {
  if (bound !== null && asked !== undefined && asked !== bound)
    throw new OAuthError('invalid_target', 'resource: not the one that was approved');
  return asked ?? bound;
}
