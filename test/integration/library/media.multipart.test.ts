// oxlint-disable max-lines -- one product and its storages serve all cases
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from '@jest/globals';
import { dropAbandoned } from '../../../src/library/media/uploads/abandon.ts';
import { claimUpload } from '../../../src/library/media/uploads/store.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { override } from '../../support/worlds/billing.ts';
import { eventually } from '../../support/wire/eventually.ts';
import {
  begin,
  complete,
  film,
  openMultipart,
  put,
  sendParts,
  sign,
  type UploadName,
} from '../../support/worlds/multipart.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { mediaApp } from '../../support/worlds/media.ts';
import { formOf, picture } from '../../support/worlds/samples.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

const MIB = 1024 ** 2;
const world = await openMultipart();
afterAll(() => world[Symbol.asyncDispose]());
const { db, app, paid, folder, lying, bytesOf } = world;
const { media, providerSettings: settings } = app.context;
const [ann, ben] = [await app.signUp(), await app.signUp()];

describe('multipart upload', () => {
  test('a completed upload becomes a file of the library, with its address [S149]', async () => {
    const whole = film(250_000);
    const begun = await begin(ann, whole.length);
    expect([begun.status, Object.keys(begun.body).toSorted()]).toEqual([200, ['key', 'partSize', 'uploadId']]);
    expect(begun.body.key).toMatch(new RegExp(`^${ann.orgId}/[0-9A-Za-z]{32}\\.mp4$`));
    const parts = await sendParts(ann, begun.body, [
      whole.subarray(0, 100_000),
      whole.subarray(100_000, 200_000),
      whole.subarray(200_000),
    ]);
    const listed = await ann.client.post('/files/list-parts', { uploadId: begun.body.uploadId, key: begun.body.key });
    expect(listed.body.map(({ PartNumber, Size }: { PartNumber: number; Size: number }) => [PartNumber, Size])).toEqual(
      [
        [1, 100_000],
        [2, 100_000],
        [3, 50_000],
      ],
    );
    const done = await complete(ann, begun.body, parts);
    expect([done.status, done.body]).toMatchObject([
      200,
      {
        name: 'film.mp4',
        mime: 'video/mp4',
        size: 250_000,
        type: 'video',
        location: done.body.path,
        organizationId: ann.orgId,
      },
    ]);
    expect((await bytesOf(done.body.path)).equals(whole)).toBe(true);
    expect((await ann.client.get(`/files/${done.body.id}`)).status).toBe(200);
    expect(await lying()).toMatchObject({ parts: [], incoming: [] });
    const again = await complete(ann, begun.body, parts);
    expect([again.status, again.body.id]).toEqual([200, done.body.id]);
  });

  test('an interrupted upload goes on: stored parts are kept, and a part may be sent again [S149]', async () => {
    const whole = film(90_000);
    const first = (await begin(ann, whole.length, { fileHash: 'h1' })).body;
    await sendParts(ann, first, [whole.subarray(0, 30_000)]);
    const second = (await begin(ann, whole.length, { fileHash: 'h1' })).body;
    expect(second).toEqual(first);
    for (const [who, more] of [
      [ann, { fileHash: 'h2' }],
      [ben, { fileHash: 'h1' }],
    ] as const)
      expect((await begin(who, whole.length, more)).body.uploadId).not.toBe(first.uploadId);
    const wrong = await put(await sign(ann, first, 2), Buffer.alloc(10));
    await put(await sign(ann, first, 2), whole.subarray(30_000));
    const arrived = (await ann.client.post('/files/list-parts', { uploadId: first.uploadId, key: first.key })).body;
    expect(arrived.map(({ Size }: { Size: number }) => Size)).toEqual([30_000, 60_000]);
    const stale = await complete(ann, first, [arrived[0], { PartNumber: 2, ETag: wrong.headers.get('etag') }]);
    expect([stale.status, stale.body.errors[0].field]).toEqual([400, 'parts.1.ETag']);
    const done = await complete(
      ann,
      first,
      arrived.map(({ PartNumber, ETag }: { PartNumber: number; ETag: string }) => ({ PartNumber, ETag })),
    );
    expect((await bytesOf(done.body.path)).equals(whole)).toBe(true);
  });

  test('an upload begun in a storage that is no longer chosen starts anew in the current one [S149]', async () => {
    const cat = await app.signUp();
    const by = { userId: cat.userId, impersonatorId: null, ip: null };
    const bucket = await startReceiver({
      answer: (response) =>
        void response
          .writeHead(200, { 'content-type': 'application/xml' })
          .end('<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>'),
    });
    const options = { endpoint: bucket.url, region: 'us-east-1', bucket: 'first' };
    const credentials = { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' };
    const { id } = await settings.create(
      cat.orgId,
      { domain: 'storage', providerId: 's3_compatible', credentials, options },
      by,
    );
    const whole = film(80_000);
    const first = (await begin(cat, whole.length, { fileHash: 'h1' })).body;
    expect((await sign(cat, first, 1)).startsWith(bucket.url)).toBe(true);
    await settings.update(cat.orgId, id, { enabled: false }, by);
    await bucket[Symbol.asyncDispose]();
    const second = await begin(cat, whole.length, { fileHash: 'h1' });
    expect([second.status, second.body.uploadId === first.uploadId]).toEqual([200, false]);
    expect((await complete(cat, second.body, await sendParts(cat, second.body, [whole]))).status).toBe(200);
    expect((await cat.client.post('/files/list-parts', { uploadId: first.uploadId, key: first.key })).body.code).toBe(
      'provider_failed',
    );
  });

  test('an upload with parts of another size starts anew, and goes on in that size in an own bucket [S149]', async () => {
    await using large = await mediaApp({ sql: db.sql, folder, env: { MEDIA_UPLOAD_MAX_BYTES: String(50 * MIB) } });
    const cat = await large.signUp();
    let sizes: number[] = [];
    let begun = 0;
    await using bucket = await startReceiver({
      answer(response, { method }) {
        const parts = sizes.map(
          (size, n) => `<Part><PartNumber>${n + 1}</PartNumber><Size>${size}</Size><ETag>"p${n + 1}"</ETag></Part>`,
        );
        if (method === 'POST') begun += 1;
        response
          .writeHead(200, { 'content-type': 'application/xml' })
          .end(
            method === 'POST'
              ? `<InitiateMultipartUploadResult><UploadId>u${begun}</UploadId></InitiateMultipartUploadResult>`
              : `<ListPartsResult><UploadId>u${begun}</UploadId><IsTruncated>false</IsTruncated>${parts.join('')}</ListPartsResult>`,
          );
      },
    });
    const options = { endpoint: bucket.url, region: 'us-east-1', bucket: 'first' };
    const credentials = { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' };
    const setting = { domain: 'storage', providerId: 's3_compatible', credentials, options } as const;
    const by = { userId: cat.userId, impersonatorId: null, ip: null };
    const { providerSettings } = large.context;
    const { id } = await providerSettings.create(null, setting, by);
    const ask = async () => (await begin(cat, 12 * MIB, { fileHash: 'h1' })).body;
    const first = await ask();
    expect(first).toEqual({ uploadId: expect.any(String), key: expect.any(String), partSize: 5 * MIB });
    sizes = [5 * MIB, 5 * MIB, 2 * MIB];
    expect(await ask()).toEqual(first);
    sizes = [8 * MIB]; // as was told once
    const second = await ask();
    expect([second.uploadId === first.uploadId, second.partSize]).toEqual([false, 5 * MIB]);
    expect(await db.sql`select id from media_uploads where org_id = ${cat.orgId}`).toEqual([{ id: second.uploadId }]);
    sizes = [];
    expect(await ask()).toEqual(second);
    await db.sql`delete from media_uploads where org_id = ${cat.orgId}`;
    await db.sql`delete from media_pending_deletions where storage_setting_id = ${id}`;
    await providerSettings.remove(null, id, by);

    await providerSettings.create(cat.orgId, setting, by);
    const own = await ask();
    sizes = [8 * MIB];
    expect(await ask()).toEqual({ ...own, partSize: 8 * MIB }); // with parts of 5 it would never become 12
    sizes = [8 * MIB, 4 * MIB];
    expect(await ask()).toEqual({ ...own, partSize: 8 * MIB });
    sizes = [6 * MIB, 5 * MIB]; // of a client that chooses its own
    expect(await ask()).toEqual(own);
  });

  test('a storage that fails in the middle is reported, and the upload stays usable [S149]', async () => {
    const cat = await app.signUp();
    let [status, code] = [200, ''];
    await using bucket = await startReceiver({
      answer: (response) =>
        void response
          .writeHead(status, { 'content-type': 'application/xml' })
          .end(
            status === 200
              ? '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>'
              : `<Error><Code>${code}</Code></Error>`,
          ),
    });
    const options = { endpoint: bucket.url, region: 'us-east-1', bucket: 'first' };
    const credentials = { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' };
    const by = { userId: cat.userId, impersonatorId: null, ip: null };
    await settings.create(cat.orgId, { domain: 'storage', providerId: 's3_compatible', credentials, options }, by);
    const name = (await begin(cat, 5_000)).body;
    for (const [answered, word, listed, completed] of [
      [403, 'AccessDenied', 502, 502],
      [403, 'SignatureDoesNotMatch', 502, 502],
      [404, 'NoSuchBucket', 502, 502],
      [404, 'NoSuchUpload', 404, 409],
      [503, 'SlowDown', 502, 502],
    ] as const) {
      [status, code] = [answered, word];
      const list = await cat.client.post('/files/list-parts', { uploadId: name.uploadId, key: name.key });
      const done = await complete(cat, name, [{ PartNumber: 1, ETag: 'x' }]);
      expect([word, list.status, done.status]).toEqual([word, listed, completed]);
      expect(list.text + done.text).not.toContain('secret-of-the-storage');
      expect(await db.sql`select held_until as held from media_uploads where id = ${name.uploadId}`).toEqual([
        { held: null },
      ]);
    }
  });

  test('abort-multipart-upload deletes the parts; a second call answers 404 [S149]', async () => {
    const name = (await begin(ann, 50_000)).body;
    const url = await sign(ann, name, 1);
    await put(url, film(50_000));
    const { uploadId, key } = name;
    const before = (await lying()).parts.length;
    expect((await ann.client.post('/files/abort-multipart-upload', { uploadId, key })).body).toEqual({ success: true });
    expect((await lying()).parts).toHaveLength(before - 1);
    expect((await put(url, film(50_000))).status).toBe(404);
    for (const [path, more] of [
      ['sign-part', { partNumber: 1 }],
      ['list-parts', {}],
      ['complete-multipart-upload', { parts: [{ PartNumber: 1, ETag: 'x' }] }],
      ['abort-multipart-upload', {}],
    ] as const)
      expect([path, (await ann.client.post(`/files/${path}`, { uploadId, key, ...more })).status]).toEqual([path, 404]);
  });

  test('a part in transit answers 404 when its upload is aborted, and nothing of it stays [S149]', async () => {
    const name = (await begin(ann, 6_000)).body;
    const before = (await lying()).incoming.length;
    const slow = httpRequest(await sign(ann, name, 1), { method: 'PUT', headers: { 'content-length': 6_000 } });
    const answered = new Promise<number | undefined>((done, fail) => {
      slow.once('response', (response) => done(response.resume().statusCode)).once('error', fail);
    });
    slow.write(film(3_000));
    await eventually('half of a part is here', async () => (await lying()).incoming.length > before);
    const { uploadId, key } = name;
    expect((await ann.client.post('/files/abort-multipart-upload', { uploadId, key })).body).toEqual({ success: true });
    slow.end(Buffer.alloc(3_000));
    expect(await answered).toBe(404);
    expect((await lying()).incoming).toHaveLength(before);
  });

  test('an upload of another organization answers as unknown [S9, S149]', async () => {
    const { uploadId, key } = (await begin(ann, 1_000)).body;
    for (const [path, more] of [
      ['sign-part', { partNumber: 1 }],
      ['list-parts', {}],
      ['complete-multipart-upload', { parts: [{ PartNumber: 1, ETag: 'x' }] }],
      ['abort-multipart-upload', {}],
    ] as const) {
      const foreign = await ben.client.post(`/media/${path}`, { uploadId, key, ...more });
      const unknown = await ben.client.post(`/media/${path}`, { uploadId: newId(), key, ...more });
      expect([path, foreign.status, foreign.body.message]).toEqual([path, 404, unknown.body.message]);
      expect(
        (await ann.client.post(`/media/${path}`, { uploadId, key: key.replace('mp4', 'mov'), ...more })).status,
      ).toBe(404);
    }
    expect((await ann.client.post('/files/list-parts', { uploadId, key })).status).toBe(200);
  });

  test('a hundred completions at once make one file [S149]', async () => {
    const whole = film(60_000);
    const name = (await begin(ann, whole.length)).body;
    const parts = await sendParts(ann, name, [whole]);
    const answers = await Promise.all(Array.from({ length: 100 }, () => complete(ann, name, parts)));
    expect([...new Set(answers.map(({ status }) => status))].filter((status) => ![200, 409].includes(status))).toEqual(
      [],
    );
    expect(new Set(answers.flatMap(({ status, body }) => (status === 200 ? [body.id] : []))).size).toBe(1);
    expect(await db.sql`select 1 from files where org_id = ${ann.orgId} and bytes = ${whole.length}`).toHaveLength(1);
    expect(await db.sql`select 1 from media_uploads where id = ${name.uploadId}`).toHaveLength(0);
    const [file] = await db.sql`select id from files where org_id = ${ann.orgId} and bytes = ${whole.length}`;
    const again = await complete(ann, name, parts);
    expect([again.status, again.body.id]).toEqual([200, file!['id']]);
  });

  test('a completed upload always answers with its file, also for other content than announced; 409 after the file is deleted [S149]', async () => {
    const png = await picture(31, 17);
    const name = (await begin(ann, png.length, {}, { name: 'film.mp4', type: 'video/mp4' })).body;
    const parts = await sendParts(ann, name, [png]);
    const { body: file } = await complete(ann, name, parts);
    const again = await complete(ann, name, parts);
    expect([again.status, again.body.id, again.body.mime]).toEqual([200, file.id, 'image/png']);
    expect((await complete(ben, name, parts)).status).toBe(404);
    await ann.client.delete(`/files/${file.id}`);
    expect(await complete(ann, name, parts)).toMatchObject({ status: 409, body: { code: 'conflict' } });
  });

  test('a completion is 409 while another one holds the upload, and possible after that one fails [S149]', async () => {
    const whole = film(64_000);
    const name = (await begin(ann, whole.length)).body;
    const parts = await sendParts(ann, name, [whole]);
    await db.sql`update media_uploads set held_until = now() + interval '1 minute' where id = ${name.uploadId}`;
    expect(await complete(ann, name, parts)).toMatchObject({ status: 409, body: { code: 'conflict' } });
    await db.sql`update media_uploads set held_until = now() - interval '1 second' where id = ${name.uploadId}`;
    expect((await complete(ann, name, parts)).status).toBe(200);
  });

  test('a completion that outlasts its claim is taken over: both callers get the one file [S149]', async () => {
    const whole = film(65_000);
    const name = (await begin(ann, whole.length)).body;
    const parts = await sendParts(ann, name, [whole]);
    const id = newId();
    const late = await db.sql.begin(async (tx) => {
      await tx`
        insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, upload_id)
        values (${id}, ${ann.orgId}, 'film.mp4', 'film.mp4', ${name.key}, 'video', 'video/mp4', ${whole.length},
          ${name.uploadId})`;
      const answer = complete(ann, name, parts);
      const waits = () => waitingOnLock(db.sql, 'insert into files');
      await eventually('the other one waits for this commit', async () => (await waits()) === 1);
      await tx`delete from media_uploads where id = ${name.uploadId}`;
      return { answer };
    });
    const done = await late.answer;
    expect([done.status, done.body.id]).toEqual([200, id]);
    expect((await bytesOf(done.body.path)).equals(whole)).toBe(true);
  });

  test('a file completed by one caller keeps its bytes when a slower caller is refused [S149, LM20]', async () => {
    const cat = await paid.signUp();
    const whole = film(67_000);
    const name = (await begin(cat, whole.length)).body;
    const parts = await sendParts(cat, name, [whole]);
    const id = newId();
    await override(db.sql, cat.orgId, { storage_gb: 0 });
    const late = await db.sql.begin(async (tx) => {
      await tx`select from organizations where id = ${cat.orgId} for no key update`;
      const answer = complete(cat, name, parts);
      const waits = () => waitingOnLock(db.sql, 'from organizations');
      await eventually('the other one waits to be admitted', async () => (await waits()) === 1);
      await tx`
        insert into files (id, org_id, name, original_name, storage_key, kind, mime, bytes, upload_id)
        values (${id}, ${cat.orgId}, 'film.mp4', 'film.mp4', ${name.key}, 'video', 'video/mp4', ${whole.length},
          ${name.uploadId})`;
      await tx`delete from media_uploads where id = ${name.uploadId}`;
      return { answer };
    });
    const done = await late.answer;
    expect([done.status, done.body.id]).toEqual([200, id]);
    await media.sweep(100);
    expect((await bytesOf(done.body.path)).equals(whole)).toBe(true);
  });

  test('an upload whose parts are missing in the storage is 409 [S149]', async () => {
    const whole = film(66_000);
    const name = (await begin(ann, whole.length)).body;
    const parts = await sendParts(ann, name, [whole]);
    for (const lost of await readdir(join(folder, '.parts')))
      await rm(join(folder, '.parts', lost), { recursive: true });
    expect(await complete(ann, name, parts)).toMatchObject({ status: 409, body: { code: 'conflict' } });
  });

  test('a process that ends between object and row leaves the completion to the next attempt [S149]', async () => {
    const whole = film(70_000);
    const name = (await begin(ann, whole.length)).body;
    const parts = await sendParts(ann, name, [whole]);
    await db.sql.unsafe(
      'create function refuse() returns trigger language plpgsql as $$ begin raise exception $m$cut off$m$; end $$; create trigger refuse before insert on files for each row execute function refuse()',
    );
    await expect(media.uploads.complete(ann.orgId, name, parts)).rejects.toThrow('cut off');
    await db.sql.unsafe('drop trigger refuse on files; drop function refuse');
    expect((await lying()).objects).toContain(name.key);
    const done = await complete(ann, name, parts);
    expect([done.status, (await bytesOf(done.body.path)).equals(whole)]).toEqual([200, true]);
  });

  test.each(['person', 'organization'])(
    'an object without a row goes with the upload, where its %s is erased before the next attempt [S149, S150]',
    async (whose) => {
      const eve = await app.signUp();
      const whole = film(70_000);
      const [cut, made] = [(await begin(eve, whole.length)).body, (await begin(eve, whole.length)).body];
      const parts = await sendParts(eve, cut, [whole]);
      const file = (await complete(eve, made, await sendParts(eve, made, [whole]))).body;
      await db.sql.unsafe(
        'create function refuse() returns trigger language plpgsql as $$ begin raise exception $m$cut off$m$; end $$; create trigger refuse before insert on files for each row execute function refuse()',
      );
      await expect(media.uploads.complete(eve.orgId, cut, parts)).rejects.toThrow('cut off');
      await db.sql.unsafe('drop trigger refuse on files; drop function refuse');
      expect((await lying()).objects).toEqual(expect.arrayContaining([cut.key, made.key]));
      if (whose === 'person') await db.sql`delete from users where id = ${eve.userId}`;
      else await db.sql`delete from organizations where id = ${eve.orgId}`;
      await media.sweep(1_000);
      const { objects } = await lying();
      expect([objects.includes(cut.key), objects.includes(made.key)]).toEqual([false, whose === 'person']);
      expect(file.id).toEqual(expect.any(String));
    },
  );

  test.each(['person', 'organization'])(
    'an object that comes after its %s was erased, as somebody completes it, goes when their claim ends [S149]',
    async (whose) => {
      const eve = await app.signUp();
      const whole = film(70_000);
      const name: UploadName = (await begin(eve, whole.length)).body;
      await claimUpload(db.sql, eve.orgId, name.uploadId, name.key, 60_000);
      if (whose === 'person') await db.sql`delete from users where id = ${eve.userId}`;
      else await db.sql`delete from organizations where id = ${eve.orgId}`;
      await media.sweep(1_000);
      await mkdir(join(folder, dirname(name.key)), { recursive: true });
      await writeFile(join(folder, name.key), whole);
      await db.sql`
        update media_pending_deletions set due_at = due_at - interval '60 s' where storage_key = ${name.key}`;
      await media.sweep(1_000);
      expect((await lying()).objects).not.toContain(name.key);
    },
  );
});

test('concurrent completions, aborts, parts, deletions and sweeps leave each file its bytes and nothing else [S149, S150]', async () => {
  const cat = await app.signUp();
  for (let round = 0; round < 12; round += 1) {
    const whole = round % 3 === 0 ? await picture(40 + round, 30) : film(20_000 + round);
    const name = (await begin(cat, whole.length)).body;
    const url = await sign(cat, name, 1);
    const parts = [{ PartNumber: 1, ETag: (await put(url, whole)).headers.get('etag')! }];
    const { uploadId, key } = name;
    const abort = () => cat.client.post('/files/abort-multipart-upload', { uploadId, key });
    const answers = await Promise.all([
      ...Array.from({ length: 5 }, () => complete(cat, name, parts)),
      ...(round % 2 === 0 ? [abort(), abort()] : []),
      put(url, whole),
      media.sweep(100),
      complete(cat, name, parts).then(async (done) =>
        round % 4 === 1 && done.status === 200 ? cat.client.delete(`/files/${done.body.id}`) : done,
      ),
    ]);
    const statuses = answers.map((answer) => (typeof answer === 'number' ? 200 : answer.status));
    expect(statuses.filter((status) => ![200, 400, 404, 409].includes(status))).toEqual([]);
    await abort();
    const [file, ...others] = await db.sql`
        select storage_key as key, deleted_at is not null as deleted
        from files
        where org_id = ${cat.orgId} and upload_id = ${uploadId}`;
    expect([others.length, (await db.sql`select 1 from media_uploads where id = ${uploadId}`).length]).toEqual([0, 0]);
    if (file) expect((await fetch(`${app.address}/uploads/${file['key']}`)).status).toBe(file['deleted'] ? 404 : 200);
  }
  await media.sweep(1_000);
  const rows = await db.sql`select storage_key as key, thumbnail_key as small from files where org_id = ${cat.orgId}`;
  const named = rows.flatMap(({ key, small }) => [key as string, ...(small === null ? [] : [small as string])]);
  expect((await lying()).objects.filter((key) => key.startsWith(cat.orgId))).toEqual(named.toSorted());
});

test('an abandoned upload and its parts are deleted after MULTIPART_UPLOAD_RETENTION_DAYS [RT8, S149]', async () => {
  await media.sweep(1_000);
  const [old, young] = [(await begin(ann, 9_000)).body, (await begin(ann, 9_000)).body];
  for (const name of [old, young]) await sendParts(ann, name, [film(9_000)]);
  const before = (await lying()).parts.length;
  await db.sql`
    update media_uploads
    set created_at = now() - case id
      when ${old.uploadId} then interval '7 days 1 minute'
      else interval '6 days 23 hours' end
    where id in (${old.uploadId}, ${young.uploadId})`;
  expect(await media.sweep(100)).toBe(1);
  expect((await lying()).parts).toHaveLength(before - 1);
  const list = ({ uploadId, key }: UploadName) => ann.client.post('/files/list-parts', { uploadId, key });
  expect([(await list(old)).status, (await list(young)).status]).toEqual([404, 200]);
});

test('an upload that a storage does not give up keeps none of the others [RT8]', async () => {
  const asked: string[] = [];
  const begun = new Date(Date.now() - 9 * 86_400_000);
  const multipart = {
    uploads: async () => ['stuck', 'other'].map((id) => ({ key: id, id, begun })),
    async abort({ id }: { id: string }) {
      asked.push(id);
      if (id === 'stuck') throw new Error('The disk failed');
    },
  };
  const local = { storageId: 'local', storageSettingId: null, store: { multipart } };
  const storages = { local, ofInstance: async () => [] } as never; // all that is asked of them
  expect(await dropAbandoned({ sql: db.sql, storages, clock: systemClock, log: app.log }, 7, 100)).toBe(0);
  expect(asked).toEqual(['stuck', 'other']);
});

test('an upload that cannot be read keeps nothing else from being deleted [RT8, S149]', async () => {
  await media.sweep(1_000);
  const parts = join(folder, '.parts');
  const [stuck, nobodys] = ['a'.repeat(32), 'b'.repeat(32)];
  await mkdir(join(parts, stuck, 'key'), { recursive: true }); // no file: it cannot be read
  await mkdir(join(parts, nobodys), { recursive: true });
  const old = new Date(Date.now() - 9 * 86_400_000);
  for (const id of [stuck, nobodys]) await utimes(join(parts, id), old, old);
  const { body: file } = await ann.client.post('/files/upload-server', formOf(await picture(20, 20)));
  const [row] = await db.sql`
    update files set deleted_at = now() - interval '31 days' where id = ${file.id} returning storage_key as key`;
  expect(existsSync(join(folder, row!['key']))).toBe(true);
  try {
    await media.sweep(100);
    expect([existsSync(join(folder, row!['key'])), existsSync(join(parts, nobodys))]).toEqual([false, false]);
  } finally {
    await rm(join(parts, stuck), { recursive: true });
  }
});

describe('an upload whose row may not be there', () => {
  /** A product whose line to the database breaks before or after the commit of the next upload's row, with `error`. */
  async function openBreaking(when: 'before' | 'after', error: Error) {
    let commits = NaN;
    const sql = new Proxy(db.sql, {
      get: (target, name: keyof typeof db.sql) =>
        name !== 'begin'
          ? target[name]
          : async (work: Parameters<typeof target.begin>[1]) => {
              commits += 1;
              if (commits !== 2) return target.begin(work as never); // that of the row
              if (when === 'after') await target.begin(work as never);
              throw error;
            },
    });
    const broken = await mediaApp({ sql, folder });
    const cat = await broken.signUp();
    return {
      cat,
      breakNext: () => void (commits = 0),
      commits: () => commits,
      [Symbol.asyncDispose]: () => broken[Symbol.asyncDispose](),
    };
  }
  const uploadsOf = (who: { orgId: string }) => db.sql`select id from media_uploads where org_id = ${who.orgId}`;

  test.each(['before', 'after'] as const)(
    'counts against no limit, and has no parts, where the line breaks %s its commit [S149]',
    async (when) => {
      await using broken = await openBreaking(when, new Error('the line broke'));
      const { cat } = broken;
      const before = (await lying()).parts.length;
      broken.breakNext();
      const answer = await begin(cat, 9_000);
      expect([answer.status, broken.commits()]).toEqual([500, 3]);
      expect(await uploadsOf(cat)).toEqual([]);
      expect((await lying()).parts).toHaveLength(before);
    },
  );

  test.each(['before', 'after'] as const)(
    'is there for whoever repeats the request under its key, where the line breaks %s its commit [S18, S149]',
    async (when) => {
      const lost = Object.assign(new Error('the line broke'), { code: 'CONNECTION_CLOSED' });
      await using broken = await openBreaking(when, lost);
      const { cat } = broken;
      const body = { file: { name: 'film.mp4', size: 9_000, type: 'video/mp4' } };
      const ask = () => cat.client.post('/files/create-multipart-upload', body, { 'idempotency-key': `lost ${when}` });
      broken.breakNext();
      expect((await ask()).status).toBe(503);
      const again = await ask();
      expect([again.status, await uploadsOf(cat)]).toEqual([200, [{ id: again.body.uploadId }]]);
      const whole = film(9_000);
      const done = await complete(cat, again.body, await sendParts(cat, again.body, [whole]));
      expect([done.status, done.body.size]).toEqual([200, 9_000]);
    },
  );
});
