import { z } from 'zod';
import { type Json, openApi } from '../../http/openapi/index.ts';
import { type AnyRoute, routesOf } from '../../http/route.ts';
import { described } from './described.ts';

const route = routesOf('config');

const PUBLIC = '/public/v1/';

/** The document of the routes below `prefix`, made once for a list of routes. */
function documentsBelow(prefix: string): (routes: readonly AnyRoute[], version: string) => Json {
  const documents = new WeakMap<readonly AnyRoute[], Json>();
  return (routes, version) => {
    const document = documents.get(routes) ?? openApi(routes, { ...described, prefix, version });
    documents.set(routes, document);
    return document;
  };
}
export const publicDocument = documentsBelow(PUBLIC);
export const wholeDocument = documentsBelow('/');

export const documentRoute = ({
  path,
  summary,
  documentOf,
}: {
  path: `/${string}`;
  summary: string;
  documentOf: typeof publicDocument;
}) =>
  route({
    method: 'get',
    path,
    summary,
    auth: ['none'],
    answer: z.looseObject({ openapi: z.literal('3.1.0') }),
    handle: async ({ rooms, routes }) => documentOf(routes, rooms.config.version),
    present: (document) => document as { openapi: '3.1.0' },
  });
