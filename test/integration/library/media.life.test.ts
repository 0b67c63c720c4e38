// oxlint-disable max-lines -- one product and its storages serve all cases
import { buffer } from 'node:stream/consumers';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { readConfig } from '../../../src/platform/config/config.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { MediaRoom } from '../../../src/library/media/index.ts';
import type { ProviderSettings } from '../../../src/providers/settings/index.ts';
import type { SignedUp, TestApp } from '../../support/worlds/app.ts';
import type { Database } from '../../../src/platform/db/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { ATTEMPT } from '../../support/worlds/media-of.ts';
import { BACKEND, HASTY, mediaApp } from '../../support/worlds/media.ts';
import { startReceiver } from '../../support/wire/receiver.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';

// How long a file lives, and what of it goes when.

const QUOTA = 20_000;
let db: TestDatabase;
let app: TestApp;
let media: MediaRoom;
let settings: ProviderSettings;
let folder: string;

beforeAll(async () => {
  db = await testDatabase();
  folder = await mkdtemp(join(tmpdir(), 'rookery-media-'));
  app = await mediaApp({
    sql: db.sql,
    folder,
    clock: HASTY,
    env: { LOCAL_STORAGE_QUOTA_GB: String(QUOTA / 1024 ** 3) },
  });
  ({ media, providerSettings: settings } = app.context);
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
  if (folder) await rm(folder, { recursive: true });
});

const keyOf = (address: string) => address.slice(`${BACKEND}/uploads/`.length);
const lies = (address: string) => existsSync(join(folder, keyOf(address)));
const upload = async (who: SignedUp, bytes: Uint8Array, more: Record<string, string> = {}) =>
  (await who.client.post('/files/upload-server', formOf(bytes, { more }))).body;
const deletedSince = (id: string, age: string) =>
  db.sql`update files set deleted_at = now() - ${age}::text::interval where id = ${id}`;
async function post(orgId: string, items: unknown[], state = 'QUEUE', named: object = {}): Promise<string> {
  const [channel, id] = [newId(), newId()];
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channel}, ${orgId}, 'sandbox', 'v1', ${channel}, 'c', 'v2:')`;
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, media, settings, publish_date)
    values (${id}, ${orgId}, ${channel}, 'g', ${state}, 'scheduled', 'hi', ${db.sql.json(items as never)},
      ${db.sql.json(named as never)}, now() + interval '1 day')`;
  return id;
}
const remains = () => db.sql`select storage_key from media_pending_deletions order by storage_key`;

