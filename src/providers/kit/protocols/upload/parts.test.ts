import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { type Receiver, startReceiver } from '../../../../../test/support/wire/receiver.ts';
import { systemClock } from '../../../../platform/kernel/index.ts';
import { openOutbound, type Outbound } from '../../../../platform/outbound/index.ts';
import { openHttp } from '../../wire/open-http.ts';
import { type PartsProtocol, uploadParts, uploadWhole } from './parts.ts';

const BYTES = Buffer.from(Array.from({ length: 100_000 }, (_, n) => (n * 7) % 256));
const PART = 30_000;
let outbound: Outbound;
let server: Receiver;
beforeAll(() => void (outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] })));
afterAll(async () => await outbound[Symbol.asyncDispose]());
beforeEach(async () => void (server = await startReceiver()));
afterEach(async () => await server[Symbol.asyncDispose]());

function instance() {
  const waits: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void waits.push(ms) };
  const http = openHttp({ manifest: { title: 'Demo', api: server.url }, outbound, clock, values: {}, secrets: [] });
  const file = {
    name: 'a.mp4',
    contentType: 'video/mp4',
    size: BYTES.length,
    async *read(from: number, to: number) {
      for (let at = from; at < to; at += 9_000) yield BYTES.subarray(at, Math.min(at + 9_000, to));
    },
  };
  return { line: { http, clock, timeoutMs: 20_000 }, file, waits };
}
type Line = ReturnType<typeof instance>['line'];
const Begun = z.object({ id: z.string() });
/** Parts with marks: each is one PUT, answered by its ETag. */
const etags = ({ http }: Line): PartsProtocol<{ id: string }> => ({
  partBytes: PART,
  begin: () => http.post('/begin', Begun),
  handle: Begun,
  send: ({ id }, { index, body }) => ({ method: 'put', path: `/${id}/${index}`, bytes: body, replyHeaders: ['etag'] }),
  mark: z.object({ headers: z.object({ etag: z.string() }) }).transform(({ headers }) => headers.etag),
});
/** Parts without marks: each is a form with its number. */
const segments = ({ http }: Line): PartsProtocol<{ id: string }> => ({
  ...etags({ http } as Line),
  send: ({ id }, { index, body }) => ({
    method: 'post',
    path: `/${id}/${index}`,
    multipart: { segment_index: String(index), media: { ...body, name: 'media' } },
  }),
  mark: z.unknown().transform(() => ''),
});
/** Answers `begin` with a new id each time, and the parts as told; cuts the line at the requests in `cuts`. */
function play(cuts: readonly number[] = [], gone: readonly string[] = []) {
  let begun = 0;
  server.answer = (response, { path, headers }) => {
    if (cuts.includes(server.ledger.length)) return void response.destroy();
    if (path === '/begin') return void response.end(JSON.stringify({ id: `upload-${(begun += 1)}` }));
    if (gone.some((id) => path.startsWith(`/${id}/`))) return void response.writeHead(404).end();
    response.writeHead(headers['content-type'] === 'video/mp4' ? 200 : 204, { etag: `"${path}"` }).end();
  };
}
const store = (saved?: unknown) => {
  const kept = { saved, save: async (handle: unknown) => void (kept.saved = JSON.parse(JSON.stringify(handle))) };
  return kept;
};
const paths = () => server.ledger.map(({ path }) => path);
const stored = (id: string) =>
  Buffer.concat([
    ...new Map(
      server.ledger.filter(({ path }) => path.startsWith(`/${id}/`)).map((one) => [one.path, one.body]),
    ).values(),
  ]);

