import { pino, type Logger } from 'pino';
import { spanInLog } from './current-span.ts';
import { redact, redactText } from './redact.ts';

/**
 * The logger that every room is handed. Detail first, then one sentence without values in it; an error goes in as
 * `err`.
 */
export interface Log {
  debug(detail: object, message: string): void;
  info(detail: object, message: string): void;
  warn(detail: object, message: string): void;
  error(detail: object, message: string): void;
}

/** Logs by name: of a room, or of another part of the process. Names are given where a part is opened. */
export interface Logs {
  of(room: string): Log;
}

interface Options {
  level: string;
  /** `plain`: lines for a person; `json`: one object a line. */
  format: 'json' | 'plain';
  /** In every line, for example the incarnation of the process. */
  base?: Record<string, string>;
  write?: (line: string) => void;
}

const standardOut = (line: string) => void process.stdout.write(line);

/**
 * The log of a process: JSON lines with the time as ISO 8601, or plain ones; nothing secret gets through (`redact.ts`).
 */
export function openLogs({ level, format, base = {}, write = standardOut }: Options): Logs {
  const root: Logger = pino(
    {
      level,
      base,
      mixin: spanInLog,
      messageKey: 'message',
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: (error: unknown) => error }, // made plain below, together with all the rest
      formatters: { level: (label) => ({ level: label }) },
      hooks: {
        logMethod([detail, message], method) {
          method.apply(this, [redact(detail) as object, redactText(String(message))]);
        },
      },
    },
    { write: format === 'plain' ? (line: string) => write(plainLine(line)) : write },
  );
  return { of: (room) => root.child({ room }) };
}

interface Line {
  level: string;
  time: string;
  room?: string;
  message?: string;
  err?: { message?: string; stack?: string; cause?: { message?: string } };
}

/**
 * One line of text: what would begin another, move the cursor or turn the direction of writing is shown by its code.
 */
const visible = (text: string): string =>
  text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
/** Several lines, each of them indented: none can be taken for an entry of the log. */
const indented = (text: string): string =>
  text
    .split('\n')
    .map((line) => `\n    ${visible(line)}`)
    .join('');

/** `12:03:04.123 WARN  posts  slots could not be prolonged  slots=3`, and below it what went wrong. */
function plainLine(json: string): string {
  const { level, time, room = '', message = '', err, ...detail } = JSON.parse(json) as Line;
  const values = Object.entries(detail).map(
    ([name, value]) => `${name}=${visible(typeof value === 'string' ? value : JSON.stringify(value))}`,
  );
  const head = [time.slice(11, 23), level.toUpperCase().padEnd(5), room.padEnd(8), message].join(' ');
  const trouble = err
    ? [
        indented(
          level === 'error' || level === 'fatal'
            ? (err.stack ?? err.message ?? JSON.stringify(err))
            : (err.message ?? JSON.stringify(err)),
        ),
        err.cause?.message ? indented(`because: ${err.cause.message}`) : '',
      ]
    : [];
  return `${[head, ...values].join('  ')}${trouble.join('')}\n`;
}