describe('a deleted file', () => {
  test('the file and its thumbnail leave the storage after SOFT_DELETE_RETENTION_DAYS, not before [RT9]', async () => {
    const ann = await app.signUp();
    const [old, young] = [await upload(ann, await picture(50, 50)), await upload(ann, await picture(50, 50))];
    for (const { id } of [old, young]) await ann.client.delete(`/files/${id}`);
    await deletedSince(old.id, '30 days 1 minute');
    await deletedSince(young.id, '29 days 23 hours');
    expect([old.path, old.thumbnail, young.path, young.thumbnail].map(lies)).toEqual([true, true, true, true]);
    expect(await media.sweep(100)).toBeGreaterThan(0);
    expect([old.path, old.thumbnail, young.path, young.thumbnail].map(lies)).toEqual([false, false, true, true]);
    expect(await db.sql`select id from files where id in (${old.id}, ${young.id})`).toEqual([{ id: young.id }]);
    expect(await remains()).toEqual([]);
    expect(readConfig({}).config.retention).toMatchObject({ softDeleted: 30, multipartUploads: 7 });
  });

  test('all bytes leave the storage though another part of the sweep fails each time [RT9]', async () => {
    const ann = await app.signUp();
    const files = [await upload(ann, await picture(50, 50)), await upload(ann, await picture(50, 50))];
    for (const { id } of files) await ann.client.delete(`/files/${id}`);
    for (const { id } of files) await deletedSince(id, '31 days');
    await db.sql`alter table media_uploads rename to media_uploads_away`; // uploads cannot be given up
    const faults: unknown[] = [];
    try {
      for (let round = 0; round < 20 && faults.length === 0; round += 1)
        await media.sweep(1).catch((error: unknown) => faults.push(error)); // as the sweeper does, which ends with a fault
    } finally {
      await db.sql`alter table media_uploads_away rename to media_uploads`;
    }
    expect(faults).toHaveLength(1);
    expect(files.flatMap((file) => [lies(file.path), lies(file.thumbnail)])).toEqual([false, false, false, false]);
  });

  test('the file and its thumbnail are 404 at their addresses, unless another file shows them [S150, S152]', async () => {
    const ann = await app.signUp();
    const png = await picture(50, 50);
    const [gone, cover, film] = [await upload(ann, png), await upload(ann, png), await upload(ann, HEADS['mp4']!)];
    await ann.client.post('/files/information', { id: film.id, thumbnail: cover.path });
    const at = (address: string) => fetch(app.address + new URL(address).pathname);
    const before = await at(gone.path);
    expect([before.status, Number(/max-age=(\d+)/.exec(before.headers.get('cache-control')!)![1]) <= 3_600]).toEqual([
      200,
      true,
    ]);
    expect(before.headers.get('cache-control')).not.toContain('immutable');
    const etag = before.headers.get('etag')!;
    for (const { id } of [gone, cover]) expect((await ann.client.delete(`/files/${id}?force=true`)).status).toBe(200);
    expect(
      (await fetch(app.address + new URL(gone.path).pathname, { headers: { 'if-none-match': etag } })).status,
    ).toBe(404);
    expect([(await at(gone.path)).status, (await at(gone.thumbnail)).status, (await at(cover.path)).status]).toEqual([
      404, 404, 200,
    ]);
    expect(lies(gone.path)).toBe(true); // until retention takes it
  });

  test('a file that a post needs stays until the post is settled; one deleted by force does not [RT9, S150]', async () => {
    const ann = await app.signUp();
    const png = await picture(30, 30);
    const [draft, forced] = [await upload(ann, png), await upload(ann, png)];
    const item = (file: { id: string; path: string }, bare = false) =>
      bare ? { path: file.path, alt: '' } : { id: file.id, path: file.path, alt: '' };
    const queued = await post(ann.orgId, [item(draft, true)], 'DRAFT');
    await post(ann.orgId, [item(forced)]);
    expect((await ann.client.delete(`/files/${draft.id}`)).status).toBe(200);
    expect((await ann.client.delete(`/files/${forced.id}`)).status).toBe(409);
    expect((await ann.client.delete(`/files/${forced.id}?force=true`)).status).toBe(200);
    await db.sql`update posts set state = 'QUEUE' where id = ${queued}`; // scheduled after its picture was deleted
    for (const { id } of [draft, forced]) await deletedSince(id, '40 days');
    await media.sweep(100);
    expect([lies(draft.path), lies(forced.path)]).toEqual([true, false]);
    const [loaded] = await media.load(ann.orgId, [item(draft)], ATTEMPT);
    expect((await buffer(loaded!.open())).equals(png)).toBe(true);
    await expect(media.load(ann.orgId, [item(forced)], ATTEMPT)).rejects.toMatchObject({ failure: 'rejected' });
    await expect(media.judge(ann.orgId, [{ at: 'image', items: [item(draft)] }])).rejects.toMatchObject({
      code: 'validation_failed',
    });
    await db.sql`update posts set state = 'PUBLISHED' where id = ${queued}`;
    await media.sweep(100);
    expect(lies(draft.path)).toBe(false);
  });

  test('a file that was deleted is at its address while a post that needs it is queued, for networks that fetch [S150]', async () => {
    const ann = await app.signUp();
    const file = await upload(ann, await picture(30, 30));
    const draft = await post(ann.orgId, [{ id: file.id, path: file.path, alt: '' }], 'DRAFT');
    const statuses = () =>
      Promise.all(
        [file.path, file.thumbnail].map(async (at) => (await fetch(app.address + new URL(at).pathname)).status),
      );
    expect((await ann.client.delete(`/files/${file.id}`)).status).toBe(200);
    expect(await statuses()).toEqual([404, 404]);
    await db.sql`update posts set state = 'QUEUE' where id = ${draft}`;
    expect(await statuses()).toEqual([200, 200]);
    await db.sql`update files set withdrawn = true where id = ${file.id}`;
    expect(await statuses()).toEqual([404, 404]);
    await db.sql`update files set withdrawn = false where id = ${file.id}`;
    await db.sql`update posts set state = 'PUBLISHED' where id = ${draft}`;
    expect(await statuses()).toEqual([404, 404]);
  });

  test('a picture that a queued post names beside its media, or in a setting, is 409 and stays [RT9, S150]', async () => {
    const ann = await app.signUp();
    const files = await Promise.all(Array.from({ length: 8 }, async () => upload(ann, await picture(30, 30))));
    const [shown, small, asAddress, asFile, byId, ofChannel, unused, drafted] = files;
    const film = { path: 'https://a.example/f.mp4', alt: '' };
    const posts = [
      await post(ann.orgId, [{ ...film, thumbnail: shown.path }]),
      await post(ann.orgId, [{ ...film, thumbnail: small.thumbnail }]),
      await post(ann.orgId, [], 'QUEUE', { thumbnail: `${asAddress.path}?v=1` }),
      await post(ann.orgId, [], 'QUEUE', { cover: { path: asFile.path.replace('/uploads/', '/api/uploads/') } }),
      await post(ann.orgId, [], 'QUEUE', { cover: { id: byId.id, path: 'https://a.example/c.png' } }),
    ];
    await post(ann.orgId, [{ ...film, thumbnail: drafted.path }], 'DRAFT');
    const channel = db.sql`select channel_id from posts where id = ${posts[0]!}`;
    await db.sql`
      update channels
      set settings = ${db.sql.json({ thumbnail: ofChannel.path })}
      where id = (${channel})`;
    const used = [shown, small, asAddress, asFile, byId, ofChannel];
    const statusOf = async ({ id }: { id: string }) => (await ann.client.delete(`/files/${id}`)).status;
    expect(await Promise.all(used.map(statusOf))).toEqual(used.map(() => 409));
    expect(await Promise.all([unused, drafted].map(statusOf))).toEqual([200, 200]);

    await db.sql`update files set deleted_at = now() - interval '40 days' where org_id = ${ann.orgId}`;
    await media.sweep(100);
    expect(files.map(({ path }) => lies(path))).toEqual([true, true, true, true, true, true, false, false]);
    await db.sql`update posts set state = 'PUBLISHED' where id = any(${posts}::uuid[])`;
    await db.sql`update channels set settings = '{}' where id = (${channel})`;
    await media.sweep(100);
    expect(used.map(({ path }) => lies(path))).toEqual(used.map(() => false));
  });

  test('a cover leaves with its last file, unless it is a file of the library itself', async () => {
    const ann = await app.signUp();
    const film = await upload(ann, HEADS['mp4']!);
    const [gone, kept] = [await upload(ann, await picture(20, 20)), await upload(ann, await picture(20, 20))];
    await ann.client.post('/files/information', { id: film.id, thumbnail: gone.path });
    await ann.client.delete(`/files/${gone.id}`);
    await deletedSince(gone.id, '31 days');
    await media.sweep(100);
    expect((await ann.client.get(`/files/${film.id}`)).body.thumbnail).toBeNull();
    await ann.client.post('/files/information', { id: film.id, thumbnail: kept.path });
    await ann.client.delete(`/files/${film.id}`);
    await deletedSince(film.id, '31 days');
    await media.sweep(100);
    expect([lies(film.path), lies(kept.path)]).toEqual([false, true]);
  });
});

