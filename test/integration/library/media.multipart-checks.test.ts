import { request as httpRequest } from 'node:http';
import { afterAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { override } from '../../support/worlds/billing.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { mediaApp } from '../../support/worlds/media.ts';
import { begin, complete, film, MAX, openMultipart, put, sendParts, sign } from '../../support/worlds/multipart.ts';
import { picture } from '../../support/worlds/samples.ts';

const world = await openMultipart();
afterAll(() => world[Symbol.asyncDispose]());
const { db, app, paid, folder, lying, bytesOf, setNow } = world;
const { media } = app.context;
const ann = await app.signUp();

describe('checks of a multipart upload', () => {
  test('size, kind and quota are checked when the upload is announced [S147, S149, LM20]', async () => {
    expect((await begin(ann, MAX)).status).toBe(200);
    expect(await begin(ann, MAX + 1)).toMatchObject({ status: 413, body: { code: 'too_large' } });
    for (const file of [
      { type: 'text/html', name: 'a.html' },
      { type: 'image/svg+xml', name: 'a.svg' },
      { type: '', name: 'virus.exe' },
      { type: undefined, name: 'x' },
    ])
      expect([file, (await begin(ann, 100, {}, file)).status]).toEqual([file, 415]);
    for (const [file, extension] of [
      [{ type: '', name: 'Photo.JPEG' }, 'jpg'],
      [{ type: 'VIDEO/MP4; codecs=avc1', name: 'x' }, 'mp4'],
      [{ type: 'application/octet-stream', name: 'a.b.webm' }, 'webm'],
    ] as const)
      expect((await begin(ann, 100, {}, file)).body.key.split('.').at(-1)).toBe(extension);
    const cat = await paid.signUp();
    await override(db.sql, cat.orgId, { storage_gb: 1 });
    await db.sql`
      insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes)
      values (${newId()}, ${cat.orgId}, 'film.mp4', 'film.mp4', ${newId()}, 'video', 'video/mp4', ${1024 ** 3 - 999})`;
    expect(await begin(cat, 1_000)).toMatchObject({ status: 402, body: { code: 'limit_exceeded' } });
    expect((await begin(cat, 999)).status).toBe(200);
    for (const [body, field] of [
      [{}, 'file'],
      [{ file: { name: '', size: 5 } }, 'file.name'],
      [{ file: { name: 'a.png', size: 0 } }, 'file.size'],
      [{ file: { name: 'a.png', size: '5' } }, 'file.size'],
      [{ file: { name: 'a.png', size: 5 }, key: 'x' }, 'key'],
      [{ file: { name: 'a.png', size: 5, colour: 'red' } }, 'file.colour'],
    ] as const) {
      const answer = await ann.client.post('/files/create-multipart-upload', body);
      expect([answer.status, answer.body.errors[0].field]).toEqual([400, field]);
    }
  });

  test('a part that is named with an unknown field is refused [S7, S149]', async () => {
    const begun = (await begin(ann, 100)).body;
    const answer = await complete(ann, begun, [{ PartNumber: 1, ETag: 'a', Size: 100, colour: 1 }]);
    expect(answer).toMatchObject({
      status: 400,
      body: { code: 'unknown_field', errors: [{ field: 'parts.0.colour' }] },
    });
  });

  test('two that begin with one Idempotency-Key are one upload [S18, S149]', async () => {
    const cat = await app.signUp();
    const create = () =>
      cat.client.post(
        '/files/create-multipart-upload',
        { file: { name: 'film.mp4', size: 100 } },
        { 'idempotency-key': 'film' },
      );
    const [one, two] = [await create(), await create()];
    expect([two.status, two.body, two.headers.get('idempotency-replayed')]).toEqual([200, one.body, 'true']);
    expect(await db.sql`select from media_uploads where org_id = ${cat.orgId}`).toHaveLength(1);
  });

  test('an organization has at most a hundred open uploads [S149]', async () => {
    const cat = await app.signUp();
    const { uploadId, key } = (await begin(cat, 100)).body;
    await db.sql`
      insert into media_uploads select copy.* from media_uploads one, generate_series(2, 99) n,
        jsonb_populate_record(one,
          jsonb_build_object('id', gen_random_uuid(), 'storage_key', one.storage_key || n, 'provider_upload_id',
            n::text)) copy
      where one.id = ${uploadId}`;
    expect((await begin(cat, 100)).status).toBe(200);
    const refused = await begin(cat, 100);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    await cat.client.post('/files/abort-multipart-upload', { uploadId, key });
    expect((await begin(cat, 100)).status).toBe(200);
  });

  test('open uploads announce at most 10 GiB together, unless they go to a storage of the organization [S149]', async () => {
    const cat = await app.signUp();
    const { uploadId } = (await begin(cat, 100)).body;
    await db.sql`update media_uploads set bytes = ${10 * 1024 ** 3 - 150} where id = ${uploadId}`;
    expect((await begin(cat, 100)).status).toBe(200);
    const refused = await Promise.all([begin(cat, 100), begin(cat, 100)]);
    expect(refused.map(({ status, body }) => [status, body.code])).toEqual([
      [409, 'conflict'],
      [409, 'conflict'],
    ]);
    await db.sql`update media_uploads set own_storage = true where id = ${uploadId}`;
    expect((await begin(cat, 100)).status).toBe(200);
  });

  test('the address of a part is valid at each process of a deployment, and not under another JWT_SECRET [S149]', async () => {
    const elsewhere = await mediaApp({
      sql: db.sql,
      folder,
      env: { JWT_SECRET: 'the-secret-of-a-deployment-beside-this-one' },
    });
    try {
      const url = await sign(ann, (await begin(ann, 10_000)).body, 1);
      const at = (address: string) => put(url.replace(ann.client.address, address), Buffer.alloc(10));
      expect([(await at(elsewhere.address)).status, (await at(paid.address)).status]).toEqual([403, 200]);
    } finally {
      await elsewhere[Symbol.asyncDispose]();
    }
  });

  test('the address of a part is valid only as signed, and for an hour [S149]', async () => {
    const name = (await begin(ann, 10_000)).body;
    const url = new URL(await sign(ann, name, 1));
    const other = (await begin(ann, 10_000)).body;
    const changed = (change: (url: URL) => void) => {
      const copy = new URL(url);
      change(copy);
      return put(copy.href, Buffer.alloc(10));
    };
    const cases: [string, (url: URL) => void, number][] = [
      ['another part', (one) => (one.pathname = one.pathname.replace(/1$/, '2')), 403],
      ['another upload', (one) => (one.pathname = one.pathname.replace(name.uploadId, other.uploadId)), 403],
      [
        'a later end',
        (one) => one.searchParams.set('expires', String(Number(one.searchParams.get('expires')) + 1)),
        403,
      ],
      ['no signature', (one) => one.searchParams.delete('signature'), 400],
      ['another signature', (one) => one.searchParams.set('signature', 'a'.repeat(64)), 403],
      ['a path', (one) => (one.pathname = '/uploads/..%2f..%2fetc/1'), 403],
    ];
    for (const [what, change, status] of cases) expect([what, (await changed(change)).status]).toEqual([what, status]);
    setNow(() => new Date(Date.now() + 3_602_000));
    expect((await put(url.href, Buffer.alloc(10))).status).toBe(410);
    setNow(() => new Date());
    expect((await put(url.href, Buffer.alloc(10))).status).toBe(200);
    expect((await ann.client.post('/files/list-parts', { uploadId: other.uploadId, key: other.key })).body).toEqual([]);
  });

  test('the parts are never more than announced, and each is needed once [S149]', async () => {
    const name = (await begin(ann, 10_000)).body;
    const [one, two] = [await sign(ann, name, 1), await sign(ann, name, 2)];
    expect((await put(one, Buffer.alloc(10_001))).status).toBe(413);
    expect((await put(one, Buffer.alloc(0))).status).toBe(400);
    const pieces = new Blob([film(6_000) as Uint8Array<ArrayBuffer>]).stream();
    // of no length
    expect((await fetch(one, { method: 'PUT', body: pieces, duplex: 'half' } as RequestInit)).status).toBe(400);
    const etag = (await put(one, film(6_000))).headers.get('etag')!;
    expect((await put(two, Buffer.alloc(4_001))).status).toBe(413);
    const refusals: [unknown, string][] = [
      [[], 'parts'],
      [[{ PartNumber: 1, ETag: etag }], 'parts'],
      [[{ PartNumber: 2, ETag: etag }], 'parts.0.PartNumber'],
      [
        [
          { PartNumber: 1, ETag: etag },
          { PartNumber: 1, ETag: etag },
        ],
        'parts.1.PartNumber',
      ],
      [[{ PartNumber: 0, ETag: etag }], 'parts.0.PartNumber'],
      [[{ PartNumber: 1 }], 'parts.0.ETag'],
    ];
    for (const [parts, field] of refusals) {
      const answer = await complete(ann, name, parts);
      expect([field, answer.status, answer.body.errors[0].field]).toEqual([field, 400, field]);
    }
    const last = (await put(two, Buffer.alloc(4_000))).headers.get('etag')!;
    expect(
      (
        await complete(ann, name, [
          { PartNumber: 2, ETag: last },
          { PartNumber: 1, ETag: etag },
        ])
      ).status,
    ).toBe(200);
  });

  test('parts in transit count, and of two uploads of one part the later one wins [S149]', async () => {
    const name = (await begin(ann, 10_000)).body;
    const [one, two] = [await sign(ann, name, 1), await sign(ann, name, 2)];
    const before = (await lying()).incoming.length;
    const slow = httpRequest(one, { method: 'PUT', headers: { 'content-length': 6_000 } });
    const cut = new Promise<Error>((failed) => slow.once('error', failed));
    slow.write(film(3_000));
    await eventually('half of a part is here', async () => (await lying()).incoming.length > before);
    expect((await put(two, Buffer.alloc(4_001))).status).toBe(413);
    const etag = (await put(one, film(6_000))).headers.get('etag')!;
    await cut;
    await eventually('what came of it is gone', async () => (await lying()).incoming.length === before);
    const last = (await put(two, Buffer.alloc(4_000))).headers.get('etag')!;
    const parts = [
      { PartNumber: 1, ETag: etag },
      { PartNumber: 2, ETag: last },
    ];
    expect((await complete(ann, name, parts)).body.size).toBe(10_000);
  });

  test.each([
    ['a page', Buffer.from('<!doctype html><script>alert(1)</script>')],
    ['a vector picture', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>')],
    ['a picture cut off', Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')],
    ['an archive', Buffer.concat([Buffer.from('504b0304140000000000', 'hex'), Buffer.alloc(90)])],
  ])(
    'content %s that is announced as a picture is 415 and leaves nothing behind [X4, S147, S149]',
    async (_, content) => {
      const before = (await lying()).objects;
      const name = (await begin(ann, content.length, {}, { name: 'nice.png', type: 'image/png' })).body;
      const answer = await complete(ann, name, await sendParts(ann, name, [content]));
      expect([answer.status, answer.body.code]).toEqual([415, 'unsupported_media']);
      expect((await lying()).objects).toEqual(before);
      expect(await db.sql`select 1 from media_uploads where id = ${name.uploadId}`).toHaveLength(0);
      expect((await fetch(`${app.address}/uploads/${name.key}`)).status).toBe(404);
    },
  );

  test('content of another accepted kind than announced is kept as its own kind [S147, S149]', async () => {
    const png = await picture(30, 20);
    const name = (await begin(ann, png.length, {}, { name: 'film.mp4', type: 'video/mp4' })).body;
    const { body } = await complete(ann, name, await sendParts(ann, name, [png]));
    expect(body).toMatchObject({
      mime: 'image/png',
      type: 'image',
      width: 30,
      height: 20,
      path: expect.stringMatching(/\.png$/),
      thumbnail: expect.stringMatching(/\.webp$/),
    });
    expect((await bytesOf(body.path)).equals(png)).toBe(true);
    await media.sweep(100);
    expect((await lying()).objects).not.toContain(name.key);
  });

  test('a completion beyond the quota is 402, and nothing stays [LM20, S149]', async () => {
    const cat = await paid.signUp();
    const name = (await begin(cat, 5_000)).body;
    const parts = await sendParts(cat, name, [film(5_000)]);
    await override(db.sql, cat.orgId, { storage_gb: 0 });
    const answer = await complete(cat, name, parts);
    expect([answer.status, answer.body.code]).toEqual([402, 'limit_exceeded']);
    expect((await lying()).objects).not.toContain(name.key);
  });
});
