import { afterAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { CREDENTIALS, startBucket } from '../../support/peers/bucket.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { ATTEMPT } from '../../support/worlds/media-of.ts';
import { BACKEND, HASTY, mediaApp } from '../../support/worlds/media.ts';
import { begin, film, openMultipart } from '../../support/worlds/multipart.ts';
import { formOf, picture } from '../../support/worlds/samples.ts';
import {
  admit,
  newPost,
  openNetwork,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../support/worlds/publishing/world.ts';

// What becomes of files where a storage of an organization or of the instance is of another mind than the service.

const MIB = 1024 ** 2;
const world = await openMultipart();
afterAll(() => world[Symbol.asyncDispose]());
const { db, app, folder } = world;
const { media, providerSettings: settings } = app.context;
const by = (who: SignedUp) => ({ userId: who.userId, impersonatorId: null, ip: null });

/** A file in the storage of a setting, as its row says. */
async function fileAt(orgId: string, storageSettingId: string, extension: string, mime: string) {
  const key = `${orgId}/${newId().replaceAll('-', '')}.${extension}`;
  const id = newId();
  await db.sql`
    insert into files (id, org_id, name, original_name, storage_id, storage_setting_id, own_storage, storage_key, kind,
      mime, bytes)
    values (${id}, ${orgId}, 'a file', 'a file', 's3_compatible', ${storageSettingId}, true, ${key},
      ${mime.startsWith('image/') ? 'image' : 'document'}, ${mime}, 4)`;
  return { id, key, path: `${BACKEND}/uploads/${key}` };
}

test('a due post with a file waits while its storage refuses the credentials', async () => {
  await using bucket = await startBucket();
  const network = openNetwork();
  network.behave = async (post, _, accept) => {
    for await (const piece of post.media[0]!.open()) expect(piece.length).toBeGreaterThan(0);
    return accept();
  };
  await using publisher = await startPublisher({ url: db.url, network });
  const { orgId, userId, channelId } = await seedOrg(db.sql);
  const { id: setting } = await publisher.context.providerSettings.create(orgId, bucket.setting(), {
    userId,
    impersonatorId: null,
    ip: null,
  });
  const file = await fileAt(orgId, setting, 'png', 'image/png');
  bucket.objects.set(file.key, Buffer.from('file'));
  bucket.refuses = () => ({ status: 403, code: 'InvalidAccessKeyId' });
  const post = newPost(channelId, { media: [{ id: file.id, path: file.path, alt: '' }] });
  await admit(publisher, orgId, [post]);
  await settled(db.sql, orgId, { details: ['retrying'] });
  expect(await stateOf(db.sql, post.id)).toMatchObject({
    state: 'QUEUE',
    detail: 'retrying',
    error: expect.stringContaining('InvalidAccessKeyId'),
  });
});

describe('the address of a part in the bucket of the instance', () => {
  test('takes the bytes that were announced and no more, each part but the last as large as was told [S149]', async () => {
    await using bucket = await startBucket();
    const ann = await app.signUp();
    const { id } = await settings.create(null, bucket.setting(), by(ann));
    const { uploadId, key, partSize } = (await begin(ann, 2 * MIB)).body;
    await db.sql`update media_uploads set bytes = ${partSize + 7} where id = ${uploadId}`;
    const sign = async (partNumber: number) => ann.client.post('/files/sign-part', { uploadId, key, partNumber });
    for (const partNumber of [1, 2])
      expect(new URL((await sign(partNumber)).body.url).searchParams.get('X-Amz-SignedHeaders')).toBe(
        'content-length;host',
      );
    const beyond = await sign(3);
    expect([beyond.status, beyond.body.errors?.[0].field]).toEqual([400, 'partNumber']);
    // what uploader libraries send when nobody tells them a size
    expect(partSize).toBe(5 * MIB);
    await db.sql`delete from media_uploads where id = ${uploadId}`;
    await settings.remove(null, id, by(ann));
  });

  test('takes any length in a bucket that the organization brought [S149]', async () => {
    await using bucket = await startBucket();
    const ann = await app.signUp();
    await settings.create(ann.orgId, bucket.setting(), by(ann));
    const { uploadId, key } = (await begin(ann, 100)).body;
    const { url } = (await ann.client.post('/files/sign-part', { uploadId, key, partNumber: 9 })).body;
    expect(new URL(url).searchParams.get('X-Amz-SignedHeaders')).toBe('host');
  });
});

test('parts that lie here on their way to a storage without parts are 10 GiB together at most [S149]', async () => {
  const ann = await app.signUp();
  await settings.create(
    ann.orgId,
    {
      domain: 'storage',
      providerId: 'medialocker',
      credentials: { apiKey: 'ab'.repeat(32) },
      options: { bucketId: newId() },
    },
    by(ann),
  );
  const { uploadId } = (await begin(ann, 100)).body;
  await db.sql`update media_uploads set bytes = ${10 * 1024 ** 3 - 50} where id = ${uploadId}`;
  expect(await begin(ann, 100)).toMatchObject({ status: 409, body: { code: 'conflict' } });
});

test('a cover from another storage than that of its film goes out with it', async () => {
  await using bucket = await startBucket();
  const ann = await app.signUp();
  const upload = async (bytes: Uint8Array, name: string) => {
    const { status, body } = await ann.client.post('/files/upload-server', formOf(bytes, { name }));
    expect([status, body.message]).toEqual([201, undefined]);
    return body;
  };
  const whole = film(2_000);
  const clip = await upload(whole, 'film.mp4');
  await settings.create(ann.orgId, bucket.setting(), by(ann));
  const png = await picture(20, 20);
  const cover = await upload(png, 'a.png');
  await ann.client.post('/files/information', { id: clip.id, thumbnail: cover.path });
  await db.sql`update files set updated_at = now() where id = ${cover.id}`; // its row comes behind that of the film
  const items = [{ id: clip.id, path: clip.path, alt: '', thumbnail: cover.path }];
  const [loaded] = await media.load(ann.orgId, items, ATTEMPT);
  expect(loaded!.thumbnail?.size).toBe(png.length);
  // the film keeps it, also once nobody has it in the library any more
  expect((await ann.client.delete(`/files/${cover.id}`)).status).toBe(200);
  const shown = async () => (await fetch(app.address + new URL(cover.path).pathname, { redirect: 'manual' })).status;
  expect(await shown()).toBe(302); // to its bucket
  expect((await ann.client.delete(`/files/${clip.id}`)).status).toBe(200);
  expect(await shown()).toBe(404);
});

test('an upload that its storage did not give up can be aborted again at once [S149]', async () => {
  await using bucket = await startBucket();
  const ann = await app.signUp();
  await settings.create(ann.orgId, bucket.setting(), by(ann));
  const { uploadId, key } = (await begin(ann, 100)).body;
  bucket.refuses = () => ({ status: 403, code: 'AccessDenied' });
  const abort = () => ann.client.post('/files/abort-multipart-upload', { uploadId, key });
  expect((await abort()).status).toBe(502);
  bucket.refuses = undefined;
  expect(await abort()).toMatchObject({ status: 200, body: { success: true } });
});

describe('a storage that hands out addresses and signs no disposition', () => {
  /** MediaLocker, with one object behind each key unless it has none. */
  async function locker(who: SignedUp) {
    const state = { hasObject: true };
    const server: Receiver = await startReceiver({
      answer(response, { path, headers }) {
        const json = (status: number, body: unknown) =>
          void response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
        if (path.endsWith('/presign/confirm'))
          return state.hasObject ? json(200, { objectId: 'o1' }) : json(409, { error: { code: 'ObjectNotUploaded' } });
        if (path.endsWith('/presign/download')) return json(200, { url: `${server.url}/object` });
        const range = { 'content-range': 'bytes 0-0/4', 'last-modified': 'Wed, 12 Aug 2026 10:00:00 GMT' };
        response.writeHead(headers.range === undefined ? 200 : 206, range);
        response.end(headers.range === 'bytes=0-0' ? '%' : '%PDF');
      },
    });
    const one = await mediaApp({
      sql: db.sql,
      folder,
      clock: HASTY,
      servers: { 'storage/medialocker': server.url },
    });
    const credentials = { apiKey: 'ab'.repeat(32) };
    const { id } = await settings.create(
      who.orgId,
      { domain: 'storage', providerId: 'medialocker', credentials, options: { bucketId: newId() } },
      by(who),
    );
    return {
      state,
      id,
      open: (key: string) => fetch(`${one.address}/uploads/${key}`, { redirect: 'manual' }),
      async [Symbol.asyncDispose]() {
        await one[Symbol.asyncDispose]();
        await server[Symbol.asyncDispose]();
      },
    };
  }

  test('has its documents saved by browsers, not shown [S152]', async () => {
    const ann = await app.signUp();
    await using at = await locker(ann);
    const document = await fileAt(ann.orgId, at.id, 'pdf', 'application/pdf');
    const answer = await at.open(document.key);
    expect([answer.status, answer.headers.get('content-disposition'), await answer.text()]).toEqual([
      200,
      expect.stringMatching(/^attachment/),
      '%PDF',
    ]);
  });

  test('answers 404 for an object that is gone [S152]', async () => {
    const ann = await app.signUp();
    await using at = await locker(ann);
    const shown = await fileAt(ann.orgId, at.id, 'png', 'image/png');
    expect((await at.open(shown.key)).status).toBe(302);
    at.state.hasObject = false;
    expect((await at.open(shown.key)).status).toBe(404);
  });
});

test('where objects lie cannot be changed while a file lies there; keys and the public address can [S157]', async () => {
  await using bucket = await startBucket();
  const ann = await app.signUp();
  const { id } = await settings.create(ann.orgId, bucket.setting(), by(ann));
  const change = (wanted: object) => settings.update(ann.orgId, id, wanted, by(ann));
  await change({ options: { bucket: 'other' } });
  await change({ options: { bucket: 'media', keyPrefix: 'kept' } });
  const file = await fileAt(ann.orgId, id, 'png', 'image/png');
  for (const keyPrefix of ['kept/', 'kept']) await change({ options: { keyPrefix } }); // the same folder
  for (const options of [{ bucket: 'other' }, { keyPrefix: 'elsewhere' }])
    await expect(change({ options })).rejects.toMatchObject({ code: 'conflict' });
  await change({
    credentials: { ...CREDENTIALS, secretAccessKey: 'another-secret' },
    options: { bucket: 'media', publicUrl: 'https://cdn.example' },
  });
  await db.sql`delete from files where id = ${file.id}`;
  await expect(change({ options: { bucket: 'other' } })).rejects.toMatchObject({ code: 'conflict' }); // its deletion is due
  await db.sql`delete from media_pending_deletions where storage_key = ${file.key}`;
  await change({ options: { bucket: 'other' } });
});

test('uploads of nobody leave each storage of the instance, also one that is no longer chosen [RT8]', async () => {
  await using earlier = await startBucket();
  await using chosen = await startBucket();
  const ann = await app.signUp();
  const made = [
    await settings.create(null, earlier.setting(), by(ann)),
    await settings.create(null, { ...chosen.setting(), isDefault: true }, by(ann)),
  ];
  for (const bucket of [earlier, chosen])
    bucket.uploads = [{ key: `${ann.orgId}/${'a'.repeat(32)}.mp4`, id: `of-nobody-${newId()}` }];
  await media.sweep(100);
  for (const { asked, uploads } of [earlier, chosen])
    expect(asked.filter((one) => one.startsWith('DELETE'))).toEqual([expect.stringContaining(uploads[0]!.id)]);
  for (const { id } of made) await settings.remove(null, id, by(ann));
});