test('a replaced thumbnail leaves the storage', async () => {
  const ann = await app.signUp();
  const [file, cover] = [await upload(ann, await picture(90, 90)), await upload(ann, await picture(20, 20))];
  await ann.client.post('/files/information', { id: file.id, thumbnail: cover.path });
  await media.sweep(100);
  expect([lies(file.thumbnail), lies(file.path), lies(cover.path)]).toEqual([false, true, true]);
  await ann.client.post('/files/information', { id: file.id, thumbnail: null });
  await media.sweep(100);
  expect(lies(cover.path)).toBe(true);
});

test('files of a deleted organization leave the storage', async () => {
  const [ann, ben] = [await app.signUp(), await app.signUp()];
  const [hers, his] = [await upload(ann, await picture(20, 20)), await upload(ben, await picture(20, 20))];
  await db.sql`delete from organizations where id = ${ann.orgId}`;
  await media.sweep(100);
  expect([lies(hers.path), lies(hers.thumbnail), lies(his.path)]).toEqual([false, false, true]);
  expect(await readdir(join(folder, ann.orgId))).toEqual([]);
});

test('bytes without a row leave the storage after a day', async () => {
  const ann = await app.signUp();
  const key = `${ann.orgId}/${'O'.repeat(32)}.png`;
  const file = await upload(ann, await picture(20, 20));
  await db.sql`
    insert into media_pending_deletions (storage_key, org_id, storage_id, own_storage, due_at)
    values (${key}, ${ann.orgId}, 'local', false, now() + interval '1 day')`;
  await copyFile(join(folder, keyOf(file.path)), join(folder, key));
  await media.sweep(100);
  expect(existsSync(join(folder, key))).toBe(true);
  await db.sql`update media_pending_deletions set due_at = now() where storage_key = ${key}`;
  await media.sweep(100);
  expect([existsSync(join(folder, key)), lies(file.path)]).toEqual([false, true]);
});

