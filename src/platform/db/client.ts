import postgres from 'postgres';
import { ARRAY_TYPES } from './arrays.ts';
import { type ConnectionLines, openConnectionLines, openWatch } from './frozen.ts';
import { openOwnCommits, type OwnCommits } from './own-commits.ts';
import { sending } from './sending.ts';
import { guardTransactions } from './transactions.ts';

/** The client or a transaction: what a store function takes first. */
export type Sql = postgres.ISql;
/** The client itself: what opens transactions and is closed at the end. */
export type Database = postgres.Sql;
/** A piece of SQL to be put into a statement. */
export type Fragment = postgres.PendingQuery<postgres.Row[]>;
export type Json = postgres.JSONValue;

export interface DatabaseOptions {
  url: string;
  /** Connections of this process. Few are faster than many: group commit does the rest. */
  connections?: number;
  /** Until giving up on a new connection. */
  connectTimeoutSeconds?: number | undefined;
  applicationName?: string;
  /** Called with every statement sent; tests count with it. */
  onStatement?: (text: string) => void;
}

// A connection that ends with an unsent statement keeps the driver from ever flushing again, unless what it writes is
// at least 1,024 bytes: its next greeting would stay unsent, and every statement on it would wait for
// `connect_timeout`. So the greeting is that long: it begins with a name that the one in capitals replaces, which is
// the same setting to the server.
const PADDING = '-'.repeat(1_024);

const linesOf = new WeakMap<Database, ConnectionLines>();
const commitsOf = new WeakMap<Database, OwnCommits>();

/** Opens the pool. Connections are made when first needed, and again after the database was away. */
export const openDatabase = ({
  url,
  connections = 8,
  connectTimeoutSeconds = 10,
  applicationName = 'rookery',
  onStatement,
}: DatabaseOptions): Database => {
  const lines = openConnectionLines();
  const sql = postgres(url, {
    max: connections,
    socket: lines.open,
    connect_timeout: connectTimeoutSeconds,
    backoff: (attempt) => Math.min(0.05 * 2 ** attempt, 2),
    onnotice: () => {},
    fetch_types: false,
    types: ARRAY_TYPES,
    connection: { application_name: PADDING, APPLICATION_NAME: applicationName, timezone: 'UTC' },
    ...(onStatement && { debug: (_connection: number, text: string) => onStatement(text) }),
  } as postgres.Options<{}>);
  const commits = openOwnCommits();
  const send = openWatch(sql, lines);
  guardTransactions(sql, send, commits.transactionEnded);
  const database = sending(sql, (query, handler) => send(query, handler, commits.ended));
  linesOf.set(database, lines);
  commitsOf.set(database, commits);
  return database;
};

/**
 * One connection of its own to the same database, never recycled: for what lives as long as a session. It is made anew
 * by the next statement; `onClose` hears of each end, also the wanted one.
 */
export function openSession(sql: Database, onClose: () => void): Database {
  const session = postgres({
    ...sql.options,
    types: ARRAY_TYPES,
    max: 1,
    idle_timeout: null,
    max_lifetime: null,
    onclose: onClose,
  } as unknown as postgres.Options<{}>);
  const lines = linesOf.get(sql);
  return lines ? sending(session, openWatch(session, lines)) : session;
}

/**
 * Calls back once, when a statement of this client that has `text` in it, or any transaction, ended after now: it may
 * have written what the caller waits for. Of a session beside it nothing is told; of a client that was not opened here
 * nothing is known, and the answer is at once.
 */
export function onNextCommit(sql: Database, text: string, told: () => void): Disposable {
  const commits = commitsOf.get(sql);
  if (commits) return commits.next({ text, told });
  told();
  return { [Symbol.dispose]() {} };
}

/** SQLSTATE 23503, 23001: a row that others refer to was to be deleted. */
export const isReferenced = (error: unknown): boolean =>
  error instanceof postgres.PostgresError && ['23503', '23001'].includes(error.code);
/** SQLSTATE 23505: another row has this key already. */
export const isUniqueViolation = (error: unknown, constraint?: string): boolean =>
  error instanceof postgres.PostgresError &&
  error.code === '23505' &&
  (constraint === undefined || error.constraint_name === constraint);