describe('uploadParts', () => {
  test('sends the parts in order and collects their marks', async () => {
    play();
    const { line, file } = instance();
    expect(await uploadParts(line, etags(line), file, store())).toEqual({
      upload: { id: 'upload-1' },
      marks: [0, 1, 2, 3].map((part) => `"/upload-1/${part}"`),
      complete: true,
    });
    expect(stored('upload-1').equals(BYTES)).toBe(true);
  });

  test('sends forms that hold the bytes of each part', async () => {
    play();
    const { line, file } = instance();
    expect(await uploadParts(line, segments(line), file, store())).toMatchObject({ complete: true });
    const pieces = await Promise.all(
      server.ledger.slice(1).map(async ({ body, headers }) => {
        const type = { headers: { 'content-type': headers['content-type']! } };
        const form = await new Response(new Uint8Array(body), type).formData();
        return [form.get('segment_index'), Buffer.from(await (form.get('media') as File).arrayBuffer())] as const;
      }),
    );
    expect(pieces.map(([index]) => index)).toEqual(['0', '1', '2', '3']);
    expect(Buffer.concat(pieces.map(([, bytes]) => bytes)).equals(BYTES)).toBe(true);
  });

  test('sends only the part again whose answer was lost', async () => {
    play([3]);
    const { line, file } = instance();
    await uploadParts(line, etags(line), file, store());
    expect(paths()).toEqual(['/begin', ...[0, 1, 1, 2, 3].map((part) => `/upload-1/${part}`)]);
    expect(stored('upload-1').equals(BYTES)).toBe(true);
  });

  test('goes on in another process with the next part', async () => {
    play();
    const kept = store();
    const first = instance();
    expect(await uploadParts(first.line, etags(first.line), first.file, { ...kept, parts: 2 })).toMatchObject({
      complete: false,
    });
    const { line, file } = instance();
    expect(await uploadParts(line, etags(line), file, store(kept.saved))).toMatchObject({ complete: true });
    expect(paths()).toEqual(['/begin', ...[0, 1, 2, 3].map((part) => `/upload-1/${part}`)]);
  });

  test('begins anew when the server lost the upload, and not for ever', async () => {
    play([], ['upload-1']);
    const { line, file } = instance();
    expect(await uploadParts(line, etags(line), file, store())).toMatchObject({ upload: { id: 'upload-2' } });
    expect(stored('upload-2').equals(BYTES)).toBe(true);
    play([], ['upload-1', 'upload-2', 'upload-3']);
    server.ledger.splice(0);
    await expect(uploadParts(line, etags(line), file, store())).rejects.toMatchObject({ failure: 'unavailable' });
    expect(paths().filter((path) => path === '/begin')).toHaveLength(3);
  });

  test('tells the failure of a server that never answers a part', async () => {
    play([2, 3, 4, 5, 6, 7]);
    const { line, file, waits } = instance();
    await expect(uploadParts(line, etags(line), file, store())).rejects.toMatchObject({ failure: 'unavailable' });
    expect(waits).toHaveLength(3);
  });
});

describe('uploadWhole', () => {
  const Answer = z.unknown();
  test('posts a form whose last field is the file, again after a fault', async () => {
    play([1]);
    const { line, file } = instance();
    const form = { method: 'post', path: '/bucket', fields: { key: 'a/b', policy: 'p' }, field: 'file' } as const;
    await uploadWhole(line, form, file, Answer);
    expect(server.ledger).toHaveLength(2);
    const { body, headers } = server.ledger[1]!;
    const type = { headers: { 'content-type': headers['content-type']! } };
    const fields = await new Response(new Uint8Array(body), type).formData();
    expect([...fields.keys()]).toEqual(['key', 'policy', 'file']);
    expect(Buffer.from(await (fields.get('file') as File).arrayBuffer()).equals(BYTES)).toBe(true);
  });

  test('puts the file as the whole body', async () => {
    play();
    const { line, file } = instance();
    await uploadWhole(line, { method: 'put', path: '/key', headers: { 'x-amz-acl': 'private' } }, file, Answer);
    expect(server.ledger[0]).toMatchObject({ method: 'PUT', path: '/key' });
    expect(server.ledger[0]!.headers).toMatchObject({ 'content-type': 'video/mp4', 'x-amz-acl': 'private' });
    expect(server.ledger[0]!.body.equals(BYTES)).toBe(true);
  });

  test('throws the refusal of an address that is not good any more', async () => {
    server.answer = (response) => void response.writeHead(404).end();
    const { line, file } = instance();
    const put = uploadWhole(line, { method: 'put', path: '/key' }, file, Answer);
    await expect(put).rejects.toMatchObject({ failure: 'rejected' });
    expect(server.ledger).toHaveLength(1);
  });
});