describe('the soft quota of local storage', () => {
  test('LOCAL_STORAGE_QUOTA_GB is 5 GB and MEDIA_UPLOAD_MAX_BYTES is 1 GiB unless they are set [FI2, FI3]', () => {
    expect(readConfig({}).config.uploads).toMatchObject({ maxBytes: 1_073_741_824, localQuotaBytes: 5 * 1024 ** 3 });
    expect(readConfig({ LOCAL_STORAGE_QUOTA_GB: '0.5', MEDIA_UPLOAD_MAX_BYTES: '7' }).config.uploads).toMatchObject({
      maxBytes: 7,
      localQuotaBytes: 1024 ** 3 / 2,
    });
  });

  test('uploads over the quota pass with a warning on the answer, on every route [FI1, FI3, S153]', async () => {
    const [ann, ben] = [await app.signUp(), await app.signUp()];
    const program = await ann.withKey();
    const film = (bytes: number) => Buffer.concat([HEADS['mp4']!, Buffer.alloc(bytes - HEADS['mp4']!.length)]);
    const warning = async (who: Pick<SignedUp['client'], 'post'>, path: string, bytes: number) => {
      const answer = await who.post(path, formOf(film(bytes)));
      expect(answer.status).toBe(201);
      return answer.headers.get('x-storage-warning');
    };
    expect(await warning(ann.client, '/files/upload-server', QUOTA)).toBeNull();
    expect(await warning(ann.client, '/files/upload-server', 200)).toBe('soft-quota');
    expect(await warning(program, '/public/v1/upload', 200)).toBe('soft-quota');
    expect(await warning(ben.client, '/files/upload-server', 200)).toBeNull();
    const { body: name } = await ann.client.post('/files/create-multipart-upload', {
      file: { name: 'a.mp4', size: 300 },
    });
    const { body: signed } = await ann.client.post('/files/sign-part', {
      uploadId: name.uploadId,
      key: name.key,
      partNumber: 1,
    });
    const etag = (
      await fetch(signed.url.replace(BACKEND, app.address), { method: 'PUT', body: film(300) })
    ).headers.get('etag');
    const done = await ann.client.post('/files/complete-multipart-upload', {
      uploadId: name.uploadId,
      key: name.key,
      parts: [{ PartNumber: 1, ETag: etag }],
    });
    expect([done.status, done.headers.get('x-storage-warning')]).toEqual([200, 'soft-quota']);
    const told = await db.sql`select org_id from outbox where topic = 'storage.over_quota'`;
    expect(told.map((fact) => fact['org_id'])).toEqual([ann.orgId]); // once a day
    for (const { id } of (await ann.client.get('/files')).body.results) await ann.client.delete(`/files/${id}`);
    expect(await warning(ann.client, '/files/upload-server', 200)).toBeNull();
  });
});

