import { openWriteBehind } from '../flow/index.ts';
import { type Database, type Json, retentionRule, oldRows, type Sql } from '../db/index.ts';
import { type RowPage, pageOf } from '../kernel/index.ts';
import { type Logs, redact, redactText } from '../telemetry/index.ts';

export interface ErrorRow {
  id: string;
  at: Date;
  incarnation: string;
  room: string;
  message: string;
  error: string | null;
  detail: Readonly<Record<string, Json>>;
}
interface Kept {
  room: string;
  message: string;
  error: string | null;
  detail: Record<string, Json>;
}

/** The errors that all processes logged, kept in the database for operators (GET /admin/errors). */
export interface ErrorLog extends AsyncDisposable {
  /** The same log, whose errors are kept too. */
  readonly logs: Logs;
  list(asked: { room?: string | undefined; cursor?: string | undefined; limit: number }): Promise<RowPage<ErrorRow>>;
  /** Forgets those older than ERRORS_RETENTION_DAYS, at most `limit`; answers how many. */
  dropOld(limit: number): Promise<number>;
  /** Forgets those in which one of these texts occurs, in the caller's transaction; answers how many. */
  forgetMentions(transaction: Sql, texts: readonly string[]): Promise<number>;
}

const OLD = oldRows('errors', 'at');
export const errorsRetention = retentionRule('ERRORS_RETENTION_DAYS', ['errors'], OLD.due); // RT6

const GATHER_MS = 1_000;
const AT_MOST = 200; // wait to be written; a flood says nothing more
const LENGTH = 4_000;

export function openErrorLog({
  sql,
  logs,
  incarnation,
  retentionDays,
}: {
  sql: Database;
  logs: Logs;
  incarnation: string;
  retentionDays: number;
}): ErrorLog {
  let waiting: Kept[] = [];

  const behind = openWriteBehind({
    afterMs: GATHER_MS,
    async write() {
      const kept = waiting;
      waiting = [];
      try {
        if (kept.length > 0) await insert(sql, incarnation, kept);
      } catch (error) {
        logs.of('database').warn({ err: error, lost: kept.length }, 'errors could not be kept');
      }
    },
    onError: () => {}, // it never rejects
  });
  function keep(room: string, detail: object, message: string): void {
    if (waiting.length >= AT_MOST) return;
    waiting.push(keptOf(room, detail, message));
    behind.soon();
  }

  return {
    logs: {
      of(room) {
        const log = logs.of(room);
        return {
          debug: (detail, message) => log.debug(detail, message),
          info: (detail, message) => log.info(detail, message),
          warn: (detail, message) => log.warn(detail, message),
          error(detail, message) {
            log.error(detail, message);
            keep(room, detail, message);
          },
        };
      },
    },
    list: async ({ room, cursor, limit }) => pageOf(await list(sql, { room, before: cursor, limit: limit + 1 }), limit),
    dropOld: (limit) => OLD.drop(sql, retentionDays, limit),
    async forgetMentions(transaction, texts) {
      const { count } = await transaction`
        delete from errors e
        using unnest(${texts.map((text) => text.toLowerCase())}::text[]) as said (what)
        where position(what in lower(concat_ws(' ', e.message, e.error, e.detail::text))) > 0`;
      return count;
    },
    [Symbol.asyncDispose]: () => behind[Symbol.asyncDispose](),
  };
}

/** A text that jsonb and text can hold: without secrets, null characters and lone surrogates, and cut to length. */
const storable = (text: string): string => redactText(text).slice(0, LENGTH).replaceAll('\0', '').toWellFormed();

/** The stack of an error, and of what caused it; of anything else, what it is. */
function wordsOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return JSON.stringify(redact(thrown)) ?? '';
  const because = thrown.cause instanceof Error ? `\nbecause of ${thrown.cause.stack ?? thrown.cause.message}` : '';
  return (thrown.stack ?? thrown.message) + because;
}

/** A line of the log as a row. */
function keptOf(room: string, given: object, message: string): Kept {
  const { err, error = err, cause = error, ...rest } = given as { err?: unknown; error?: unknown; cause?: unknown };
  const detail = JSON.parse(JSON.stringify(redact(rest)), (_, value: unknown) =>
    typeof value === 'string' ? storable(value) : value,
  ) as Record<string, Json>;
  return { room, message: storable(message), error: cause === undefined ? null : storable(wordsOf(cause)), detail };
}

const insert = (sql: Sql, incarnation: string, kept: readonly Kept[]) => sql`
  insert into errors (incarnation, room, message, error, detail)
  select ${incarnation}, e.room, e.message, e.error, coalesce(e.detail, '{}')
  from jsonb_to_recordset(${sql.json(kept as unknown as Json)}) as e (room text, message text, error text,
    detail jsonb)`;

const list = (
  sql: Sql,
  { room, before, limit }: { room?: string | undefined; before?: string | undefined; limit: number },
) => sql<ErrorRow[]>`
  select id::text, at, incarnation, room, message, error, detail
  from errors
  where true
    ${room === undefined ? sql`` : sql`and room = ${room}`}
    ${before === undefined ? sql`` : sql`and errors.id < ${before}::bigint`}
  order by errors.id desc
  limit ${limit}`;
