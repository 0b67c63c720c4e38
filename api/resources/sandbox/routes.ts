import { z } from 'zod';
import { isId, notFound } from '../../../src/platform/kernel/index.ts';
import { routesOf } from '../../http/route.ts';
import { LedgerPage, presentLedger } from './shape.ts';

const route = routesOf('config', 'sandbox');

export default [
  route({
    method: 'get',
    path: '/sandbox/ledger',
    summary: 'List requests to the sandbox network',
    description: 'Those of one channel, oldest first.',
    auth: ['session'],
    permission: 'channels:read',
    query: z.object({
      integrationId: z.string(),
      after: z
        .string()
        .regex(/^\d{1,18}$/, 'must be the nextCursor of the page before')
        .default('0'),
      limit: z.coerce.number().int().min(1).max(1_000).default(100),
    }),
    answer: LedgerPage,
    async handle({ rooms, principal, query: { integrationId, after, limit } }) {
      const rows =
        isId(integrationId) && rooms.config.social.sandboxEnabled
          ? await rooms.sandbox.listLedger(principal.orgId, integrationId, after, limit)
          : undefined;
      if (!rows) throw notFound();
      return { rows, limit };
    },
    present: presentLedger,
  }),
];