describe('save-media', () => {
  test('an upload with preventSave is added to the library by its name, key or address, under the given name [S147, S150]', async () => {
    const ann = await app.signUp();
    const hidden = await Promise.all(
      [1, 2, 3].map(async () => upload(ann, await picture(8, 8), { preventSave: 'true' })),
    );
    expect((await ann.client.get('/files')).body.total).toBe(0);
    const [byName, byKey, byAddress] = [
      await ann.client.post('/files/save-media', {
        name: hidden[0].path.split('/').at(-1),
        originalName: ' Beach.png ',
      }),
      await ann.client.post('/media/save-media', { name: keyOf(hidden[1].path) }),
      await ann.client.post('/files/save-media', { name: hidden[2].path }),
    ];
    expect([byName, byKey, byAddress].map(({ status, body }, n) => [status, body.id === hidden[n].id])).toEqual([
      [200, true],
      [200, true],
      [200, true],
    ]);
    expect([byName!.body.originalName, byName!.body.name]).toEqual(['Beach.png', 'Beach.png']);
    expect((await ann.client.get('/files')).body.total).toBe(3);
    const again = await ann.client.post('/files/save-media', { name: hidden[0].path, originalName: 'Other.png' });
    // what is shown is changed by /files/information only
    expect([again.status, again.body.name]).toEqual([200, 'Beach.png']);
  });

  test('a file of another organization is refused as unknown [S9, S150]', async () => {
    const [ann, eve] = [await app.signUp(), await app.signUp()];
    const { path } = await upload(ann, await picture(8, 8), { preventSave: 'true' });
    for (const name of [
      path,
      keyOf(path),
      keyOf(path).split('/')[1],
      '../x',
      'nothing.png',
      `${BACKEND}/uploads/../../etc/passwd`,
    ]) {
      const answer = await eve.client.post('/files/save-media', { name });
      expect([name, answer.status, answer.body.errors[0].field]).toEqual([name, 400, 'name']);
    }
    for (const [body, field] of [
      [{}, 'name'],
      [{ name: path, originalName: ' ' }, 'originalName'],
      [{ name: path, id: 'x' }, 'id'],
    ] as const)
      expect((await ann.client.post('/files/save-media', body)).body.errors[0].field).toBe(field);
    expect((await ann.client.get('/files')).body.total).toBe(0);
  });
});

