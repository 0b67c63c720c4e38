import { z } from 'zod';
import { openApi } from '../http/openapi.ts';
import { type AnyRoute, route } from '../http/route.ts';

/** The documents of all routes, made at the first question; `routes` is called then, so that these two are among them. */
export function openApiRoutes(routes: () => readonly AnyRoute[]): readonly AnyRoute[] {
  const documents = new Map<string, unknown>();
  const documentOf = (prefix: string, version: string) => {
    if (!documents.has(prefix)) documents.set(prefix, openApi(routes(), { prefix, version }));
    return documents.get(prefix);
  };
  return [
    { path: '/openapi.json', prefix: '/', summary: 'This interface as OpenAPI 3.1.' } as const,
    { path: '/public/v1/openapi.json', prefix: '/public/v1/', summary: 'The public part of this interface as OpenAPI 3.1.' } as const,
  ].map(({ path, prefix, summary }) =>
    route({
      method: 'get',
      path,
      summary,
      auth: ['none'],
      answer: z.looseObject({ openapi: z.literal('3.1.0') }),
      handle: async ({ ctx }) => documentOf(prefix, ctx.config.version),
      present: (document) => document as { openapi: '3.1.0' },
    }),
  );
}
