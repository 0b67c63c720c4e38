import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { z } from 'zod';
import { notFound } from '../../../src/platform/kernel/index.ts';
import { namesTag } from '../../http/etag.ts';
import { routesOf } from '../../http/route.ts';

const route = routesOf('media');

/** The one range of a `Range` header; `whole` where there is none, or one that may be ignored (RFC 9110 14.2). */
function rangeOf(header: string | undefined, size: number): { start: number; end: number } | 'whole' | 'outside' {
  const match = /^bytes=(\d*)-(\d*)$/.exec(header?.trim() ?? '');
  if (!match || (match[1] === '' && match[2] === '')) return 'whole';
  const [first, last] = [match[1]!, match[2]!];
  const start = first === '' ? Math.max(size - Number(last), 0) : Number(first);
  const end = first === '' || last === '' ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== '' && last !== '' && Number(last) < Number(first)) return 'whole';
  return start >= size || (first === '' && Number(last) === 0) ? 'outside' : { start, end };
}

/** Says whether the client has the answer already; a tag counts more than a date (RFC 9110 13.2.2). */
function isKnown(
  { 'if-none-match': tags, 'if-modified-since': since }: IncomingHttpHeaders,
  etag: string,
  modified: Date,
): boolean {
  if (tags !== undefined) return namesTag(tags, etag);
  return since !== undefined && Math.floor(modified.getTime() / 1_000) * 1_000 <= Date.parse(since);
}

export default [
  route({
    method: 'get',
    path: '/uploads/:folder/:file',
    summary: 'Download a stored file',
    description:
      'By its unguessable name; where another storage holds it, a redirect to its address there, or with redirect=no its bytes.',
    auth: ['none'],
    limit: '6000/minute', // a library shows many at once
    output: 'bytes',
    query: z.object({ redirect: z.string().max(255).optional() }),
    answer: z.custom<Readable | string>(),
    async handle({ rooms, params, query, request, reply }) {
      const stored = await rooms.media.serve(`${params.folder}/${params.file}`, { redirect: query.redirect !== 'no' });
      if (!stored) throw notFound();
      if ('url' in stored) {
        reply.status(302);
        reply.header('Location', stored.url);
        reply.header('Cache-Control', 'private, max-age=300'); // the address is signed for longer than that
        return '';
      }
      const { size, etag, modified, mime, inline } = stored;
      const headers = {
        'Content-Type': mime,
        'X-Content-Type-Options': 'nosniff',
        'Content-Security-Policy': "default-src 'none'; sandbox",
        'Content-Disposition': inline ? 'inline' : `attachment; filename="${params.file}"`,
        'Cross-Origin-Resource-Policy': 'cross-origin',
        'Cache-Control': 'public, max-age=300', // the content never changes, but the file may be deleted
        'Accept-Ranges': 'bytes',
        ETag: etag,
        'Last-Modified': modified.toUTCString(),
      };
      for (const [name, value] of Object.entries(headers)) reply.header(name, value);
      const empty = async (status: number) => {
        await stored[Symbol.asyncDispose]();
        reply.status(status);
        return '';
      };
      if (isKnown(request.headers, etag, modified)) return empty(304);
      const conditional = request.headers['if-range'];
      const range =
        conditional === undefined || conditional === etag ? rangeOf(request.headers['range'], size) : 'whole';
      if (range === 'outside') {
        reply.header('Content-Range', `bytes */${size}`);
        return empty(416);
      }
      if (range === 'whole') {
        reply.header('Content-Length', String(size));
        return stored.read();
      }
      reply.status(206);
      reply.header('Content-Range', `bytes ${range.start}-${range.end}/${size}`);
      reply.header('Content-Length', String(range.end - range.start + 1));
      return stored.read(range);
    },
    present: (body) => body,
  }),
  route({
    method: 'put',
    path: '/uploads/:folder/:file',
    summary: 'Upload one part of a file',
    description: 'At the address that sign-part has given.',
    auth: ['none'],
    limit: '6000/minute', // a large file has thousands
    input: 'stream',
    output: 'text',
    query: z.object({
      expires: z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER),
      signature: z.string().max(255),
    }),
    answer: z.string(),
    async handle({ rooms, params, query, request, reply }) {
      const part = { uploadId: params.folder, number: Number(params.file), ...query };
      reply.header('ETag', `"${await rooms.media.uploads.takePart(part, request.stream)}"`);
      return '';
    },
    present: (text) => text,
  }),
];