test('bytes stay with their row when the answer of its commit is lost, and are deleted when there is no row [FI1]', async () => {
  let fault: 'before' | 'after' | undefined;
  const sql = new Proxy(db.sql, {
    get: (target, name: keyof Database) =>
      name !== 'begin' || fault === undefined
        ? target[name]
        : async (work: Parameters<Database['begin']>[1]) => {
            if (fault === 'before') throw new Error('the line broke');
            await target.begin(work as never);
            throw new Error('the line broke');
          },
  });
  const broken = await mediaApp({ sql, folder });
  const bytes = await picture(60, 60);
  const cat = await broken.signUp();
  const before = await remains();
  fault = 'before';
  expect((await cat.client.post('/files/upload-server', formOf(bytes))).status).toBe(500);
  expect([
    await db.sql`select 1 from files where org_id = ${cat.orgId}`,
    await readdir(join(folder, cat.orgId)),
    await remains(),
  ]).toEqual([[], [], before]);
  fault = 'after';
  expect((await cat.client.post('/files/upload-server', formOf(bytes))).status).toBe(500);
  await broken[Symbol.asyncDispose]();
  const [row] = await db.sql`select storage_key as key, thumbnail_key as small from files where org_id = ${cat.orgId}`;
  for (let n = 0; n < 2; n += 1) {
    expect([existsSync(join(folder, row!['key'])), existsSync(join(folder, row!['small']))]).toEqual([true, true]);
    await media.sweep(100);
  }
});

