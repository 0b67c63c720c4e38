import { z } from 'zod';
import { keptAnswer } from '../../http/idempotency.ts';
import { routesOf } from '../../http/route.ts';
import { line, warned } from './handlers.ts';
import { File, presentFile } from './shape.ts';

const route = routesOf('media');

const MOST_PARTS = 10_000; // as S3 counts them
const UploadName = z.strictObject({ key: z.string().max(512), uploadId: z.string().max(255) });
/** As many as parts by their addresses: each part is signed, and may be listed. */
const PARTS_LIMIT = '6000/minute';
const partNumber = z.int().min(1).max(MOST_PARTS);

/** Uploads in parts (S149), as uploader libraries ask for them. */
export const multipartRoutes = (prefix: '/files' | '/media') => {
  const common = { method: 'post', auth: ['session'], impersonation: 'allowed', permission: 'media:create' } as const;
  return [
    route({
      ...common,
      path: `${prefix}/create-multipart-upload`,
      summary: 'Create a multipart upload',
      description: 'With the `fileHash` of one that is under way it goes on with that one.',
      planLimit: 'storage_gb',
      limit: '120/hour',
      idempotent: true,
      body: z.strictObject({
        file: z.strictObject({
          name: line(255).pipe(z.string().min(1)),
          size: z.int().min(1),
          type: z.string().max(255).optional(),
        }),
        fileHash: z.string().min(1).max(255).optional(),
        contentType: z.string().max(255).optional(),
      }),
      answer: z.strictObject({ uploadId: z.string(), key: z.string(), partSize: z.int() }),
      handle: ({ rooms, principal, body: { file, fileHash, contentType }, idempotency }) =>
        rooms.media.uploads.begin(
          principal.orgId,
          principal.userId,
          { name: file.name, size: file.size, type: contentType ?? file.type, fileHash },
          keptAnswer(idempotency, 200, (begun) => begun),
        ),
      present: (begun) => begun,
    }),
    route({
      ...common,
      path: `${prefix}/sign-part`,
      summary: 'Create the upload address of a part',
      description:
        'It takes one part by PUT, for an hour. In a bucket of the instance each part but the last has `partSize` bytes.',
      limit: PARTS_LIMIT,
      body: UploadName.extend({ partNumber }),
      answer: z.strictObject({ url: z.string(), headers: z.record(z.string(), z.string()) }),
      handle: ({ rooms, principal, body: { partNumber: number, ...name } }) =>
        rooms.media.uploads.sign(principal.orgId, name, number),
      present: ({ url, headers }) => ({ url, headers: { ...headers } }),
    }),
    route({
      ...common,
      path: `${prefix}/list-parts`,
      summary: 'List the uploaded parts',
      limit: PARTS_LIMIT,
      body: UploadName,
      answer: z.array(z.strictObject({ PartNumber: z.int(), Size: z.int(), ETag: z.string() })),
      handle: ({ rooms, principal, body }) => rooms.media.uploads.parts(principal.orgId, body),
      present: (parts) => parts.map(({ number, bytes, etag }) => ({ PartNumber: number, Size: bytes, ETag: etag })),
    }),
    route({
      ...common,
      path: `${prefix}/complete-multipart-upload`,
      summary: 'Complete a multipart upload',
      description: 'Makes a file of the parts, judged by its content.',
      planLimit: 'storage_gb',
      idempotent: true,
      body: UploadName.extend({
        parts: z
          .array(
            z.strictObject({
              ETag: z.string().max(255),
              PartNumber: partNumber,
              Size: z.int().optional(), // as `list-parts` tells it
            }),
          )
          .min(1)
          .max(MOST_PARTS),
      }),
      answer: File.extend({ location: z.string() }),
      handle: async (call) =>
        warned(await call.rooms.media.uploads.complete(call.principal.orgId, call.body, call.body.parts), call),
      present: (file) => ({ ...presentFile(file), location: file.path }),
    }),
    route({
      ...common,
      path: `${prefix}/abort-multipart-upload`,
      summary: 'Abort a multipart upload',
      description: 'Parts that have arrived are deleted.',
      body: UploadName,
      answer: z.strictObject({ success: z.literal(true) }),
      async handle({ rooms, principal, body }) {
        await rooms.media.uploads.abort(principal.orgId, body);
        return { success: true as const };
      },
      present: (done) => done,
    }),
  ];
};
