import type { RuntimeLog } from '../../../src/platform/actor-runtime/index.ts';

export interface Logged {
  level: 'debug' | 'info' | 'warn' | 'error';
  detail: object;
  message: string;
}

/**
 * A log that a test can read. Nothing is printed. `lines`: from the level `info` on; `all`: of every level, in the same
 * order.
 */
export function quietLog(): RuntimeLog & { readonly lines: Logged[]; readonly all: Logged[] } {
  const [lines, all]: [Logged[], Logged[]] = [[], []];
  const keep = (log: Logged[], line: Logged) => void (log.length < 10_000 && log.push(line));
  const at = (level: Logged['level']) => (detail: object, message: string) => {
    const line = { level, detail, message };
    keep(all, line);
    if (level !== 'debug') keep(lines, line);
  };
  return { lines, all, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

interface MailEvent {
  emailId: string;
  attempt?: number;
  outcome?: string;
  status?: string;
}

/**
 * What was logged of mails, oldest first: an attempt to send one has an outcome, what its provider told of it a status.
 */
export const mailEventsOf = ({ all }: { readonly all: readonly Logged[] }): MailEvent[] =>
  all.flatMap(({ detail }) =>
    String((detail as { event?: unknown }).event).startsWith('mail.') ? [detail as MailEvent] : [],
  );
