import { z } from 'zod';
import { equalSecrets, notFound } from '../../src/kernel/index.ts';
import { type Request, route } from '../http/route.ts';

const LOOPBACK = /^(::1|(::ffff:)?127\.\d+\.\d+\.\d+)$/;
/** What a proxy on this machine adds: the caller behind it is somebody else. */
const FORWARDED = ['x-forwarded-for', 'x-forwarded-host', 'x-real-ip', 'forwarded', 'via'];

/** Never in production: a proxy on this machine may add no header. */
const isOwnMachine = ({ stream, headers }: Request): boolean =>
  LOOPBACK.test(stream.socket.remoteAddress ?? '') && FORWARDED.every((name) => headers[name] === undefined);
const bears = ({ headers }: Request, token: string): boolean => equalSecrets(/^bearer +(\S+)$/i.exec(headers['authorization'] ?? '')?.[1] ?? '', token);

export default [
  route({
    method: 'get',
    path: '/metrics',
    summary:
      'The numbers of this process in Prometheus form, for callers with the token of METRICS_TOKEN, outside production also for those on this machine; for others there is nothing here.',
    auth: ['none'],
    limit: '120/minute',
    limitBy: 'ip',
    output: 'text',
    answer: z.string(),
    async handle({ ctx: { config, metrics }, request, reply }) {
      const { metricsToken } = config.telemetry;
      const isOpen = !config.production && isOwnMachine(request);
      if (!isOpen && (metricsToken === undefined || !bears(request, metricsToken))) throw notFound();
      reply.header('Content-Type', metrics.contentType);
      reply.header('Cache-Control', 'no-store');
      return metrics.text();
    },
    present: (text) => text,
  }),
];
