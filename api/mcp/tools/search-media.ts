import { z } from 'zod';
import { FILE_KINDS, line } from '../../resources/files/handlers.ts';
import { File, presentFile } from '../../resources/files/shape.ts';
import { UNTRUSTED_OF_FILE } from '../fields.ts';
import { cursor, fitting, nextCursor, placeOf } from '../pages.ts';
import { toolsOf } from '../tool.ts';

/** The page of a cursor, and the place in it. */
const PLACE = /^([1-9]\d{0,5})\.(\d{1,2})$/;

export const searchMediaTool = toolsOf('media')({
  name: 'search_media',
  title: 'Search the media library',
  description: 'Lists files of the library, newest first, 18 a page.',
  readAt: {
    template: 'rookery://media',
    name: 'media',
    title: 'Media library',
    description: 'The files of the library, newest first.',
  },
  surfaces: ['media-mcp'],
  scope: 'mcp:read',
  permission: 'media:read',
  input: z.strictObject({
    search: z.string().max(255).optional().describe('A part of the name or of the alternative text.'),
    type: z.enum(FILE_KINDS).optional().describe('Only files of this kind.'),
    folder: line(255).optional().describe('Only files of this folder.'),
    page: z.int().min(1).max(100_000).optional().describe('The page, from 1.'),
    cursor,
  }),
  output: z.strictObject({ results: z.array(File), pages: z.int(), total: z.int(), nextCursor }),
  untrusted: UNTRUSTED_OF_FILE.map((place) => `/results/*${place}`),
  async run({ rooms, principal, input: { search, type, folder, page: wanted = 1, cursor: from } }) {
    const [page = wanted, start = 0] = placeOf(from, PLACE) ?? [];
    const found = await rooms.media.list(principal.orgId, page, {
      search: search || undefined,
      kind: type,
      folder: folder || undefined,
    });
    const { pages, total } = found;
    const rest = found.results.slice(start).map(presentFile);
    const results = rest.slice(0, fitting(rest));
    const next = results.length < rest.length ? `${page}.${start + results.length}` : `${page + 1}.0`;
    return { results, pages, total, nextCursor: results.length < rest.length || page < pages ? next : null };
  },
});
