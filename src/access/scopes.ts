import type { Permission } from './permissions.ts';

/** What a program may be let do on somebody's behalf; `mcp:admin` is reserved and never given. */
export const SCOPES = ['mcp:read', 'mcp:posts:write'] as const;
export type Scope = (typeof SCOPES)[number];

/** Every token may read. */
const FLOOR: Scope = 'mcp:read';
const ALL: ReadonlySet<Scope> = new Set(SCOPES);
const READS: ReadonlySet<Scope> = new Set([FLOOR]);

export const isScope = (text: string): text is Scope => SCOPES.some((scope) => scope === text);

/** In the one order in which scopes are written. */
export const sortedScopes = (scopes: Iterable<Scope>): Scope[] => {
  const given = new Set(scopes);
  return SCOPES.filter((scope) => given.has(scope));
};

/** The scopes of an OAuth token: what was granted and is still known, and the floor. */
export const scopesOfToken = (granted: readonly string[]): ReadonlySet<Scope> => new Set([FLOOR, ...granted.filter(isScope)]);

interface KeyOwner {
  /** In the key's org; null for a super-admin who does not belong to it, and counts as its owner. */
  roleKey: string | null;
  /** Of a role of the org's own; null for a system role. */
  granted?: readonly Permission[] | null | undefined;
  isSuperAdmin: boolean;
}
const MAY_WRITE: ReadonlySet<string> = new Set(['owner', 'admin']);

/** The scopes of an API key: by its owner's role in the org, a role of the org's own writes when it may create posts; at most what the org allows, where it says so. */
export function scopesOfKey({ roleKey, granted, isSuperAdmin }: KeyOwner, allowed?: readonly string[] | null): ReadonlySet<Scope> {
  const writes =
    roleKey === null ? isSuperAdmin : MAY_WRITE.has(roleKey) || (granted?.some((one) => one === 'posts:create' || one === 'posts:manage') ?? false);
  const scopes = roleKey === null && !isSuperAdmin ? [] : [...(writes ? ALL : READS)];
  return new Set(allowed ? scopes.filter((scope) => allowed.includes(scope)) : scopes);
}

/** The scope that a request needs (S89): reading one, changing the other. */
export const scopeFor = (method: string): Scope => (method.toLowerCase() === 'get' ? 'mcp:read' : 'mcp:posts:write');
