import { z } from 'zod';
import { bearsToken } from '../../../src/platform/telemetry/index.ts';
import { isOwnMachine } from '../../http/own-machine.ts';
import { routesOf } from '../../http/route.ts';
import { unknownRoute } from '../../http/unknown-route.ts';

const route = routesOf('config', 'metrics');

export default [
  route({
    method: 'get',
    path: '/metrics',
    summary: 'Get metrics in Prometheus text format',
    description:
      'For callers with the token of METRICS_TOKEN; outside production also for callers on the same machine. For others the route does not exist.',
    auth: ['none'],
    limit: '120/minute',
    limitBy: 'ip',
    output: 'text',
    answer: z.string(),
    async handle({ rooms: { config, metrics }, request, reply }) {
      const { metricsToken } = config.telemetry;
      const isOpen = !config.production && isOwnMachine(request);
      if (!isOpen && (metricsToken === undefined || !bearsToken(request.headers['authorization'], metricsToken)))
        throw unknownRoute(request);
      reply.header('Content-Type', metrics.contentType);
      reply.header('Cache-Control', 'no-store');
      return metrics.text();
    },
    present: (text) => text,
  }),
];
