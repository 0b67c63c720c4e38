import { z } from 'zod';
import { openApi } from '../../http/openapi.ts';
import { type AnyRoute, routesOf } from '../../http/route.ts';

const route = routesOf('config');

/** The document of the routes below `prefix`, made once for a list of routes. */
export function documentRoute({ path, prefix, summary }: { path: `/${string}`; prefix: string; summary: string }) {
  const documents = new WeakMap<readonly AnyRoute[], unknown>();
  return route({
    method: 'get',
    path,
    summary,
    auth: ['none'],
    answer: z.looseObject({ openapi: z.literal('3.1.0') }),
    async handle({ rooms, routes }) {
      const document = documents.get(routes) ?? openApi(routes, { prefix, version: rooms.config.version });
      documents.set(routes, document);
      return document;
    },
    present: (document) => document as { openapi: '3.1.0' },
  });
}
