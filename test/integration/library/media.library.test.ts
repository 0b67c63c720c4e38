// oxlint-disable max-lines -- one product and its storages serve all cases
import { buffer } from 'node:stream/consumers';
import { mkdir, mkdtemp, readdir, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { MediaRoom } from '../../../src/library/media/index.ts';
import type { SignedUp, TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { ATTEMPT } from '../../support/worlds/media-of.ts';
import { BACKEND, mediaApp } from '../../support/worlds/media.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let media: MediaRoom;
/** Holds `uploads`, and what a test puts beside it. */
let around: string;
let folder: string;
let ann: SignedUp;
let ben: SignedUp;

const upload = async (who: SignedUp, bytes: Uint8Array, name = 'a.png') =>
  (await who.client.post('/files/upload-simple', formOf(bytes, { name }))).body;

beforeAll(async () => {
  db = await testDatabase();
  around = await mkdtemp(join(tmpdir(), 'rookery-media-'));
  folder = join(around, 'uploads');
  app = await mediaApp({ sql: db.sql, folder });
  ({ media } = app.context);
  [ann, ben] = [await app.signUp(), await app.signUp()];
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  if (around) await rm(around, { recursive: true });
});

/** A queued post of a new channel with these media. */
async function queuedPost(orgId: string, items: unknown[]): Promise<string> {
  const [channel, post] = [newId(), newId()];
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channel}, ${orgId}, 'sandbox', 'v1', ${channel}, 'c', 'v2:')`;
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, media, publish_date)
    values (${post}, ${orgId}, ${channel}, 'g', 'QUEUE', 'scheduled', 'hi', ${db.sql.json(items as never)},
      now() + interval '1 day')`;
  return post;
}

