import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { runSandboxed } from '../../../src/library/media/sandboxed-exec.ts';
import { openTrim } from '../../../src/library/media/transforms/trim.ts';
import { openVideoProbe } from '../../../src/library/media/video.ts';
import type { MediaRoom } from '../../../src/library/media/index.ts';
import { openVideoThumbnails } from '../../../src/library/media/video-thumbnail.ts';
import type { SignedUp, TestApp } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type FilmTools, filmTools } from '../../support/peers/films.ts';
import { BACKEND, mediaApp } from '../../support/worlds/media.ts';
import { describePeer, type Found } from '../../support/peers/peers.ts';
import { formOf, HEADS } from '../../support/worlds/samples.ts';

// With the real ffprobe; without it a film is taken as it is (the tests of uploads).

let db: TestDatabase;
let app: TestApp;
let folder: string;
let tools: FilmTools;
let ann: SignedUp;
const path = process.env['PATH']!;
let media: MediaRoom;

const find = async (): Promise<Found> => {
  tools = await filmTools();
  return { start: () => Promise.reject(new Error('They are commands, and no server')) };
};
await describePeer('film', find, () => {
  beforeAll(async () => {
    db = await testDatabase();
    folder = await mkdtemp(join(tmpdir(), 'rookery-films-'));
    process.env['PATH'] = [dirname(tools.ffprobe), dirname(tools.ffmpeg), path].join(delimiter);
    app = await mediaApp({ sql: db.sql, folder: join(folder, 'uploads'), env: { MEDIA_UPLOAD_MAX_BYTES: '10000000' } });
    ({ media } = app.context);
    ann = await app.signUp();
  });
  afterAll(async () => {
    process.env['PATH'] = path;
    await app?.[Symbol.asyncDispose]();
    await db?.[Symbol.asyncDispose]();
    if (folder) await rm(folder, { recursive: true });
  });

  const upload = async (bytes: Uint8Array) =>
    (await ann.client.post('/files/upload-server', formOf(bytes, { name: 'x.bin' }))).body;
  const small = async (address: string) =>
    Buffer.from(await (await fetch(app.address + new URL(address).pathname)).arrayBuffer());
  const codecs = async (id: string) => (await db.sql`select codecs from files where id = ${id}`)[0]!['codecs'];
  const PICTURE = ['-f', 'lavfi', '-i', 'testsrc=size=320x240:rate=10:duration=2'];
  const SOUND = ['-f', 'lavfi', '-i', 'sine=frequency=440:duration=3'];

  describe('a film or sound', () => {
    test.each([
      [
        'film.mp4',
        [...PICTURE, ...SOUND, '-c:v', 'libx264', '-c:a', 'aac', '-shortest'],
        { mime: 'video/mp4', width: 320, height: 240 },
        2_000,
        ['h264', 'aac'],
      ],
      ['film.webm', [...PICTURE, '-c:v', 'libvpx'], { mime: 'video/webm', width: 320, height: 240 }, 2_000, ['vp8']],
      [
        'film.mov',
        [...PICTURE, '-c:v', 'mpeg4'],
        { mime: 'video/quicktime', width: 320, height: 240 },
        2_000,
        ['mpeg4'],
      ],
      ['sound.mp3', SOUND, { mime: 'audio/mpeg', width: null, height: null }, 3_000, ['mp3']],
      ['sound.wav', SOUND, { mime: 'audio/wav', width: null, height: null }, 3_000, ['pcm_s16le']],
      [
        'sound.ogg',
        [...SOUND, '-c:a', 'libvorbis'],
        { mime: 'audio/ogg', width: null, height: null },
        3_000,
        ['vorbis'],
      ],
    ] as const)(
      '%s has its duration, size and codecs [S146, S147]',
      async (name, words, shape, durationMs, expected) => {
        const file = await upload(await readFile(await tools.make(join(folder, name), ...words)));
        expect(file).toMatchObject(shape);
        expect(Math.abs(file.durationMs - durationMs)).toBeLessThan(200);
        expect(await codecs(file.id)).toEqual(expected);
      },
    );

    test('a film held upright is as wide and high as it is shown [S146]', async () => {
      const flat = await tools.make(join(folder, 'flat.mp4'), ...PICTURE, '-c:v', 'libx264');
      const turned = await tools.make(
        join(folder, 'turned.mp4'),
        '-i',
        flat,
        '-c',
        'copy',
        '-metadata:s:v:0',
        'rotate=90',
      );
      expect(await upload(await readFile(turned))).toMatchObject({ width: 240, height: 320 });
    });

    test('a film uploaded in parts has its duration, size and codecs, too [S149]', async () => {
      const bytes = await readFile(await tools.make(join(folder, 'parts.mp4'), ...PICTURE, '-c:v', 'libx264'));
      const { body: name } = await ann.client.post('/files/create-multipart-upload', {
        file: { name: 'a.mp4', size: bytes.length },
      });
      const { body: signed } = await ann.client.post('/files/sign-part', {
        uploadId: name.uploadId,
        key: name.key,
        partNumber: 1,
      });
      const etag = (await fetch(signed.url.replace(BACKEND, app.address), { method: 'PUT', body: bytes })).headers.get(
        'etag',
      );
      const done = await ann.client.post('/files/complete-multipart-upload', {
        uploadId: name.uploadId,
        key: name.key,
        parts: [{ PartNumber: 1, ETag: etag }],
      });
      expect(done.body).toMatchObject({ width: 320, height: 240, durationMs: 2_000 });
    });

    test('a film has one of its frames as upright thumbnail; a file without pictures has none [S146]', async () => {
      const red = await tools.make(
        join(folder, 'red.mp4'),
        '-f',
        'lavfi',
        '-i',
        'color=c=red:size=960x540:rate=10:duration=3',
        '-c:v',
        'libx264',
      );
      const turned = await tools.make(
        join(folder, 'upright.mp4'),
        '-i',
        red,
        '-c',
        'copy',
        '-metadata:s:v:0',
        'rotate=90',
      );
      const { thumbnail } = await upload(await readFile(turned));
      const { data, info } = await sharp(await small(thumbnail))
        .raw()
        .toBuffer({ resolveWithObject: true });
      expect([info.width, info.height, data[0]! > 200, data[1]! < 60]).toEqual([225, 400, true, true]);
      const tiny = await tools.make(
        join(folder, 'tiny.webm'),
        '-f',
        'lavfi',
        '-i',
        'testsrc=size=64x48:rate=5:duration=1',
        '-c:v',
        'libvpx',
      );
      expect(await sharp(await small((await upload(await readFile(tiny))).thumbnail)).metadata()).toMatchObject({
        width: 64,
        height: 48,
        format: 'webp',
      });
      expect(
        (await upload(await readFile(await tools.make(join(folder, 'plain.mp3'), ...SOUND)))).thumbnail,
      ).toBeNull();
      expect((await upload(HEADS['mp4']!)).thumbnail).toBeNull();
    });

    test('a film uploaded in parts has a thumbnail, which is deleted with it [S149, RT9]', async () => {
      const bytes = await readFile(await tools.make(join(folder, 'drawn.mp4'), ...PICTURE, '-c:v', 'libx264'));
      const { body: name } = await ann.client.post('/files/create-multipart-upload', {
        file: { name: 'a.mp4', size: bytes.length },
      });
      const { body: signed } = await ann.client.post('/files/sign-part', {
        uploadId: name.uploadId,
        key: name.key,
        partNumber: 1,
      });
      const etag = (await fetch(signed.url.replace(BACKEND, app.address), { method: 'PUT', body: bytes })).headers.get(
        'etag',
      );
      const parts = [{ PartNumber: 1, ETag: etag }];
      const { body: file } = await ann.client.post('/files/complete-multipart-upload', {
        uploadId: name.uploadId,
        key: name.key,
        parts,
      });
      expect(await sharp(await small(file.thumbnail)).metadata()).toMatchObject({ width: 320, height: 240 });
      await ann.client.delete(`/files/${file.id}`);
      await db.sql`update files set deleted_at = now() - interval '31 days' where id = ${file.id}`;
      await media.sweep(100);
      expect((await fetch(app.address + new URL(file.thumbnail).pathname)).status).toBe(404);
    });

    test('a broken film is kept without them [S147]', async () => {
      expect(await upload(HEADS['mp4']!)).toMatchObject({
        mime: 'video/mp4',
        width: null,
        height: null,
        durationMs: null,
      });
    });
  });

  describe('POST /files/:id/transform', () => {
    let worker: AsyncDisposable;
    beforeAll(() => void (worker = media.transforms.start()));
    afterAll(async () => {
      await worker?.[Symbol.asyncDispose]();
    });
    const ended = async (id: string, params: object) => {
      const { body } = await ann.client.post(`/files/${id}/transform`, { operation: 'trim', params });
      const job = async () => (await ann.client.get(`/files/jobs/${body.id}`)).body;
      await eventually('the job has ended', async () => (await job()).endedAt !== null);
      return job();
    };

    test.each([
      ['film.mp4', [...PICTURE, '-c:v', 'libx264', '-g', '10'], 'video/mp4', 320],
      ['film.webm', [...PICTURE, '-c:v', 'libvpx', '-g', '10'], 'video/webm', 320],
      ['film.mov', [...PICTURE, '-c:v', 'mpeg4', '-g', '10'], 'video/quicktime', 320],
      ['sound.mp3', SOUND, 'audio/mpeg', null],
      ['sound.wav', SOUND, 'audio/wav', null],
      ['sound.ogg', [...SOUND, '-c:a', 'libvorbis'], 'audio/ogg', null],
      ['sound.m4a', [...SOUND, '-c:a', 'aac'], 'audio/mp4', null],
    ] as const)('trims %s at a key frame, without encoding it anew', async (name, words, mime, width) => {
      const original = await upload(await readFile(await tools.make(join(folder, `whole-${name}`), ...words)));
      const { state, result, error } = await ended(original.id, { from: 1, to: 1.5 });
      expect([state, error]).toEqual(['done', null]);
      const { body: file } = await ann.client.get(`/files/${result[0].id}`);
      expect(file).toMatchObject({ mime, width, name: original.name });
      expect(Math.abs(file.durationMs - 500)).toBeLessThan(300); // pictures that follow others are kept with them
      expect(await codecs(file.id)).toEqual(await codecs(original.id));
      expect((await ann.client.get(`/files/${original.id}`)).body).toEqual(original);
    });

    test('a trim from behind the end is 400; one of a broken film fails', async () => {
      const whole = await upload(await readFile(await tools.make(join(folder, 'end.mp4'), ...PICTURE)));
      const late = await ann.client.post(`/files/${whole.id}/transform`, {
        operation: 'trim',
        params: { from: 2, to: 3 },
      });
      expect([late.status, late.body.errors[0].field]).toEqual([400, 'params.from']);
      const broken = await upload(HEADS['mp4']!);
      expect(await ended(broken.id, { to: 1 })).toMatchObject({ state: 'failed', result: null });
    });
  });

  describe('the ffmpeg commands', () => {
    test('a command reads no other file and no address that a file names [X1, X4]', async () => {
      let asked = 0;
      const server = createServer((_, response) => {
        asked += 1;
        response.end('#EXTM3U');
      }).listen(0, '127.0.0.1');
      await new Promise((ready) => server.once('listening', ready));
      const { port } = server.address() as AddressInfo;
      const whole = await tools.make(join(folder, 'secret.mp4'), ...PICTURE, '-c:v', 'libx264');
      const [probe, draw] = [(await openVideoProbe(tools.ffprobe))!, (await openVideoThumbnails(tools.ffmpeg))!];
      expect(await probe(whole)).toMatchObject({ width: 320 });
      expect((await draw(whole, 2_000))!.length).toBeGreaterThan(1_000);
      const trim = (await openTrim(tools.ffmpeg))!;
      const cut = (source: string) => {
        const video = { path: source, bytes: 1_000_000, container: 'mp4' };
        return trim(video, { from: 0, to: 1 }, join(folder, `cut-${randomUUID()}`));
      };
      expect(await cut(whole)).toBe(true);
      const lists = {
        'list.m3u8': `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nhttp://127.0.0.1:${port}/a.ts\n#EXT-X-ENDLIST\n`,
        'local.m3u8': `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://${whole}\n#EXT-X-ENDLIST\n`,
        'list.ffconcat': `ffconcat version 1.0\nfile '${whole}'\n`,
        'list.sdp': `v=0\no=- 0 0 IN IP4 127.0.0.1\ns=x\nc=IN IP4 127.0.0.1\nt=0 0\nm=video ${port} RTP/AVP 96\na=rtpmap:96 H264/90000\n`,
      };
      for (const [name, text] of Object.entries(lists)) {
        await writeFile(join(folder, name), text);
        expect([name, await cut(join(folder, name))]).toEqual([name, false]);
        expect([name, await probe(join(folder, name)), await draw(join(folder, name), 2_000)]).toEqual([
          name,
          undefined,
          undefined,
        ]);
        expect([
          name,
          (
            await ann.client.post(
              '/files/upload-server',
              formOf(Buffer.from(text), { name: 'a.mp4', type: 'video/mp4' }),
            )
          ).status,
        ]).toEqual([name, 415]);
      }
      expect(asked).toBe(0);
      await new Promise((closed) => server.close(closed));
    });

    test('uploads work without the commands', async () => {
      expect([
        await openVideoProbe(join(folder, 'no-such-command')),
        await openVideoThumbnails(join(folder, 'no-such-command')),
      ]).toEqual([undefined, undefined]);
    });

    test('a command has limits of memory, time and files, and none of the environment of the service [X4]', async () => {
      const limits = async (words: string) =>
        (await runSandboxed('sh', ['-c', words])).toString().split('\n').slice(0, -1);
      expect(await limits('ulimit -d; ulimit -f; ulimit -t')).toEqual(['1048576', '0', '15']);
      expect((await limits('env')).filter((line) => !/^(PATH|PWD|SHLVL|_|OLDPWD)=/.test(line))).toEqual([]);
      await expect(runSandboxed('sh', ['-c', `echo x > '${join(folder, 'written')}'`])).rejects.toThrow();
      const write = (bytes: number) => `head -c ${bytes} /dev/zero > '${join(folder, 'written')}'`;
      await runSandboxed('sh', ['-c', write(1_000)], { writes: 1_024 });
      await expect(runSandboxed('sh', ['-c', write(10_000)], { writes: 1_024 })).rejects.toThrow();
    });
  });
});
