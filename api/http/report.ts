import type { AppError, Clock } from '../../src/platform/kernel/index.ts';
import type { Logs, Metrics } from '../../src/platform/telemetry/index.ts';
import type { Answered } from '../app.ts';

const EVERY_MS = 60_000;
const PATH_LENGTH = 40;
/** The beginning of a path that leads nowhere: what follows may be a secret of somebody who mistyped. */
const startOf = (path: string): string => `/${path.split('/')[1] ?? ''}`.slice(0, PATH_LENGTH);

/** Something of ours failed while an answer was sent; not a client that went away. */
const isBroken = (error: AppError | undefined): boolean =>
  error?.code === 'internal' && (error.cause as { code?: unknown } | undefined)?.code !== 'ERR_STREAM_PREMATURE_CLOSE';

/**
 * Two numbers for each request, and a line for what a person should see: what went wrong on our side aloud and each
 * time, refusals as information, the first of a minute for each route and code with the number of those before it that
 * had no line. All others are `debug`.
 */
export function reportTo({
  logs,
  metrics,
  clock,
}: {
  logs: Logs;
  metrics: Metrics;
  clock: Clock;
}): (answered: Answered) => void {
  const log = logs.of('http');
  const refusals = new Map<string, { until: number; unlogged: number }>(); // declared routes and known codes: bounded
  return (given) => {
    const { method, route = 'none', status, ms } = given;
    metrics.requests.inc({ method, route, status: String(status) });
    metrics.requestSeconds.observe({ method, route }, ms / 1000);
    const { error, path, ...rest } = given;
    const line = { ...rest, ms: Math.round(ms * 10) / 10, ...(given.route === undefined && { path: startOf(path) }) };
    if (status < 500 && !error) return log.debug(line, 'a request was answered');
    if (status === 500 || isBroken(error))
      return log.error({ ...line, err: error?.cause ?? error }, 'a request failed');
    if (status > 500)
      return log.warn({ ...line, code: error?.code, err: error?.cause }, 'a request could not be served');

    const refused = { ...line, code: error?.code };
    const key = `${route} ${error?.code}`;
    const known = refusals.get(key);
    if (known && clock.monotonic() < known.until) {
      known.unlogged += 1;
      return log.debug(refused, 'a request was refused');
    }
    refusals.set(key, { until: clock.monotonic() + EVERY_MS, unlogged: 0 });
    log.info({ ...refused, ...(known?.unlogged && { unlogged: known.unlogged }) }, 'a request was refused');
  };
}
