import { z } from 'zod';
import { FileShape } from '../../src/library/media/index.ts';
import { ownOnly } from '../http/own.ts';
import { route } from '../http/route.ts';
import { line, mediaRoutes } from './_media-routes.ts';
import { multipartRoutes } from './_multipart-routes.ts';

/** `/files/*` and `/media/*` are the same routes (S146). */
const routesBelow = (prefix: '/files' | '/media') => [
  ...mediaRoutes({
    auth: ['session'],
    paths: { upload: [`${prefix}/upload-server`, `${prefix}/upload-simple`], fromUrl: `${prefix}/upload-from-url`, library: prefix },
    answer: FileShape,
    present: (file) => file,
  }),
  ...multipartRoutes(prefix),
  route({
    method: 'post',
    path: `${prefix}/save-media`,
    summary: 'Shows in the library what was uploaded with preventSave',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'media:create',
    body: z.strictObject({ name: z.string().min(1).max(2_048), originalName: line(255).pipe(z.string().min(1)).optional() }),
    answer: FileShape,
    handle: ({ ctx, principal, body: { name, originalName } }) => ctx.media.saveUploaded(principal.orgId, name, originalName),
    present: (file) => file,
  }),
  route({
    method: 'post',
    path: `${prefix}/information`,
    summary: 'Changes what is said about a file: name, alternative text, folder, thumbnail',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'media:update',
    body: z.strictObject({
      id: z.string(),
      name: line(255).pipe(z.string().min(1)).optional(),
      alt: z.string().max(5_000).optional(),
      folder: line(255).nullable().optional(),
      thumbnail: z.string().max(2_048).nullable().optional(),
      thumbnailTimestamp: z.int().min(0).max(2_147_483_647).optional(),
    }),
    answer: FileShape,
    async handle({ ctx, principal, body: { id, folder, ...information } }) {
      await ownOnly(principal, () => ctx.media.authorOf(principal.orgId, id));
      return ctx.media.describe(principal.orgId, id, { ...information, ...(folder !== undefined && { folder: folder || null }) });
    },
    present: (file) => file,
  }),
  route({
    method: 'get',
    path: `${prefix}/:id`,
    summary: 'One file',
    auth: ['session'],
    permission: 'media:read',
    answer: FileShape,
    handle: ({ ctx, principal, params }) => ctx.media.get(principal.orgId, params['id']!),
    present: (file) => file,
  }),
];

export default [...routesBelow('/files'), ...routesBelow('/media')];
