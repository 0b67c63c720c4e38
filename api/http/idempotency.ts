import {
  claimKey,
  completeKey,
  type KeptAnswer,
  releaseKey,
  renewKey,
  scopeOfUser,
} from '../../src/platform/db/index.ts';
import type { Context } from '../../src/context.ts';
import { AppError, invalidField, newId, sha256 } from '../../src/platform/kernel/index.ts';
import { type Exchange, REQUEST_MS } from './exchange.ts';
import type { AnyRoute, IdempotencyClaim } from './route.ts';

const NAME = 'idempotency-key';
/** Milliseconds after which the process of a request that has arrived counts as dead, unless it renews its claim. */
const WORK_MS = 120_000;
export const CLAIM_RENEWAL_MS = WORK_MS / 3;
const KEPT_FAILURES = new Set([400, 404, 409, 410]);

/** The claim of a request that carries a key, or the answer that its key got before. */
export interface Claimed {
  claim?: IdempotencyClaim;
  stored?: { status: number; reply: string };
}

/**
 * Claims the `Idempotency-Key` of this request, or answers what is stored under it (S18); nothing without a key.
 * @throws AppError `idempotency_mismatch` for another body, `idempotency_in_flight` while the first request runs
 */
export async function claim(exchange: Exchange, route: AnyRoute, { sql, vault }: Context): Promise<Claimed> {
  const { request, principal, params } = exchange;
  const key = request.headers[NAME];
  if (key === undefined || !principal) return {};
  if (!/^[\x20-\x7e]{1,255}$/.test(key))
    throw invalidField(NAME, 'must be 1 to 255 printable characters', 'invalid_format');
  // of an upload only its length is known beforehand
  const bytes = exchange.body ? (await exchange.body).bytes : (request.headers['content-length'] ?? '');
  const path = route.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
  const scope = scopeOfUser(principal.userId, `${request.method} ${path}`);
  const mine: IdempotencyClaim = { orgId: principal.orgId, scope, key, claim: newId() };
  // a stream is still to arrive when its key is claimed
  const found = await claimKey(sql, mine, sha256(bytes), WORK_MS + (route.input === 'stream' ? REQUEST_MS : 0));
  if (found.kind === 'claimed') return { claim: mine };
  if (found.kind === 'mismatch')
    throw new AppError('idempotency_mismatch', 'This Idempotency-Key was used with another body: send a new key');
  if (found.kind === 'running')
    throw new AppError(
      'idempotency_in_flight',
      'The first request with this Idempotency-Key is still running: send it again later',
      { retryAfterMs: 1_000 },
    );
  const { status, reply } = found;
  // a reply that shows a secret is kept sealed
  return { stored: { status, reply: reply.startsWith('v2:') ? vault.open(reply) : reply } };
}

/**
 * Renews the claim of a request until it is disposed of: a request that lasts longer than a claim would else be done a
 * second time by whoever repeats it.
 */
export const holdClaim = (mine: IdempotencyClaim, { sql, clock }: Pick<Context, 'sql' | 'clock'>): Disposable =>
  clock.every(
    CLAIM_RENEWAL_MS,
    () => void renewKey(sql, mine, WORK_MS).catch(() => undefined), // the next one may come through
  );

/** The answer of a route as a room keeps it in the commit of its effect; undefined for a request without a key. */
export const keptAnswer = <T>(
  key: IdempotencyClaim | undefined,
  status: number,
  present: (result: T) => unknown,
): KeptAnswer<T> | undefined => key && { key, status, reply: (result) => JSON.stringify(present(result)) };

interface Completion {
  status: number;
  reply: string;
  /** It asks to be tried again: its repeat must not get it for ever. */
  passing?: boolean;
}

/**
 * Keeps the answer for whoever repeats the request; an answer that says nothing about the request itself gives the key
 * back. A handler that wrote its answer with its effect has completed it already.
 */
export async function complete(
  mine: IdempotencyClaim,
  { status, reply, passing = false }: Completion,
  { sql }: Context,
): Promise<void> {
  const kept = (status >= 200 && status < 300) || (KEPT_FAILURES.has(status) && !passing);
  await (kept ? completeKey(sql, mine, status, reply) : releaseKey(sql, mine));
}
