import { z } from 'zod';
import { REFERENCE_POLICY, referencePage } from '../../console/reference.ts';
import { namesTag } from '../../http/etag.ts';
import { type AnyRoute, routesOf } from '../../http/route.ts';
import { sha256Hex } from '../../../src/platform/kernel/index.ts';
import { publicDocument } from '../openapi/handlers.ts';

const route = routesOf('config');

/** Two forms for a list of routes: the address may end in a slash, and links of the page start from it. */
const pages = new WeakMap<readonly AnyRoute[], Map<string, { html: string; etag: string }>>();
function pageOf(routes: readonly AnyRoute[], version: string, root: string) {
  const forms = pages.get(routes) ?? new Map<string, { html: string; etag: string }>();
  pages.set(routes, forms);
  const known = forms.get(root);
  if (known) return known;
  const html = referencePage(publicDocument(routes, version), root);
  const page = { html, etag: `"${sha256Hex(html).slice(0, 32)}"` };
  forms.set(root, page);
  return page;
}

export default [
  route({
    method: 'get',
    path: '/reference',
    summary: 'Get the reference page of the public API',
    description: 'For people: one page without scripts, which loads nothing from elsewhere.',
    auth: ['none'],
    output: 'text',
    mediaType: 'text/html',
    answer: z.string(),
    async handle({ rooms, routes, request, reply }) {
      const isSlashed = request.url.split('?', 1)[0]!.endsWith('/');
      const { html, etag } = pageOf(routes, rooms.config.version, isSlashed ? '../' : './');
      reply.header('Content-Type', 'text/html; charset=utf-8');
      reply.header('Content-Security-Policy', REFERENCE_POLICY);
      reply.header('X-Content-Type-Options', 'nosniff');
      reply.header('X-Frame-Options', 'DENY');
      reply.header('Referrer-Policy', 'no-referrer');
      reply.header('Cache-Control', 'public, max-age=300');
      reply.header('ETag', etag);
      const known = request.headers['if-none-match'];
      if (known === undefined || !namesTag(known, etag)) return html;
      reply.status(304);
      return '';
    },
    present: (html) => html,
  }),
];
