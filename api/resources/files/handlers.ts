import { z } from 'zod';
import { type AddedFile, type LibraryFile, type MediaRoom, plainLine } from '../../../src/library/media/index.ts';
import { keptAnswer } from '../../http/idempotency.ts';
import { ownOnly } from '../../http/own.ts';
import { type AuthKind, type Call, routesOf } from '../../http/route.ts';
import { File, presentFile, presentPublicFile, PublicFile } from './shape.ts';

const route = routesOf('media');

export const FILE_KINDS = ['image', 'video', 'audio', 'document'] as const;
/** One line of text, without spaces around it. */
export const line = (max: number) => z.string().max(max).transform(plainLine);

const BRINGS = { permission: 'media:create', planLimit: 'storage_gb', idempotent: true } as const;
/** Says on the answer that the local storage holds more than it should (S153). */
export function warned({ file, overQuota }: AddedFile, { reply }: Pick<Call<never>, 'reply'>): LibraryFile {
  if (overQuota) reply.header('X-Storage-Warning', 'soft-quota');
  return file;
}

/** The form in which a dialect answers files, and who may ask. */
interface Dialect<Answer extends z.ZodType> {
  auth: readonly [AuthKind, ...AuthKind[]];
  answer: Answer;
  present(file: LibraryFile): z.input<Answer>;
}
const consoleFiles: Dialect<typeof File> = { auth: ['session'], answer: File, present: presentFile };
export const publicFiles: Dialect<typeof PublicFile> = {
  auth: ['api-key', 'oauth'],
  answer: PublicFile,
  present: presentPublicFile,
};

export const uploadRoute = <Answer extends z.ZodType>(path: `/${string}`, dialect: Dialect<Answer>) =>
  route({
    ...BRINGS,
    ...dialect,
    method: 'post',
    path,
    summary: 'Upload a file',
    description: 'As multipart/form-data, in the field `file`.',
    impersonation: 'allowed',
    limit: '120/hour',
    creates: true,
    input: 'stream',
    async handle(call) {
      const { orgId, userId } = call.principal;
      const kept = keptAnswer(call.idempotency, 201, dialect.present);
      return warned(await call.rooms.media.upload(orgId, userId, call.request.stream, kept), call);
    },
  });

export const uploadFromUrlRoute = <Answer extends z.ZodType>(path: `/${string}`, dialect: Dialect<Answer>) =>
  route({
    ...BRINGS,
    ...dialect,
    method: 'post',
    path,
    summary: 'Upload a file from a public address',
    impersonation: 'allowed',
    limit: '120/hour',
    creates: true,
    body: z.strictObject({ url: z.string().min(1).max(2_048), name: line(255).optional() }),
    async handle(call) {
      const { orgId, userId } = call.principal;
      const kept = keptAnswer(call.idempotency, 201, dialect.present);
      return warned(await call.rooms.media.uploadFromUrl(orgId, userId, call.body, kept), call);
    },
  });

/** The list, and deleting from it. */
export const libraryRoutes = (path: `/${string}`, auth: readonly [AuthKind, ...AuthKind[]]) => [
  route({
    method: 'get',
    path,
    summary: 'List files of the library',
    description: 'Newest first, 18 a page.',
    auth,
    permission: 'media:read',
    query: z.object({
      page: z.coerce.number().int().min(1).max(100_000).default(1),
      search: z.string().max(255).optional(),
      type: z.enum(FILE_KINDS).optional(),
      folder: line(255).optional(),
    }),
    answer: z.strictObject({ pages: z.int(), results: z.array(File), total: z.int() }),
    revision: () => '',
    handle: ({ rooms, principal, query: { page, search, type, folder } }) =>
      rooms.media.list(principal.orgId, page, { search: search || undefined, kind: type, folder: folder || undefined }),
    present: ({ results, ...page }) => ({ ...page, results: results.map(presentFile) }),
  }),
  route({
    method: 'delete',
    path: `${path}/:id`,
    summary: 'Delete a file',
    description: 'Refused while a scheduled post uses it, unless `force=true`.',
    auth,
    impersonation: 'allowed',
    permission: 'media:delete',
    query: z.object({ force: z.enum(['true', 'false']).default('false') }),
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, principal, params, query }) {
      await rooms.media.remove(principal.orgId, params.id, { force: query.force === 'true' });
      return { id: params.id };
    },
    present: (deleted) => deleted,
  }),
];

type Details = Parameters<MediaRoom['describe']>[2];
/** Changes details of a file; an empty folder is none. */
export async function describeFile(
  { rooms, principal }: Pick<Call<'media'>, 'rooms' | 'principal'>,
  { id, folder, ...details }: { id: string; folder?: string | null | undefined } & Omit<Details, 'folder'>,
): Promise<LibraryFile> {
  await ownOnly(principal, () => rooms.media.authorOf(principal.orgId, id));
  return rooms.media.describe(principal.orgId, id, {
    ...details,
    ...(folder !== undefined && { folder: folder || null }),
  });
}

/** `/files/*` and `/media/*` are the same routes (S146). */
export const fileRoutes = (prefix: '/files' | '/media') => [
  uploadRoute(`${prefix}/upload-server`, consoleFiles),
  uploadRoute(`${prefix}/upload-simple`, consoleFiles),
  uploadFromUrlRoute(`${prefix}/upload-from-url`, consoleFiles),
  ...libraryRoutes(prefix, ['session']),
  route({
    method: 'post',
    path: `${prefix}/save-media`,
    summary: 'Add an uploaded file to the library',
    description: 'One that was uploaded with `preventSave`.',
    auth: ['session'],
    impersonation: 'allowed',
    permission: 'media:create',
    body: z.strictObject({
      name: z.string().min(1).max(2_048),
      originalName: line(255).pipe(z.string().min(1)).optional(),
    }),
    answer: File,
    handle: ({ rooms, principal, body: { name, originalName } }) =>
      rooms.media.saveUploaded(principal.orgId, name, originalName),
    present: presentFile,
  }),
  route({
    method: 'post',
    path: `${prefix}/information`,
    summary: 'Change the details of a file',
    description: 'Name, alternative text, folder and thumbnail.',
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
    answer: File,
    handle: (call) => describeFile(call, call.body),
    present: presentFile,
  }),
  route({
    method: 'get',
    path: `${prefix}/:id`,
    summary: 'Get a file',
    auth: ['session'],
    permission: 'media:read',
    answer: File,
    handle: ({ rooms, principal, params }) => rooms.media.get(principal.orgId, params.id),
    present: presentFile,
  }),
];
