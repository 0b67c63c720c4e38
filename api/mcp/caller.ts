import { requireFeature } from '../../src/entitlements/index.ts';
import type { Surface } from '../../src/oauth-server/index.ts';
import { type Scope, scopesOfKey, scopesWithin } from '../../src/people/access/index.ts';
import type { McpPolicy } from '../../src/people/organizations/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import { refusalText } from '../http/errors.ts';
import type { Call, Room } from '../http/route.ts';
import { type Message, toolOf } from './message.ts';
import { tools } from './tools.ts';

/** The rooms that the surfaces hand to their tools, and what they need themselves. */
export const ROOMS = [
  ...new Set<Room>([
    ...tools.flatMap((tool) => tool.rooms as readonly Room[]),
    'brandKits',
    'audit',
    'organizations',
    'config',
    'cache',
    'logs',
  ]),
];

/** The call of a surface's route, whatever its body. */
export type SurfaceCall = Omit<Call<Room>, 'params' | 'body' | 'query' | 'idempotency'>;

/** Somebody who calls a surface, with what they may do there now. */
export interface McpCaller {
  surface: Surface;
  call: SurfaceCall;
  scopes: ReadonlySet<Scope>;
  policy: McpPolicy;
  /** What the program calls itself, where an earlier message told it. */
  client?: string | undefined;
}

/** Of a token the scopes are those granted, of a key those of its owner's role, both within the policy (S201). */
export async function callerOf(surface: Surface, call: SurfaceCall): Promise<McpCaller> {
  const { orgId, roleKey, scopes: granted } = call.principal;
  const policy = await call.rooms.organizations.mcpPolicy(orgId);
  const { allowedScopes } = policy;
  const scopes = granted ? scopesWithin(granted, allowedScopes) : scopesOfKey(roleKey, allowedScopes);
  return { surface, call, policy, scopes };
}

/**
 * Refuses a message of a caller whose plan has no MCP (S58), or who lacks its scope (S200).
 * @throws AppError `plan_required`, `insufficient_scope`
 */
export function checkMessage({ surface, call, scopes, policy }: McpCaller, message: Message): void {
  const { plan } = call.principal;
  if (plan) requireFeature(plan, 'mcp');
  const tool = toolOf(surface, message);
  // that of the tool that it calls, and for all else the one to read
  const scope = (policy.allowProposals ? tool?.scopeOfProposals : undefined) ?? tool?.scope ?? 'mcp:read';
  if (!scopes.has(scope))
    throw new AppError('insufficient_scope', `This credential lacks the scope ${scope}`, { scope });
}

/** The body of a refusal, as every route sends it (S3). */
export function refusalOf({ call }: Pick<McpCaller, 'call'>, error: AppError): Record<string, unknown> {
  const { frontendUrl } = call.rooms.config.http;
  return JSON.parse(refusalText(error, undefined, call.request.id, frontendUrl)) as Record<string, unknown>;
}

/** What answers a message in the place of its result, and the request with it. */
export interface Refusal {
  status: number;
  error: { code: number; message: string; data?: unknown };
  /** The scope that is lacking. */
  scope?: unknown;
}
export const INVALID_REQUEST = -32_600;
const METHOD_NOT_FOUND = -32_601;
/** The codes of refusals that are none of the protocol's own. */
const CODES: Readonly<Record<number, number>> = { 402: -32_004, 403: -32_003 };

/** The refusal of a message that its caller may not send; undefined: they may. */
export function refusalOfMessage(caller: McpCaller, message: Message): Refusal | undefined {
  // its answer would be a stream that never ends: nothing is announced here
  if (message.method === 'subscriptions/listen')
    return { status: 404, error: { code: METHOD_NOT_FOUND, message: 'There are no subscriptions' } };
  try {
    checkMessage(caller, message);
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const { status, extra } = error;
    const code = CODES[status] ?? INVALID_REQUEST;
    return { status, error: { code, message: error.message, data: refusalOf(caller, error) }, scope: extra['scope'] };
  }
}
