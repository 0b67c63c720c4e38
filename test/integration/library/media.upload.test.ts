// oxlint-disable max-lines -- uploads whole, slow, broken and from an address, over one library
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { crc32, deflateSync } from 'node:zlib';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type Client, type SignedUp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { mediaApp } from '../../support/worlds/media.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';

const MAX = 2_000_000;
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let folder: string;
let ann: SignedUp;
let ben: SignedUp;
let key: Client & { key: string };

const incoming = () => readdir(join(folder, '.incoming'));
const stored = async () =>
  (await readdir(folder, { recursive: true })).filter(
    (name) => /\.[a-z0-9]+$/.test(name) && !name.startsWith('.incoming'),
  );

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'rookery-media-'));
  app = await mediaApp({ sql: db.sql, folder, env: { MEDIA_UPLOAD_MAX_BYTES: String(MAX) } });
  [ann, ben] = [await app.signUp(), await app.signUp()];
  key = await ann.withKey();
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  if (folder) await rm(folder, { recursive: true });
});

describe('upload routes', () => {
  test('a picture answers the File object and can be fetched at its path [S146, S147, S259]', async () => {
    const bytes = await picture(640, 480);
    const { status, body } = await ann.client.post(
      '/files/upload-server',
      formOf(bytes, { name: 'C:\\holiday\\Beach \u202egnp.png', more: { folder: 'summer' } }),
    );
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.any(String),
      name: 'Beach gnp.png',
      originalName: 'Beach gnp.png',
      path: expect.stringMatching(/^https:\/\/api\.example\/uploads\/[0-9a-f-]{36}\/[0-9A-Za-z]{32}\.png$/),
      thumbnail: expect.stringMatching(/^https:\/\/api\.example\/uploads\/.*\.webp$/),
      alt: '',
      type: 'image',
      mime: 'image/png',
      size: bytes.length,
      width: 640,
      height: 480,
      durationMs: null,
      folder: 'summer',
      organizationId: ann.orgId,
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const path = new URL(body.path).pathname;
    const served = await fetch(app.address + path);
    expect(Buffer.from(await served.arrayBuffer())).toEqual(bytes);
    expect(await incoming()).toEqual([]);
  });

  test('the public API answers the nine keys, whatever name and type the client sends [T9, S147]', async () => {
    for (const [name, type] of [
      ['png', 'image/*'],
      ['film.mp4', 'video/mp4'],
      ['..', 'text/html'],
    ] as const) {
      const { status, body } = await key.post('/public/v1/upload', formOf(await picture(10, 10), { name, type }));
      expect(status).toBe(201);
      expect(Object.keys(body).toSorted()).toEqual([
        'alt',
        'createdAt',
        'id',
        'name',
        'organizationId',
        'originalName',
        'path',
        'thumbnail',
        'updatedAt',
      ]);
      expect(body.path).toMatch(/\.png$/);
    }
  });

  test.each(Object.keys(HEADS))('a file of %s is recognized by its content [T9, S147]', async (extension) => {
    const { status, body } = await ann.client.post(
      '/media/upload-simple',
      formOf(HEADS[extension]!, { name: 'thing.txt', type: 'text/plain' }),
    );
    expect(status).toBe(201);
    expect(body.path.endsWith(`.${extension}`)).toBe(true);
  });

  test.each(['jpeg', 'webp', 'gif', 'avif', 'tiff'] as const)('a %s picture has its size [S147]', async (format) => {
    const { body } = await ann.client.post('/files/upload-simple', formOf(await picture(33, 21, format)));
    expect([body.mime, body.width, body.height]).toEqual([`image/${format}`, 33, 21]);
  });

  const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>';
  const hostile: [string, string | Buffer][] = [
    ['SVG', svg],
    ['SVG behind an XML head', `<?xml version="1.0"?>${svg}`],
    ['HTML', '<!doctype html><script>alert(1)</script>'],
    ['HTML without a head', '<h1>hi</h1>'],
    ['script', 'alert(document.domain)'],
    ['an executable', Buffer.from('7f454c46020101000000000000000000', 'hex')],
    ['an archive', Buffer.from('504b0304140000000000', 'hex')],
    ['a picture cut off', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['NULs', Buffer.alloc(512)],
  ];
  test.each(hostile)('a file of %s named .png is 415, and nothing is kept [X4, S147]', async (_, content) => {
    const before = await stored();
    const { status, body } = await ann.client.post(
      '/files/upload-server',
      formOf(Buffer.from(content as string), { name: 'nice.png', type: 'image/png' }),
    );
    expect([status, body.code]).toEqual([415, 'unsupported_media']);
    expect(await stored()).toEqual(before);
    expect(await incoming()).toEqual([]);
  });

  test('a file that is both picture and page is served as a picture that no browser runs [X4, S152]', async () => {
    const gif = Buffer.concat([await picture(2, 2, 'gif'), Buffer.from('<script>alert(1)</script>')]);
    const { body } = await ann.client.post(
      '/files/upload-server',
      formOf(gif, { name: 'page.html', type: 'text/html' }),
    );
    const served = await fetch(app.address + new URL(body.path).pathname);
    expect(served.headers.get('content-type')).toBe('image/gif');
    expect(served.headers.get('x-content-type-options')).toBe('nosniff');
    expect(served.headers.get('content-security-policy')).toContain('sandbox');
  });

  test('a small file that unpacks to a huge picture is refused [X4]', async () => {
    const chunk = (type: string, data: Buffer) => {
      const body = Buffer.concat([Buffer.from(type), data]);
      const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
      length.writeUInt32BE(data.length);
      sum.writeUInt32BE(crc32(body));
      return Buffer.concat([length, body, sum]);
    };
    const head = Buffer.alloc(13);
    head.writeUInt32BE(30_000, 0);
    head.writeUInt32BE(30_000, 4);
    head.set([8, 0, 0, 0, 0], 8);
    const bomb = Buffer.concat([
      Buffer.from('89504e470d0a1a0a', 'hex'),
      chunk('IHDR', head),
      chunk('IDAT', deflateSync(Buffer.alloc(1_000))),
      chunk('IEND', Buffer.alloc(0)),
    ]);
    expect((await ann.client.post('/files/upload-server', formOf(bomb))).status).toBe(415);
  });

  test('a picture is kept unchanged, and its thumbnail is upright and without metadata [S146]', async () => {
    const [red, blue] = ['#f00', '#00f'];
    const half = await sharp({ create: { width: 40, height: 40, channels: 3, background: blue } })
      .png()
      .toBuffer();
    const bytes = await sharp({ create: { width: 80, height: 40, channels: 3, background: red } })
      .composite([{ input: half, left: 40, top: 0 }])
      .withExif({ IFD0: { Artist: 'Ann' }, IFD3: { GPSLatitudeRef: 'N', GPSLatitude: '52/1 31/1 0/1' } })
      .withMetadata({ orientation: 6 })
      .jpeg()
      .toBuffer();
    expect((await sharp(bytes).metadata()).exif!.includes('Ann')).toBe(true);
    const { body } = await ann.client.post(
      '/files/upload-server',
      formOf(bytes, { name: 'a.jpg', type: 'image/jpeg' }),
    );
    expect([body.width, body.height]).toEqual([40, 80]);
    const read = async (address: string) =>
      Buffer.from(await (await fetch(app.address + new URL(address).pathname)).arrayBuffer());
    expect((await read(body.path)).equals(bytes)).toBe(true);
    const small = await read(body.thumbnail);
    const { exif, xmp, iptc, orientation, width, height } = await sharp(small).metadata();
    expect([exif, xmp, iptc, orientation, width, height]).toEqual([undefined, undefined, undefined, undefined, 40, 80]);
    const { data } = await sharp(small).raw().toBuffer({ resolveWithObject: true });
    expect([data[0]! > 200, data[2]! < 60, data.at(-3)! < 60, data.at(-1)! > 200]).toEqual([true, true, true, true]);
  });

  test('an animated picture has the size of one frame and a still thumbnail [S146]', async () => {
    const frame = (background: string) =>
      sharp({ create: { width: 50, height: 30, channels: 3, background } })
        .png()
        .toBuffer();
    const moving = await sharp([await frame('#f00'), await frame('#0f0'), await frame('#00f')], {
      join: { animated: true },
    })
      .gif()
      .toBuffer();
    expect((await sharp(moving).metadata()).pages).toBe(3);
    const { body } = await ann.client.post('/files/upload-server', formOf(moving));
    expect([body.mime, body.width, body.height]).toEqual(['image/gif', 50, 30]);
    const small = await (await fetch(app.address + new URL(body.thumbnail).pathname)).arrayBuffer();
    expect(await sharp(Buffer.from(small)).metadata()).toMatchObject({ width: 50, height: 30, format: 'webp' });
    expect((await sharp(Buffer.from(small)).metadata()).pages ?? 1).toBe(1);
  });

  test('pictures reach only the decoders of the accepted formats [X4]', async () => {
    await ann.client.post('/files/upload-server', formOf(await picture(8, 8)));
    const vector = Buffer.from(
      '<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><rect width="8" height="8"/></svg>',
    );
    expect(await sharp(vector).metadata()).toMatchObject({ format: 'svg' }); // which this test may read
    const posing = await ann.client.post('/files/upload-server', formOf(Buffer.concat([Buffer.from('GIF'), vector])));
    expect(posing.status).toBe(415);
  });

  test('a file that is too large is 413 while it streams, with or without a length, and leaves nothing behind [S147]', async () => {
    const before = await stored();
    const large = Buffer.concat([await picture(10, 10), Buffer.alloc(MAX)]);
    const withLength = await key.post('/public/v1/upload', formOf(large));
    expect([withLength.status, withLength.body.code]).toEqual([413, 'too_large']);
    const chunked = await fetch(`${app.address}/public/v1/upload`, {
      method: 'POST',
      duplex: 'half',
      headers: { authorization: key.key, 'content-type': 'multipart/form-data; boundary=b' },
      body: Readable.toWeb(
        Readable.from(
          (async function* () {
            yield Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n');
            for (let n = 0; n < 40; n++) yield Buffer.alloc(100_000);
            yield Buffer.from('\r\n--b--\r\n');
          })(),
        ),
      ),
    } as unknown as RequestInit);
    expect(chunked.status).toBe(413);
    expect(await incoming()).toEqual([]);
    expect(await stored()).toEqual(before);
  });

  test('a file of exactly the greatest size passes, one byte more does not [S147]', async () => {
    const head = await picture(10, 10, 'gif');
    const sized = (size: number) => formOf(Buffer.concat([head, Buffer.alloc(size - head.length)]));
    expect((await ann.client.post('/files/upload-server', sized(MAX))).status).toBe(201);
    expect((await ann.client.post('/files/upload-server', sized(MAX + 1))).status).toBe(413);
  });

  test('an interrupted upload leaves nothing behind [S147]', async () => {
    const before = await stored();
    await new Promise<void>((done) => {
      const url = new URL(`${app.address}/public/v1/upload`);
      const request = httpRequest(url, {
        method: 'POST',
        headers: {
          authorization: key.key,
          'content-type': 'multipart/form-data; boundary=b',
          'content-length': 900_000,
        },
      });
      request.on('error', () => done());
      request.write('--b\r\nContent-Disposition: form-data; name="file"; filename="a.png"\r\n\r\n');
      request.write(Buffer.alloc(200_000));
      void eventually('the bytes are on the disk', async () => (await incoming()).length === 1).then(() =>
        request.destroy(),
      );
    });
    await eventually('the remains are gone', async () => (await incoming()).length === 0);
    expect(await stored()).toEqual(before);
  });

  test('a slow upload holds its Idempotency-Key as long as it may last, and makes one file [S18]', async () => {
    const head = Buffer.from('--b\r\nContent-Disposition: form-data; name="file"; filename="slow.png"\r\n\r\n');
    const [bytes, tail] = [await picture(10, 10), Buffer.from('\r\n--b--\r\n')];
    const headers = {
      authorization: key.key,
      'content-type': 'multipart/form-data; boundary=b',
      'content-length': head.length + bytes.length + tail.length,
      'idempotency-key': 'slow-upload',
    };
    const answer = Promise.withResolvers<number | undefined>();
    const first = httpRequest(`${app.address}/public/v1/upload`, { method: 'POST', headers });
    first.on('response', (response) => answer.resolve(response.resume().statusCode)).on('error', answer.reject);
    first.write(Buffer.concat([head, bytes]));
    await eventually('the bytes are on the disk', async () => (await incoming()).length === 1);
    // it has lasted for nine and a half minutes
    await db.sql`
      update idempotency_keys
      set claimed_until = claimed_until - interval '570 s'
      where org_id = ${ann.orgId}
        and key = 'slow-upload'`;
    const again = await fetch(`${app.address}/public/v1/upload`, {
      method: 'POST',
      headers: { ...headers, 'content-length': String(headers['content-length']) },
      body: Buffer.concat([head, bytes, tail]),
    });
    expect([again.status, (await again.json()).code, again.headers.get('retry-after')]).toEqual([
      409,
      'idempotency_in_flight',
      '1',
    ]);
    first.end(tail);
    expect(await answer.promise).toBe(201);
    expect(await db.sql`select from files where org_id = ${ann.orgId} and original_name = 'slow.png'`).toHaveLength(1);
  });

  test('an upload without a file, or with an empty one, is 400 No file provided [S147, S259]', async () => {
    const none = new FormData();
    none.set('folder', 'a');
    for (const form of [none, formOf(Buffer.alloc(0)), formOf(Buffer.from('x'), { name: '', type: 'text/plain' })]) {
      const { status, body } = await key.post('/public/v1/upload', form);
      expect([status, body.msg]).toEqual([400, 'No file provided']);
    }
  });

  test('malformed upload headers and fields are refused [S7, S8]', async () => {
    const bytes = await picture(4, 4);
    const twice = formOf(bytes);
    twice.append('file', new Blob(['x']), 'b.png');
    const cases: [unknown, Record<string, string>, number, string][] = [
      [formOf(bytes, { more: { isSuperAdmin: 'true' } }), {}, 400, 'unknown_field'],
      [formOf(bytes, { field: 'picture' }), {}, 400, 'unknown_field'],
      [formOf(bytes, { more: { folder: 'x'.repeat(300) } }), {}, 400, 'validation_failed'],
      [formOf(bytes, { more: { preventSave: 'yes' } }), {}, 400, 'validation_failed'],
      [twice, {}, 400, 'validation_failed'],
      ['{}', { 'content-type': 'application/json' }, 415, 'unsupported_media'],
      ['nothing', { 'content-type': 'multipart/form-data' }, 415, 'unsupported_media'],
      ['nothing', { 'content-type': 'multipart/form-data; boundary=' }, 400, 'invalid_request'],
      [
        '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\nxx',
        { 'content-type': 'multipart/form-data; boundary=b' },
        400,
        'invalid_request',
      ],
      ['', { 'content-type': 'multipart/form-data; boundary=b' }, 400, 'invalid_request'],
    ];
    for (const [form, headers, status, code] of cases) {
      const answer = await ann.client.post('/files/upload-server', form, headers);
      expect([answer.status, answer.body.code]).toEqual([status, code]);
    }
    expect(await incoming()).toEqual([]);
  });

  test('a file uploaded with preventSave is not shown in the library [S147]', async () => {
    const { body } = await ben.client.post(
      '/files/upload-server',
      formOf(await picture(4, 4), { more: { preventSave: 'true' } }),
    );
    expect((await ben.client.get('/files')).body).toEqual({ pages: 0, results: [], total: 0 });
    expect((await ben.client.get(`/files/${body.id}`)).status).toBe(200);
  });
});

describe('upload from a URL', () => {
  let site: Receiver;
  beforeAll(async () => {
    const png = await picture(12, 8);
    site = await startReceiver({
      answer(response, { path }) {
        if (path === '/dir/sea%20view.png')
          return void response.writeHead(200, { 'content-type': 'text/html' }).end(png);
        if (path === '/moved') return void response.writeHead(302, { location: '/dir/sea%20view.png' }).end();
        if (path === '/page') return void response.writeHead(200, { 'content-type': 'image/png' }).end('<html></html>');
        if (path === '/large') return void response.writeHead(200).end(Buffer.concat([png, Buffer.alloc(MAX)]));
        if (path === '/private') return void response.writeHead(302, { location: 'http://10.0.0.1/' }).end();
        if (path === '/empty') return void response.writeHead(200).end();
        if (path === '/cut')
          return void response.writeHead(200, { 'content-length': '1000' }).write('x', () => response.destroy());
        response.writeHead(404).end();
      },
    });
  });
  afterAll(() => site[Symbol.asyncDispose]());

  test('the file is taken into the library, redirects followed [S148]', async () => {
    const direct = await ann.client.post('/files/upload-from-url', { url: `${site.url}/dir/sea%20view.png` });
    expect([direct.status, direct.body.name, direct.body.mime, direct.body.width]).toEqual([
      201,
      'sea view.png',
      'image/png',
      12,
    ]);
    const moved = await key.post('/public/v1/upload-from-url', { url: `${site.url}/moved`, name: 'other' });
    expect([moved.status, moved.body.name]).toEqual([201, 'other']);
  });

  test.each([
    ['/missing', 400, 'Failed to fetch URL'],
    ['/empty', 400, 'Failed to fetch URL'],
    ['/cut', 400, 'Failed to fetch URL'],
  ])('a URL that answers with nothing (%s) is 400 [S148]', async (path, status, message) => {
    const answer = await key.post('/public/v1/upload-from-url', { url: site.url + path });
    expect([answer.status, answer.body.msg]).toEqual([status, message]);
  });

  test('a file of another kind, too large or at a private address is refused [S148, X1, X2]', async () => {
    const kinds: [string, number, string][] = [
      [`${site.url}/page`, 415, 'unsupported_media'],
      [`${site.url}/large`, 413, 'too_large'],
      [`${site.url}/private`, 400, 'blocked_url'],
      ['https://10.0.0.1/a.png', 400, 'blocked_url'],
      ['https://169.254.169.254/latest', 400, 'blocked_url'],
      ['https://[::ffff:10.0.0.1]/', 400, 'blocked_url'],
      ['https://0x7f000002/', 400, 'blocked_url'],
    ];
    for (const [url, status, code] of kinds) {
      const answer = await key.post('/public/v1/upload-from-url', { url });
      expect([url, answer.status, answer.body.code]).toEqual([url, status, code]);
    }
    expect(await incoming()).toEqual([]);
  });

  test('every invalid field is refused by its name [S6, S7]', async () => {
    for (const [body, field] of [
      [{}, 'url'],
      [{ url: 5 }, 'url'],
      [{ url: 'not a url' }, 'url'],
      [{ url: 'x'.repeat(3_000) }, 'url'],
      [{ url: site.url, name: 5 }, 'name'],
      [{ url: site.url, orgId: ben.orgId }, 'orgId'],
    ] as const) {
      const { status, body: said } = await ann.client.post('/files/upload-from-url', body);
      expect([status, said.errors?.[0]?.field]).toEqual([400, field]);
    }
  });
});
