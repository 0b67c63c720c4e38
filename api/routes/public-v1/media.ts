import { PublicFile, presentPublicFile } from '../../../src/media/index.ts';
import { route } from '../../http/route.ts';
import { Deleted, DeleteQuery, Library, LibraryQuery, UrlBody } from '../files.ts';

export default [
  route({
    method: 'post',
    path: '/public/v1/upload',
    summary: 'Uploads one file as multipart/form-data, in the field `file`',
    auth: ['api-key', 'oauth'],
    permission: 'media:create',
    gate: 'storage_gb',
    limit: '120/hour',
    idempotent: true,
    input: 'stream',
    answer: PublicFile,
    handle: ({ ctx, principal, request }) => ctx.media.upload(principal.orgId, request.stream),
    present: presentPublicFile,
  }),
  route({
    method: 'post',
    path: '/public/v1/upload-from-url',
    summary: 'Takes a file from a public address into the library',
    auth: ['api-key', 'oauth'],
    permission: 'media:create',
    gate: 'storage_gb',
    limit: '120/hour',
    idempotent: true,
    body: UrlBody,
    answer: PublicFile,
    handle: ({ ctx, principal, body }) => ctx.media.uploadFromUrl(principal.orgId, body.url, body.name),
    present: presentPublicFile,
  }),
  route({
    method: 'get',
    path: '/public/v1/media',
    summary: 'The library, newest first, 18 files a page',
    auth: ['api-key', 'oauth'],
    permission: 'media:read',
    query: LibraryQuery,
    answer: Library,
    handle: ({ ctx, principal, query: { page, search, type, folder } }) =>
      ctx.media.list(principal.orgId, page, { search: search || undefined, kind: type, folder: folder || undefined }),
    present: (page) => page,
  }),
  route({
    method: 'delete',
    path: '/public/v1/media/:id',
    summary: 'Deletes a file; refused while a scheduled post uses it, unless force=true',
    auth: ['api-key', 'oauth'],
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
