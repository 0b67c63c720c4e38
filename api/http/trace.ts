import type { RunSpan } from '../../src/platform/telemetry/index.ts';
import type { Serve } from './mount.ts';

/** Each request as a span, by the route as it is declared: what stands in its address may be secret. */
export const traced =
  (span: RunSpan, serve: Serve): Serve =>
  (exchange, route, refusal) => {
    const { request, response } = exchange;
    return span(
      {
        name: `${request.method} ${route?.path ?? 'unknown'}`,
        kind: 'server',
        attributes: {
          'http.request.method': request.method,
          'http.route': route?.path,
          'rookery.request.id': request.id,
        },
        traceparent: request.headers['traceparent'],
      },
      async (running) => {
        await serve(exchange, route, refusal);
        const { statusCode } = response;
        running.set({ 'http.response.status_code': statusCode, 'rookery.org.id': exchange.principal?.orgId });
        if (statusCode >= 500) running.fail(`${statusCode}`);
      },
    );
  };
