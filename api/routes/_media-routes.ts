import { z } from 'zod';
import { FileShape, type Kept, plainLine } from '../../src/library/media/index.ts';
import { type AuthKind, type CallOf, route } from '../http/route.ts';

const KINDS = ['image', 'video', 'audio', 'document'] as const;
/** One line of text, without spaces around it. */
export const line = (max: number) => z.string().max(max).transform(plainLine);

const BRINGS = { permission: 'media:create', gate: 'storage_gb', idempotent: true } as const;
/** Says on the answer that the local storage holds more than it should (S153). */
export function warned({ file, overQuota }: Kept, { reply }: Pick<CallOf<unknown, unknown, unknown>, 'reply'>): FileShape {
  if (overQuota) reply.header('X-Storage-Warning', 'soft-quota');
  return file;
}

interface Family<Answer extends z.ZodType> {
  auth: readonly [AuthKind, ...AuthKind[]];
  paths: { upload: readonly `/${string}`[]; fromUrl: `/${string}`; library: `/${string}` };
  answer: Answer;
  present(file: FileShape): z.input<Answer>;
}
/** What the console and the public interface have in common: bringing files, the list, deleting. */
export const mediaRoutes = <Answer extends z.ZodType>({ auth, paths, answer, present }: Family<Answer>) => [
  ...paths.upload.map((path) =>
    route({
      ...BRINGS,
      method: 'post',
      path,
      summary: 'Uploads one file as multipart/form-data, in the field `file`',
      auth,
      impersonation: 'allowed',
      limit: '120/hour',
      creates: true,
      input: 'stream',
      answer,
      handle: async (call) => warned(await call.ctx.media.upload(call.principal.orgId, call.principal.userId, call.request.stream), call),
      present,
    }),
  ),
  route({
    ...BRINGS,
    method: 'post',
    path: paths.fromUrl,
    summary: 'Takes a file from a public address into the library',
    auth,
    impersonation: 'allowed',
    limit: '120/hour',
    creates: true,
    body: z.strictObject({ url: z.string().min(1).max(2_048), name: line(255).optional() }),
    answer,
    handle: async (call) => warned(await call.ctx.media.uploadFromUrl(call.principal.orgId, call.principal.userId, call.body.url, call.body.name), call),
    present,
  }),
  route({
    method: 'get',
    path: paths.library,
    summary: 'The library, newest first, 18 files a page',
    auth,
    permission: 'media:read',
    query: z.object({
      page: z.coerce.number().int().min(1).max(100_000).default(1),
      search: z.string().max(255).optional(),
      type: z.enum(KINDS).optional(),
      folder: line(255).optional(),
    }),
    answer: z.strictObject({ pages: z.int(), results: z.array(FileShape), total: z.int() }),
    handle: ({ ctx, principal, query: { page, search, type, folder } }) =>
      ctx.media.list(principal.orgId, page, { search: search || undefined, kind: type, folder: folder || undefined }),
    present: (page) => page,
  }),
  route({
    method: 'delete',
    path: `${paths.library}/:id`,
    summary: 'Deletes a file; refused while a scheduled post uses it, unless force=true',
    auth,
    impersonation: 'allowed',
    permission: 'media:delete',
    query: z.object({ force: z.enum(['true', 'false']).default('false') }),
    answer: z.strictObject({ id: z.string() }),
    async handle({ ctx, principal, params, query }) {
      await ctx.media.remove(principal.orgId, params['id']!, { force: query.force === 'true' });
      return { id: params['id']! };
    },
    present: (deleted) => deleted,
  }),
];
