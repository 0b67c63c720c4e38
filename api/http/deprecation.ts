import type { Exchange } from './exchange.ts';
import type { AnyRoute } from './route.ts';

const startOf = (day: string): Date => new Date(`${day}T00:00:00Z`);

/** Says on every answer of a route that is to be removed since when that is known (RFC 9745), and until when it stays (RFC 8594). */
export function tellDeprecation({ headers }: Pick<Exchange, 'headers'>, { deprecated }: AnyRoute): void {
  if (!deprecated) return;
  headers['deprecation'] = `@${startOf(deprecated.since).getTime() / 1_000}`;
  headers['sunset'] = startOf(deprecated.sunset).toUTCString();
}
