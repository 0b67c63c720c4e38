import { z } from 'zod';
import { FileShape } from '../../src/media/index.ts';
import { route } from '../http/route.ts';

const KINDS = ['image', 'video', 'audio', 'document'] as const;
const line = (max: number) =>
  z
    .string()
    .max(max)
    .transform((text) => text.normalize('NFC').trim());
/** A page of the library (S150). */
export const LibraryQuery = z.object({
  page: z.coerce.number().int().min(1).max(100_000).default(1),
  search: z.string().max(255).optional(),
  type: z.enum(KINDS).optional(),
  folder: z.string().max(255).optional(),
});
export const Library = z.strictObject({ pages: z.int(), results: z.array(FileShape), total: z.int() });
export const UrlBody = z.strictObject({ url: z.string().min(1).max(2_048), name: line(255).optional() });
export const DeleteQuery = z.object({ force: z.enum(['true', 'false']).default('false') });
export const Deleted = z.strictObject({ id: z.string() });

/** `/files/*` and `/media/*` are the same routes (S146). */
const routesBelow = (prefix: '/files' | '/media') => [
  ...(['upload-server', 'upload-simple'] as const).map((name) =>
    route({
      method: 'post',
      path: `${prefix}/${name}`,
      summary: 'Uploads one file as multipart/form-data, in the field `file`',
      auth: ['session'],
      permission: 'media:create',
      gate: 'storage_gb',
      limit: '120/hour',
      idempotent: true,
      creates: true,
      input: 'stream',
      answer: FileShape,
      handle: ({ ctx, principal, request }) => ctx.media.upload(principal.orgId, request.stream),
      present: (file) => file,
    }),
  ),
  route({
    method: 'post',
    path: `${prefix}/upload-from-url`,
    summary: 'Takes a file from a public address into the library',
    auth: ['session'],
    permission: 'media:create',
    gate: 'storage_gb',
    limit: '120/hour',
    idempotent: true,
    creates: true,
    body: UrlBody,
    answer: FileShape,
    handle: ({ ctx, principal, body }) => ctx.media.uploadFromUrl(principal.orgId, body.url, body.name),
    present: (file) => file,
  }),
  route({
    method: 'get',
    path: prefix,
    summary: 'The library, newest first, 18 files a page',
    auth: ['session'],
    permission: 'media:read',
    query: LibraryQuery,
    answer: Library,
    handle: ({ ctx, principal, query: { page, search, type, folder } }) =>
      ctx.media.list(principal.orgId, page, { search: search || undefined, kind: type, folder: folder || undefined }),
    present: (page) => page,
  }),
  route({
    method: 'post',
    path: `${prefix}/information`,
    summary: 'Changes what is said about a file: name, alternative text, folder, thumbnail',
    auth: ['session'],
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
    handle: ({ ctx, principal, body: { id, folder, ...information } }) =>
      ctx.media.describe(principal.orgId, id, { ...information, ...(folder !== undefined && { folder: folder || null }) }),
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
  route({
    method: 'delete',
    path: `${prefix}/:id`,
    summary: 'Deletes a file; refused while a scheduled post uses it, unless force=true',
    auth: ['session'],
    permission: 'media:delete',
    query: DeleteQuery,
    answer: Deleted,
    async handle({ ctx, principal, params, query }) {
      await ctx.media.remove(principal.orgId, params['id']!, { force: query.force === 'true' });
      return { id: params['id']! };
    },
    present: (deleted) => deleted,
  }),
];

export default [...routesBelow('/files'), ...routesBelow('/media')];
