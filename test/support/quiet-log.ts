import type { RuntimeLog } from '../../src/actor-runtime/index.ts';

export interface Logged {
  level: 'debug' | 'info' | 'warn' | 'error';
  detail: object;
  message: string;
}

/** A log that a test can read. Nothing is printed. */
export function quietLog(): RuntimeLog & { readonly lines: Logged[] } {
  const lines: Logged[] = [];
  const at = (level: Logged['level']) => (detail: object, message: string) => void (lines.length < 10_000 && lines.push({ level, detail, message }));
  return { lines, debug: () => {}, info: at('info'), warn: at('warn'), error: at('error') };
}
