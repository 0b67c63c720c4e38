import type { Logs, Metrics } from '../../src/telemetry/index.ts';
import type { Answered } from '../app.ts';

/** One line and two numbers for each request: what went wrong on our side aloud, refusals as information, the rest for whoever looks closely. */
export function reportTo({ logs, metrics }: { logs: Logs; metrics: Metrics }): (answered: Answered) => void {
  const log = logs.of('http');
  return (given) => {
    const { method, route = 'none', status, ms } = given;
    metrics.requests.inc({ method, route, status: String(status) });
    metrics.requestSeconds.observe({ method, route }, ms / 1000);
    if (status < 500 && !given.error) return log.debug(given, 'a request was answered');
    const { error, ...answered } = given;
    if (status === 500) log.error({ ...answered, err: error?.cause ?? error }, 'a request failed');
    else if (status > 500) log.warn({ ...answered, code: error?.code, err: error?.cause }, 'a request could not be served');
    else log.info({ ...answered, code: error?.code }, 'a request was refused');
  };
}