describe('library routes', () => {
  test('the list shows 18 files a page, newest first, and finds them by name, kind and folder [S150]', async () => {
    const cat = await app.signUp();
    const png = await picture(4, 4);
    for (let n = 1; n <= 19; n++)
      await cat.client.post(
        '/files/upload-simple',
        formOf(png, { name: `Photo ${n}.png`, more: n === 7 ? { folder: 'seven' } : {} }),
      );
    await cat.client.post('/files/upload-simple', formOf(HEADS['pdf']!, { name: 'plan 100%.pdf' }));
    const first = (await cat.client.get('/files')).body;
    expect([first.pages, first.total, first.results.length, first.results[0].name]).toEqual([
      2,
      20,
      18,
      'plan 100%.pdf',
    ]);
    const second = (await cat.client.get('/media?page=2')).body;
    expect(second.results.map(({ name }: { name: string }) => name)).toEqual(['Photo 2.png', 'Photo 1.png']);
    expect((await cat.client.get('/files?page=3')).body.results).toEqual([]);
    const names = async (query: string) =>
      (await cat.client.get(`/files?${query}`)).body.results.map(({ name }: { name: string }) => name);
    expect(await names('search=photo%2019')).toEqual(['Photo 19.png']);
    expect(await names('search=%25')).toEqual(['plan 100%.pdf']);
    expect(await names('type=document')).toEqual(['plan 100%.pdf']);
    expect(await names('folder=seven')).toEqual(['Photo 7.png']);
    const program = await cat.withKey();
    expect((await program.get('/public/v1/media?search=seven&folder=seven')).body.total).toBe(0);
    for (const query of ['page=0', 'page=x', 'type=virus', `search=${'x'.repeat(300)}`, 'folder=%00'])
      expect((await cat.client.get(`/files?${query}`)).status).toBe(400);
  });

  test('an update changes name, alternative text, folder and thumbnail, and checks each field [S150]', async () => {
    const [file, cover, film] = [
      await upload(ann, await picture(20, 20)),
      await upload(ann, await picture(9, 9)),
      await upload(ann, HEADS['mp4']!, 'film.mp4'),
    ];
    const changed = await ann.client.post('/files/information', {
      id: film.id,
      name: '  The film ',
      alt: 'A bird',
      folder: 'f',
      thumbnail: cover.path,
      thumbnailTimestamp: 1_500,
    });
    expect([
      changed.status,
      changed.body.name,
      changed.body.alt,
      changed.body.folder,
      changed.body.thumbnail,
      changed.body.originalName,
    ]).toEqual([200, 'The film', 'A bird', 'f', cover.path, 'film.mp4']);
    const item = { id: film.id as string, path: film.path as string, alt: '' };
    const loaded = async (more = {}) => (await media.load(ann.orgId, [{ ...item, ...more }], ATTEMPT))[0]?.coverAtMs;
    expect([await loaded(), await loaded({ thumbnailTimestamp: 200 })]).toEqual([1_500, 200]);
    expect(
      (await ann.client.post('/files/information', { id: film.id, thumbnail: null, folder: '' })).body,
    ).toMatchObject({
      thumbnail: null,
      folder: null,
      alt: 'A bird',
    });
    const foreign = await upload(ben, await picture(5, 5));
    const bad: [Record<string, unknown>, number, string | undefined][] = [
      [{}, 400, 'id'],
      [{ id: 5 }, 400, 'id'],
      [{ id: file.id, name: '' }, 400, 'name'],
      [{ id: file.id, name: 'x'.repeat(256) }, 400, 'name'],
      [{ id: file.id, alt: 7 }, 400, 'alt'],
      [{ id: file.id, alt: 'x'.repeat(6_000) }, 400, 'alt'],
      [{ id: file.id, folder: 'x'.repeat(300) }, 400, 'folder'],
      [{ id: file.id, thumbnail: 'https://elsewhere.example/a.png' }, 400, 'thumbnail'],
      [{ id: file.id, thumbnail: foreign.path }, 400, 'thumbnail'],
      [{ id: file.id, thumbnailTimestamp: -1 }, 400, 'thumbnailTimestamp'],
      [{ id: file.id, mime: 'text/html' }, 400, 'mime'],
      [{ id: file.id, organizationId: ben.orgId }, 400, 'organizationId'],
      [{ id: newId(), alt: 'x' }, 404, undefined],
      [{ id: 'x', alt: 'x' }, 404, undefined],
      [{ id: foreign.id, alt: 'x' }, 404, undefined],
    ];
    for (const [body, status, field] of bad) {
      const answer = await ann.client.post('/files/information', body);
      expect([body, answer.status, answer.body.errors?.[0]?.field]).toEqual([body, status, field]);
    }
    expect((await ben.client.get(`/files/${foreign.id}`)).body.alt).toBe('');
  });

  test('names and folders are kept as one plain line on every route [S147, S150]', async () => {
    const cat = await app.signUp();
    const png = await picture(4, 4);
    const { body: file } = await cat.client.post(
      '/files/upload-simple',
      formOf(png, { name: `${'x'.repeat(254)}\u{1f600}.png`, more: { folder: ' Cafe\u0301\u0000\u202e ' } }),
    );
    expect([file.name, file.folder]).toEqual(['x'.repeat(254), 'Café']);
    for (const asked of ['Café', 'Cafe\u0301', ' Café '])
      expect((await cat.client.get(`/files?folder=${encodeURIComponent(asked)}`)).body.total).toBe(1);
    const renamed = await cat.client.post('/files/information', {
      id: file.id,
      name: 'A/B\u202e test\u2028\u0085\n',
      folder: 'a\u061cb',
    });
    expect([renamed.body.name, renamed.body.folder]).toEqual(['A/B test', 'ab']);
    expect((await cat.client.post('/files/information', { id: file.id, name: '\u202e\n' })).body.errors[0].field).toBe(
      'name',
    );
    const { body: hidden } = await cat.client.post(
      '/files/upload-simple',
      formOf(png, { more: { preventSave: 'true' } }),
    );
    const saved = await cat.client.post('/files/save-media', { name: hidden.path, originalName: 'gnp\u202e.png\n' });
    expect([saved.body.name, saved.body.originalName]).toEqual(['gnp.png', 'gnp.png']);
    expect(saved.body.thumbnail).toMatch(/\.webp$/);
  });

  test('a file of another organization answers as unknown [S9, X11]', async () => {
    const file = await upload(ann, await picture(4, 4));
    const program = await ben.withKey();
    expect((await ben.client.get(`/files/${file.id}`)).status).toBe(404);
    expect((await ben.client.delete(`/files/${file.id}?force=true`)).status).toBe(404);
    expect((await program.delete(`/public/v1/media/${file.id}`)).status).toBe(404);
    expect((await ben.client.get('/files?search=')).body.results.map(({ id }: { id: string }) => id)).not.toContain(
      file.id,
    );
    expect((await ann.client.get(`/files/${file.id}`)).status).toBe(200);
  });

  test('a file that a queued post uses is deleted only by force [S150]', async () => {
    const [byId, byPath, free] = [
      await upload(ann, await picture(4, 4)),
      await upload(ann, await picture(4, 4)),
      await upload(ann, await picture(4, 4)),
    ];
    await queuedPost(ann.orgId, [
      { id: byId.id, path: byId.path, alt: '' },
      { path: byPath.path, alt: '' },
    ]);
    await queuedPost(ben.orgId, [{ id: free.id, path: free.path, alt: '' }]);
    for (const { id } of [byId, byPath]) {
      const { status, body } = await ann.client.delete(`/files/${id}`);
      expect([status, body.code]).toEqual([409, 'conflict']);
      expect((await ann.client.get(`/files/${id}`)).status).toBe(200);
    }
    expect(await ann.client.delete(`/files/${byId.id}?force=true`)).toMatchObject({
      status: 200,
      body: { id: byId.id },
    });
    expect(await ann.client.delete(`/files/${free.id}`)).toMatchObject({ status: 200, body: { id: free.id } });
    expect((await ann.client.get(`/files/${free.id}`)).status).toBe(404);
    expect((await ann.client.delete(`/files/${free.id}`)).status).toBe(404);
    expect((await ann.client.delete(`/files/${byPath.id}?force=yes`)).status).toBe(400);
  });
});

