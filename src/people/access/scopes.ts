/** The scopes that a client may be granted; `mcp:admin` is reserved and never given. */
export const SCOPES = ['mcp:read', 'mcp:posts:write'] as const;
export type Scope = (typeof SCOPES)[number];

/** Every token may read. */
const FLOOR: Scope = 'mcp:read';

export const isScope = (text: string): text is Scope => SCOPES.some((scope) => scope === text);

/** In the one order in which scopes are written. */
export const sortedScopes = (scopes: Iterable<Scope>): Scope[] => {
  const given = new Set(scopes);
  return SCOPES.filter((scope) => given.has(scope));
};

/** The scopes of an OAuth token: what was granted and is still known, and the floor. */
export const scopesOfToken = (granted: readonly string[]): ReadonlySet<Scope> =>
  new Set([FLOOR, ...granted.filter(isScope)]);

/**
 * The scopes of an API key on the MCP surfaces, by the role of its owner (MC12, MC14): owners and admins may change,
 * everybody else may read. `allowed`: what the organization lets keys have, null for no restriction (MC15, S201).
 */
export const scopesOfKey = (roleKey: string, allowed: readonly string[] | null): ReadonlySet<Scope> =>
  new Set(
    (roleKey === 'owner' || roleKey === 'admin' ? SCOPES : [FLOOR]).filter(
      (scope) => allowed === null || allowed.includes(scope),
    ),
  );

/** The scopes of a token within what the organization allows; the floor stays (S201). */
export const scopesWithin = (scopes: ReadonlySet<Scope>, allowed: readonly string[] | null): ReadonlySet<Scope> =>
  new Set([...scopes].filter((scope) => scope === FLOOR || allowed === null || allowed.includes(scope)));

/** The scope that a request needs (S89): reading one, changing the other. */
export const scopeFor = (method: string): Scope => (method.toLowerCase() === 'get' ? 'mcp:read' : 'mcp:posts:write');