describe('a failing storage', () => {
  test('an upload answers the failure and is kept nowhere else; possible remains are deleted later', async () => {
    const ann = await app.signUp();
    const by = { userId: ann.userId, impersonatorId: null, ip: null };
    const options = { endpoint: 'http://127.0.0.1:9', region: 'us-east-1', bucket: 'gone' }; // nobody listens there
    const { id } = await settings.create(
      ann.orgId,
      {
        domain: 'storage',
        providerId: 's3_compatible',
        credentials: { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' },
        options,
      },
      by,
    );
    const before = await readdir(folder);
    const answer = await ann.client.post('/files/upload-server', formOf(await picture(20, 20)));
    expect([answer.status, answer.body.code]).toEqual([502, 'provider_failed']);
    expect(answer.text).not.toContain('secret-of-the-storage');
    expect(await readdir(folder)).toEqual(before);
    expect((await ann.client.get('/files')).body.total).toBe(0);
    const left = () => db.sql`select tries from media_pending_deletions where org_id = ${ann.orgId}`;
    expect(await left()).toHaveLength(2);
    await db.sql`update media_pending_deletions set due_at = now() where org_id = ${ann.orgId}`;
    await media.sweep(100);
    expect(await left()).toEqual([{ tries: 1 }, { tries: 1 }]); // tried again later
    await settings.remove(ann.orgId, id, by);
    await db.sql`update media_pending_deletions set due_at = now() where org_id = ${ann.orgId}`;
    await media.sweep(100);
    expect(await left()).toHaveLength(0); // nobody can reach it any more
    expect((await ann.client.post('/files/upload-server', formOf(await picture(20, 20)))).status).toBe(201);
  });

  test('a refused deletion is repeated for months, by the age of each object', async () => {
    const ann = await app.signUp();
    const by = { userId: ann.userId, impersonatorId: null, ip: null };
    let refuses = true;
    await using bucket = await startReceiver({
      answer: (response) =>
        void response.writeHead(refuses ? 403 : 204).end(refuses ? '<Error><Code>AccessDenied</Code></Error>' : ''),
    });
    const options = { endpoint: bucket.url, region: 'us-east-1', bucket: 'shut' };
    const setting = {
      domain: 'storage',
      providerId: 's3_compatible',
      credentials: { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' },
      options,
    };
    const { id } = await settings.create(ann.orgId, setting, by);
    for (const [name, tries] of [
      ['Y', 0],
      ['O', 29],
    ] as const)
      await db.sql`
        insert into media_pending_deletions (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at,
          tries)
        values (${`${ann.orgId}/${name.repeat(32)}.png`}, ${ann.orgId}, 's3_compatible', ${id}, true, now(), ${tries})`;
    const left = () => db.sql`select tries from media_pending_deletions where org_id = ${ann.orgId}`;
    await media.sweep(100);
    expect(await left()).toEqual([{ tries: 1 }]); // the old one is left to its owner
    refuses = false;
    await db.sql`update media_pending_deletions set due_at = now() where org_id = ${ann.orgId}`;
    await media.sweep(100);
    expect(await left()).toEqual([]);
  });

  test('an object that cannot be deleted keeps no other one of its storage, and not for ever a place ahead of them', async () => {
    const ann = await app.signUp();
    const by = { userId: ann.userId, impersonatorId: null, ip: null };
    const isLocked = (key: string) => key.includes('LOCKED');
    await using bucket = await startReceiver({
      answer(response, { path, body }) {
        if (path.includes('delete')) {
          const errors = [...String(body).matchAll(/<Key>([^<]*LOCKED[^<]*)<\/Key>/g)]
            .map(([, key]) => `<Error><Key>${key}</Key><Code>AccessDenied</Code></Error>`)
            .join('');
          return void response.writeHead(200).end(`<DeleteResult>${errors}</DeleteResult>`);
        }
        response
          .writeHead(isLocked(path) ? 403 : 204)
          .end(isLocked(path) ? '<Error><Code>AccessDenied</Code></Error>' : '');
      },
    });
    const { id } = await settings.create(
      ann.orgId,
      {
        domain: 'storage',
        providerId: 's3_compatible',
        credentials: { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' },
        options: { endpoint: bucket.url, region: 'us-east-1', bucket: 'partly-shut' },
      },
      by,
    );
    const keys = [...Array.from({ length: 7 }, (_, n) => `LOCKED${n}`), 'FREEa', 'FREEb'];
    for (const key of keys)
      await db.sql`
        insert into media_pending_deletions (storage_key, org_id, storage_id, storage_setting_id, own_storage, due_at)
        values (${`${ann.orgId}/${key.padEnd(32, 'x')}.png`}, ${ann.orgId}, 's3_compatible', ${id}, true, now())`;
    const left = async () =>
      (await db.sql`select storage_key as key from media_pending_deletions where org_id = ${ann.orgId}`).map(
        ({ key }) => isLocked(key as string),
      );
    for (let round = 0; round < 6; round += 1) {
      await db.sql`update media_pending_deletions set due_at = now() where org_id = ${ann.orgId}`;
      await media.sweep(100);
    }
    expect(await left()).toEqual(Array.from({ length: 7 }, () => true));
  });

  test('a storage that refuses the credentials is not reported as a network that refuses a channel', async () => {
    const ann = await app.signUp();
    await using locker = await startReceiver({
      answer: (response) =>
        void response
          .writeHead(401, { 'content-type': 'application/json' })
          .end('{"error":{"code":"Unauthorized","message":"no"}}'),
    });
    const setting = {
      domain: 'storage',
      providerId: 'medialocker',
      credentials: { apiKey: 'a'.repeat(64) },
      options: { baseUrl: locker.url, bucketId: newId() },
    };
    const file = await upload(ann, await picture(20, 20));
    const { id } = await settings.create(ann.orgId, setting, { userId: ann.userId, impersonatorId: null, ip: null });
    await db.sql`
      update files
      set storage_id = 'medialocker', storage_setting_id = ${id}, own_storage = true
      where id = ${file.id}`;
    const [loaded] = await media.load(ann.orgId, [{ id: file.id, path: file.path, alt: '' }], ATTEMPT);
    await expect(buffer(loaded!.open())).rejects.toMatchObject({ failure: 'unavailable' });
    await expect(buffer(loaded!.read(1, 5))).rejects.toMatchObject({ failure: 'unavailable' });
    await using site = await startReceiver({
      answer: (response) => void picture(5, 5).then((bytes) => response.writeHead(200).end(bytes)),
    });
    await expect(media.load(ann.orgId, [{ path: `${site.url}/a.png`, alt: '' }], ATTEMPT)).rejects.toMatchObject({
      failure: 'unavailable',
    });
    expect(locker.ledger.length).toBeGreaterThan(1);
  });
});