describe('GET of a stored file', () => {
  /** As it stands on the line: no client normalises the path. */
  const raw = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    new Promise<{ status: number; headers: Record<string, unknown>; body: Buffer }>((done, fail) => {
      const { port } = new URL(app.address);
      httpRequest({ host: '127.0.0.1', port, path, headers, method }, (response) => {
        const pieces: Buffer[] = [];
        response
          .on('data', (piece: Buffer) => pieces.push(piece))
          .on('end', () =>
            done({ status: response.statusCode!, headers: response.headers, body: Buffer.concat(pieces) }),
          );
      })
        .on('error', fail)
        .end();
    });

  test('the answer honours ranges and conditional requests [S152]', async () => {
    const bytes = await picture(300, 200);
    const path = new URL((await upload(ann, bytes)).path).pathname;
    const whole = await raw(path);
    expect([
      whole.status,
      whole.headers['content-length'],
      whole.headers['accept-ranges'],
      whole.headers['content-disposition'],
    ]).toEqual([200, String(bytes.length), 'bytes', 'inline']);
    expect((await raw(`/api${path}`)).body).toEqual(bytes);
    const ranges: [string, number, Buffer | undefined, string | undefined][] = [
      ['bytes=0-9', 206, bytes.subarray(0, 10), `bytes 0-9/${bytes.length}`],
      ['bytes=10-', 206, bytes.subarray(10), undefined],
      ['bytes=-5', 206, bytes.subarray(-5), undefined],
      [`bytes=0-${bytes.length * 2}`, 206, bytes, undefined],
      [`bytes=${bytes.length}-`, 416, undefined, `bytes */${bytes.length}`],
      ['bytes=-0', 416, undefined, undefined],
      ['bytes=9-3', 200, bytes, undefined],
      ['bytes=0-1,4-5', 200, bytes, undefined],
      ['lines=1-2', 200, bytes, undefined],
    ];
    for (const [range, status, body, said] of ranges) {
      const answer = await raw(path, { range });
      expect([range, answer.status]).toEqual([range, status]);
      if (body) expect(answer.body).toEqual(body);
      if (said) expect(answer.headers['content-range']).toBe(said);
    }
    const etag = String(whole.headers['etag']);
    expect(await raw(path, { 'if-none-match': etag })).toMatchObject({ status: 304, body: Buffer.alloc(0) });
    expect((await raw(path, { range: 'bytes=0-1', 'if-range': '"other"' })).status).toBe(200);
    expect((await raw(path, { range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    expect(await raw(path, {}, 'HEAD')).toMatchObject({ status: 200, body: Buffer.alloc(0) });
    expect((await raw(path, {}, 'POST')).status).toBe(405);
  });

  test('the answer is 304 for a known date and for a weakened tag [S152]', async () => {
    const path = new URL((await upload(ann, await picture(30, 20))).path).pathname;
    const { headers } = await raw(path);
    const [etag, modified] = [String(headers['etag']), String(headers['last-modified'])];
    const later = new Date(Date.parse(modified) + 1_000).toUTCString();
    const earlier = new Date(Date.parse(modified) - 1_000).toUTCString();
    for (const [asked, status] of [
      [{ 'if-none-match': `W/${etag}` }, 304],
      [{ 'if-none-match': `"a", W/${etag}` }, 304],
      [{ 'if-none-match': '*' }, 304],
      [{ 'if-none-match': 'W/"a"' }, 200],
      [{ 'if-modified-since': modified }, 304],
      [{ 'if-modified-since': later }, 304],
      [{ 'if-modified-since': earlier }, 200],
      [{ 'if-modified-since': 'yesterday' }, 200],
      [{ 'if-modified-since': later, 'if-none-match': '"a"' }, 200],
      [{ range: 'bytes=0-1', 'if-range': modified }, 200],
      [{ range: 'bytes=0-1', 'if-range': `W/${etag}` }, 200],
    ] as const)
      for (const method of ['GET', 'HEAD'])
        expect([asked, method, (await raw(path, asked, method)).status]).toEqual([asked, method, status]);
    const head = await raw(path, {}, 'HEAD');
    expect([head.headers['content-length'], head.headers['etag'], head.headers['content-type']]).toEqual([
      headers['content-length'],
      etag,
      'image/png',
    ]);
  });

  test('a document is served as a download [S152]', async () => {
    const path = new URL((await upload(ann, HEADS['pdf']!, 'a.pdf')).path).pathname;
    const { headers } = await raw(path);
    expect([headers['content-type'], headers['x-content-type-options'], headers['content-disposition']]).toEqual([
      'application/pdf',
      'nosniff',
      `attachment; filename="${path.split('/').at(-1)}"`,
    ]);
  });

  test('no path leads out of the folder [X6, S152]', async () => {
    const secret = join(around, 'secret.png');
    await writeFile(secret, 'secret');
    const inside = new URL((await upload(ann, await picture(4, 4))).path).pathname.slice('/uploads/'.length);
    const name = inside.split('/')[1]!;
    const own = join(folder, ann.orgId);
    const link = `${'L'.repeat(32)}.png`;
    await symlink(secret, join(own, link));
    const elsewhere = newId();
    await mkdir(join(around, 'out'));
    await writeFile(join(around, 'out', link), 'secret');
    await symlink(join(around, 'out'), join(folder, elsewhere));
    await mkdir(join(own, `${'D'.repeat(32)}.png`));
    const paths = [
      '../secret.png',
      `${ann.orgId}/../../secret.png`,
      `${ann.orgId}%2f..%2f..%2fsecret.png`,
      '%2e%2e/secret.png',
      '..%2fsecret.png',
      '%252e%252e%252fsecret.png',
      '..\\secret.png',
      '..%5csecret.png',
      `${ann.orgId}/${name}%00.png`,
      `${ann.orgId}/%00`,
      secret,
      `/${secret}`,
      encodeURIComponent(secret),
      `${ann.orgId}/${link}`,
      `${elsewhere}/${link}`,
      `${ann.orgId}/${'D'.repeat(32)}.png`,
      ann.orgId,
      `${ann.orgId}/`,
      '',
      '.incoming/x',
      `.incoming/${name}`,
      `${ann.orgId}/${name}/`,
      `${ann.orgId}/${name.toUpperCase()}`,
      `${ann.orgId}/%`,
      `${ann.orgId}/%c0%ae%c0%ae`,
      `${ann.orgId}/${name.replace('.png', '.svg')}`,
    ];
    for (const path of paths) {
      const answer = await raw(`/uploads/${path}`);
      const slash = path === `${ann.orgId}/${name}/`; // a slash at the end means nothing (S1)
      expect([path, answer.status]).toEqual([path, slash ? 200 : 404]);
      expect(answer.body.toString()).not.toContain('secret\n');
      expect(answer.body.equals(Buffer.from('secret'))).toBe(false);
    }
  });
});

describe('media of a post', () => {
  test('media of the library are named by id or by path, keep their alternative text, and belong to the own library [S9, X11]', async () => {
    const bytes = await picture(30, 20);
    const file = await upload(ann, bytes);
    await ann.client.post('/files/information', { id: file.id, alt: 'from the library' });
    const items = [
      { id: file.id, path: file.path, alt: 'mine' },
      { path: file.path, alt: '' },
      { path: file.path.replace(BACKEND, ''), alt: 'short' },
    ];
    const loaded = await media.load(ann.orgId, items, ATTEMPT);
    expect(
      loaded.map(({ alt, contentType, width, height, publicUrl }) => [alt, contentType, width, height, publicUrl]),
    ).toEqual([
      ['mine', 'image/png', 30, 20, file.path],
      ['from the library', 'image/png', 30, 20, file.path],
      ['short', 'image/png', 30, 20, file.path],
    ]);
    expect(await buffer(loaded[0]!.open())).toEqual(bytes);
    await expect(media.load(ben.orgId, [{ path: file.path, alt: '' }], ATTEMPT)).rejects.toMatchObject({
      failure: 'rejected',
    });
    await expect(media.load(ben.orgId, [{ id: file.id, path: '', alt: '' }], ATTEMPT)).rejects.toMatchObject({
      failure: 'rejected',
    });
    await expect(
      media.judge(ben.orgId, [{ at: 'posts.0.value.0.image', items: [{ path: file.path, alt: '' }] }]),
    ).rejects.toMatchObject({
      code: 'validation_failed',
      extra: { errors: [{ field: 'posts.0.value.0.image.0.path' }] },
    });
    db.statements.length = 0;
    const fields = Array.from({ length: 30 }, (_, n) => ({ at: `posts.${n}.value.0.image`, items }));
    await media.judge(ann.orgId, fields);
    expect(db.statements).toHaveLength(1); // however many fields a body has
  });

  test('outside media are checked when the post is stored, by form, address and RESTRICT_UPLOAD_DOMAINS [S125, S260, PO11]', async () => {
    await using strict = await mediaApp({
      sql: db.sql,
      folder,
      env: { RESTRICT_UPLOAD_DOMAINS: 'cdn.example,Pictures.example' },
    });
    const judge = (path: string, thumbnail?: string) =>
      strict.context.media.judge(ann.orgId, [{ at: 'image', items: [{ path, alt: '', thumbnail }] }]);
    await judge('https://cdn.example/a.png');
    await judge('https://a.b.pictures.EXAMPLE/a.png');
    await judge('https://cdn.example/a.png', 'https://x.cdn.example/b.png');
    for (const path of [
      'https://evilcdn.example/a.png',
      'https://cdn.example.evil.test/a.png',
      'https://other.test/cdn.example',
      'https://cdn.example@other.test/',
    ])
      await expect(judge(path)).rejects.toMatchObject({ status: 400 });
    await expect(judge('https://other.test/a.png')).rejects.toMatchObject({
      code: 'media_domain_not_allowed',
      extra: { errors: [{ field: 'image.0.path' }] },
    });
    await expect(judge('https://cdn.example/a.png', 'https://other.test/b.png')).rejects.toMatchObject({
      code: 'media_domain_not_allowed',
      extra: { errors: [{ field: 'image.0.thumbnail' }] },
    });
    await expect(
      media.judge(ann.orgId, [{ at: 'image', items: [{ path: 'https://10.0.0.1/a.png', alt: '' }] }]),
    ).rejects.toMatchObject({
      code: 'blocked_url',
      extra: { errors: [{ field: 'image.0.path' }] },
    });
    for (const path of ['', 'a.png', 'javascript:alert(1)', 'file:///etc/passwd', 'data:image/png;base64,AA'])
      await expect(media.judge(ann.orgId, [{ at: 'image', items: [{ path, alt: '' }] }])).rejects.toMatchObject({
        status: 400,
      });
    await media.judge(ann.orgId, [{ at: 'image', items: [{ path: 'https://any.test/a.png', alt: '' }] }]);
  });

  test('a file is read in ranges, each of its kind, and none has a public address where nobody outside reaches this server', async () => {
    const png = await picture(40, 30);
    const over = new AbortController();
    const files = [await upload(ann, png), await upload(ann, HEADS['pdf']!, 'plan.pdf')];
    const [image, pdf] = await media.load(
      ann.orgId,
      files.map(({ id, path }) => ({ id, path, alt: '' })),
      { ...ATTEMPT, signal: over.signal },
    );
    expect([image!.kind, pdf!.kind, pdf!.publicUrl]).toEqual(['image', 'document', files[1].path]);
    for (const [from, to] of [
      [0, 1],
      [3, 50],
      [png.length - 7, png.length],
      [5, 5],
    ] as const)
      expect((await buffer(image!.read(from, to))).equals(png.subarray(from, to))).toBe(true);
    const fitted = (await image!.fit({ types: ['image/jpeg'] }))!;
    const jpeg = await buffer(fitted.open());
    expect((await buffer(fitted.read(2, 90))).equals(jpeg.subarray(2, 90))).toBe(true);
    over.abort();

    await using local = await mediaApp({
      sql: db.sql,
      folder,
      env: { NEXT_PUBLIC_BACKEND_URL: 'http://127.0.0.1:3000' },
    });
    const [hidden] = await local.context.media.load(ann.orgId, [{ id: files[0].id, path: '', alt: '' }], ATTEMPT);
    expect('publicUrl' in hidden!).toBe(false);
  });

  test('the picture that was chosen for a video is made to fit, a file as well as the thumbnail of one', async () => {
    const over = new AbortController();
    const film = await upload(ann, HEADS['mp4']!, 'clip.mp4');
    const cover = await upload(ann, await picture(900, 600));
    const [asFile, asThumbnail] = await media.load(
      ann.orgId,
      [cover.path, cover.thumbnail].map((thumbnail) => ({ id: film.id, path: film.path, alt: '', thumbnail })),
      { ...ATTEMPT, signal: over.signal },
    );
    for (const [chosen, type] of [
      [asFile!.thumbnail!, 'image/png'],
      [asThumbnail!.thumbnail!, 'image/webp'],
    ] as const) {
      expect(chosen.contentType).toBe(type);
      const same = (await chosen.fit({ types: [type], maxBytes: chosen.size }))!;
      expect((await buffer(same.open())).equals(await buffer(chosen.open()))).toBe(true);
      const made = (await chosen.fit({ types: ['image/jpeg'], maxBytes: 100_000 }))!;
      const jpeg = await buffer(made.open());
      expect([made.contentType, made.name.endsWith('.jpg'), made.size]).toEqual(['image/jpeg', true, jpeg.length]);
      expect([...jpeg.subarray(0, 2)]).toEqual([0xff, 0xd8]);
      expect(await chosen.fit({ types: ['image/jpeg'], maxBytes: 1 })).toBeUndefined();
    }
    over.abort();
  });

  test('the picture that was chosen for a video has an address for a network that fetches pictures', async () => {
    const over = new AbortController();
    const fetching = { signal: over.signal, limits: { ...ATTEMPT.limits, fetches: ['image'] as const } };
    const film = await upload(ann, HEADS['mp4']!, 'clip.mp4');
    const cover = await upload(ann, await picture(900, 600));
    for (const [address, type] of [
      [cover.path, 'image/png'],
      [cover.thumbnail, 'image/webp'],
    ] as const) {
      const items = [{ id: film.id, path: film.path, alt: '', thumbnail: address }];
      const fitted = async (of: string, attempt: typeof fetching | typeof ATTEMPT = fetching) =>
        (await (await media.load(ann.orgId, items, attempt))[0]!.thumbnail!.fit({ types: [of], maxBytes: 100_000 }))!;
      expect((await fitted(type)).publicUrl).toBe(address);
      expect((await fitted('image/jpeg', { ...ATTEMPT, signal: over.signal })).publicUrl).toBeUndefined();
      const made = await fitted('image/jpeg');
      const answer = await fetch(app.address + new URL(made.publicUrl!).pathname);
      expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
      expect(Buffer.from(await answer.arrayBuffer())).toEqual(await buffer(made.open()));
      expect((await fitted('image/jpeg')).publicUrl).toBe(made.publicUrl);
    }
    over.abort();
  });

  test('a storage with addresses that can be reached makes files public where this server cannot be', async () => {
    const cat = await app.signUp();
    const env = { NEXT_PUBLIC_BACKEND_URL: 'http://127.0.0.1:3000' };
    await using local = await mediaApp({ sql: db.sql, folder, env });
    const file = await upload(cat, await picture(9, 9));
    const addressAt = async (options: object) => {
      const { id } = await local.context.providerSettings.create(
        cat.orgId,
        {
          domain: 'storage',
          providerId: 's3_compatible',
          credentials: { accessKeyId: 'AKIAEXAMPLE', secretAccessKey: 'k'.repeat(40) },
          options: { region: 'x', bucket: 'files', ...options },
        },
        { userId: cat.userId, impersonatorId: null, ip: null },
      );
      await db.sql`
        update files
        set storage_id = 's3_compatible', storage_setting_id = ${id}, own_storage = true
        where id = ${file.id}`;
      const [loaded] = await local.context.media.load(cat.orgId, [{ id: file.id, path: '', alt: '' }], ATTEMPT);
      return loaded!.publicUrl;
    };
    const key = file.path.slice(`${BACKEND}/uploads/`.length);
    const [inside, outside] = ['http://127.0.0.1:9000', 'https://s3.example'];
    expect(await addressAt({ endpoint: inside })).toBeUndefined();
    expect(await addressAt({ endpoint: inside, publicUrl: 'https://files.local' })).toBeUndefined();
    expect(await addressAt({ endpoint: inside, publicUrl: 'https://cdn.example' })).toBe(`https://cdn.example/${key}`);
    const signed = new URL((await addressAt({ endpoint: outside }))!);
    expect([signed.origin, signed.pathname]).toEqual([outside, `/files/${key}`]);
    expect(Number(signed.searchParams.get('X-Amz-Expires'))).toBeGreaterThanOrEqual(3_600);
  });

  test('a picture that is converted for a network that fetches it is kept at an address of ours for an hour', async () => {
    const file = await upload(ann, await picture(50, 40));
    const over = new AbortController();
    const attempt = { ...ATTEMPT, signal: over.signal };
    const fetching = { ...attempt, limits: { ...ATTEMPT.limits, fetches: ['image'] as const } };
    const items = [{ id: file.id, path: file.path, alt: '' }];
    const fitted = async (types: string[], as: typeof ATTEMPT | typeof fetching = fetching) =>
      (await media.load(ann.orgId, items, as))[0]!.fit({ types });
    expect((await fitted(['image/png']))!.publicUrl).toBe(file.path);
    expect('publicUrl' in (await fitted(['image/jpeg'], attempt))!).toBe(false);

    const made = (await fitted(['image/jpeg']))!;
    expect(made).toMatchObject({ contentType: 'image/jpeg', width: 50, height: 40 });
    const fetched = async () => fetch(app.address + new URL(made.publicUrl!).pathname);
    const answer = await fetched();
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
    expect(Buffer.from(await answer.arrayBuffer())).toEqual(await buffer(made.open()));
    expect((await fitted(['image/jpeg']))!.publicUrl).toBe(made.publicUrl);
    expect((await ann.client.get('/files?search=jpg')).body.results).toEqual([]);

    // other posts settle meanwhile
    const outside = [{ path: 'https://elsewhere.example/a.png', alt: '' }];
    const later = (by: string) => db.sql`
      update files set created_at = now() - ${by}::interval where org_id = ${ann.orgId} and source_url is not null`;
    await later('110 minutes');
    await media.settled(ann.orgId, outside);
    expect((await fetched()).status).toBe(200);
    expect((await fitted(['image/jpeg']))!.publicUrl).not.toBe(made.publicUrl);
    await later('130 minutes');
    await media.settled(ann.orgId, outside);
    expect((await fetched()).status).toBe(404);
    over.abort();
  });

  test('a video has the thumbnail that was chosen for it: a file of the library, or one outside', async () => {
    const [cover, png] = [await picture(20, 10), await picture(8, 8)];
    await using site = await startReceiver({
      answer: (response, { path }) =>
        path === '/gone.png' ? void response.writeHead(404).end() : void response.writeHead(200).end(png),
    });
    const video = await upload(ann, HEADS['mp4']!, 'a.mp4');
    const still = await upload(ann, cover, 'cover.png');
    const bens = await upload(ben, cover, 'cover.png');
    const thumbnailOf = async (thumbnail: string, of = video) => {
      const [loaded] = await media.load(ann.orgId, [{ id: of.id, path: of.path, alt: '', thumbnail }], ATTEMPT);
      const found = loaded!.thumbnail;
      return found && { type: found.contentType, size: found.size, bytes: await buffer(found.open()) };
    };
    expect(await thumbnailOf(still.path)).toEqual({ type: 'image/png', size: cover.length, bytes: cover });
    expect(await thumbnailOf(`${site.url}/a.png`)).toEqual({ type: 'image/png', size: png.length, bytes: png });
    const made = (await thumbnailOf(still.thumbnail))!;
    expect([made.type, made.size]).toEqual(['image/webp', made.bytes.length]);
    expect(await thumbnailOf(`${site.url}/gone.png`)).toBeUndefined();
    expect(await thumbnailOf(bens.path)).toBeUndefined();
    expect(await thumbnailOf(still.path, still)).toBeUndefined();
  });

  test('outside media are fetched once, and read from the copy for an hour [S260]', async () => {
    const png = await picture(7, 5);
    await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
    const items = [{ path: `${site.url}/a.png`, alt: 'A' }];
    await media.load(ann.orgId, items, ATTEMPT);
    expect(site.ledger).toHaveLength(1);
    const [loaded] = await media.load(ann.orgId, items, ATTEMPT);
    expect(site.ledger).toHaveLength(1);
    expect([loaded!.alt, loaded!.contentType, loaded!.width, (await buffer(loaded!.open())).equals(png)]).toEqual([
      'A',
      'image/png',
      7,
      true,
    ]);
    expect(
      (await ann.client.get('/files?search=a.png')).body.results.every(({ name }: { name: string }) => name !== ''),
    ).toBe(true);
    await db.sql`update files set created_at = now() - interval '61 minutes' where source_url = ${items[0]!.path}`;
    await media.load(ann.orgId, items, ATTEMPT);
    expect(site.ledger).toHaveLength(2);
  });

  test('a failed fetch of outside media says whether a retry can help [S260]', async () => {
    let status = 503;
    await using site = await startReceiver({ answer: (response) => void response.writeHead(status).end('<p>no</p>') });
    const load = () => media.load(ann.orgId, [{ path: `${site.url}/x-${status}`, alt: '' }], ATTEMPT);
    await expect(load()).rejects.toMatchObject({ failure: 'unavailable' });
    status = 404;
    await expect(load()).rejects.toMatchObject({ failure: 'rejected' });
    status = 200;
    await expect(load()).rejects.toMatchObject({ failure: 'rejected' });
    await expect(media.load(ann.orgId, [{ path: 'https://10.1.2.3/a.png', alt: '' }], ATTEMPT)).rejects.toMatchObject({
      failure: 'rejected',
    });
    await expect(media.load(ann.orgId, [{ path: 'http://127.0.0.1:9/a.png', alt: '' }], ATTEMPT)).rejects.toMatchObject(
      { failure: 'unavailable' },
    );
  });

  test('the sweep deletes old copies and remains of uploads, and no files of users', async () => {
    const png = await picture(6, 6);
    const file = await upload(ann, png);
    await using site = await startReceiver({ answer: (response) => void response.writeHead(200).end(png) });
    await media.load(ann.orgId, [{ path: `${site.url}/old.png`, alt: '' }], ATTEMPT);
    await db.sql`update files set created_at = now() - interval '2 days' where org_id = ${ann.orgId}`;
    const remain = join(folder, '.incoming', 'remain');
    await writeFile(remain, 'x');
    await utimes(remain, 1, 1);
    await writeFile(join(folder, '.incoming', 'young'), 'x');
    expect(await media.sweep(100)).toBeGreaterThanOrEqual(1);
    expect(await readdir(join(folder, '.incoming'))).toEqual(['young']);
    expect(
      await db.sql`select 1 from files where source_url is not null and created_at < now() - interval '1 day'`,
    ).toHaveLength(0);
    expect((await fetch(app.address + new URL(file.path).pathname)).status).toBe(200);
  });
});
