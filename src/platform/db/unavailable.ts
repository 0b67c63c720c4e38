import { AppError, asAppError } from '../kernel/index.ts';

/**
 * SQLSTATE: connection (08), no resources or connections left (53), taking no connections (55000), shutting down or
 * starting (57P).
 */
const STATES = /^(08[0-9A-Z]{3}|53[0-9A-Z]{3}|55000|57P[0-9A-Z]{2})$/;
/**
 * Error codes of the driver and the system for a connection that was refused, lost, ended, or did not come about in
 * time.
 */
const WORDS = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'CONNECT_TIMEOUT',
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** SQLSTATE of a transaction that was undone as it stood in the way of another one (40001, 40P01). */
const UNDONE = /^40(001|P01)$/;
/** SQLSTATE of a server whose disk is full. */
const DISK_FULL = '53100';
const RETRY_MS = 2_000;

const codeOf = (error: unknown) => String((Object(error) as { code?: unknown }).code);

/**
 * Tells whether a thrown value says that the database cannot be reached or takes nobody in: the same may work in a
 * moment.
 */
export function isUnavailable(error: unknown): boolean {
  const code = codeOf(error);
  return STATES.test(code) || WORDS.has(code);
}

/**
 * Tells whether the statement or what is in it is at fault (SQLSTATE 22, 23, 42, 54), so that it will be refused again.
 */
export const isFinal = (error: unknown): boolean => /^(2[23]|42|54)/.test(codeOf(error));

const messageOf = (code: string) => {
  if (UNDONE.test(code)) return 'Somebody changed the same at this moment, try again shortly';
  return code === DISK_FULL
    ? 'The database has no room left, try again later'
    : 'The database cannot be reached, try again shortly';
};

/**
 * Any thrown value as an error that callers may see: `unavailable` (503) while the database is away, or where it undid
 * one transaction in favour of another, which says nothing of those before it; `internal` for whatever nobody foresaw.
 */
export const asCallerError = (thrown: unknown): AppError =>
  isUnavailable(thrown) || UNDONE.test(codeOf(thrown))
    ? new AppError('unavailable', messageOf(codeOf(thrown)), { retryAfterMs: RETRY_MS }, { cause: thrown })
    : asAppError(thrown);
