import { buffer } from 'node:stream/consumers';
import {
  CreateBucketCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListObjectsV2Command,
  S3Client,
} from '@aws-sdk/client-s3';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import type { MediaRoom } from '../../../src/library/media/index.ts';
import type { ProviderSettings } from '../../../src/providers/settings/index.ts';
import type { SignedUp, TestApp } from '../../support/worlds/app.ts';
import { override, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { ATTEMPT } from '../../support/worlds/media-of.ts';
import { BACKEND, mediaApp } from '../../support/worlds/media.ts';
import { describePeer, type Peer } from '../../support/peers/peers.ts';
import { formOf, HEADS, picture } from '../../support/worlds/samples.ts';
import { swiftPeer } from '../../support/peers/swift.ts';
import { versitygwPeer } from '../../support/peers/versitygw.ts';

// The library over real servers of S3: storage that an organization brought, and that of the instance.

const MIB = 1024 ** 2;

for (const [server, find] of Object.entries({ swift: swiftPeer, versitygw: versitygwPeer }))
  await describePeer(server, find, ({ start }) => {
    let peer: Peer;
    let db: TestDatabase;
    let app: TestApp;
    let media: MediaRoom;
    let folder: string;
    let client: S3Client;
    let settings: ProviderSettings;

    beforeAll(async () => {
      [peer, db, folder] = [await start(), await testDatabase(), await mkdtemp(join(tmpdir(), 'rookery-media-'))];
      app = await mediaApp({
        sql: db.sql,
        folder,
        env: { ...WITH_BILLING, MEDIA_UPLOAD_MAX_BYTES: String(20 * MIB), LOCAL_STORAGE_QUOTA_GB: '0' },
      });
      ({ media, providerSettings: settings } = app.context);
      const { accessKeyId, secretAccessKey, region } = peer.env as {
        accessKeyId: string;
        secretAccessKey: string;
        region: string;
      };
      client = new S3Client({
        endpoint: peer.url,
        region,
        credentials: { accessKeyId, secretAccessKey },
        forcePathStyle: true,
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
      });
    }, 300_000);
    afterAll(async () => {
      client?.destroy();
      await app?.[Symbol.asyncDispose]();
      await db?.[Symbol.asyncDispose]();
      await peer?.stop();
      if (folder) await rm(folder, { recursive: true });
    });

    const by = (who: SignedUp) => ({ userId: who.userId, impersonatorId: null, ip: null });
    /** A bucket of its own, as the storage of an organization, or with null of the instance. */
    async function bring(who: SignedUp, owner: string | null, bucket: string, isDefault = true) {
      await client.send(new CreateBucketCommand({ Bucket: bucket }));
      const { accessKeyId, secretAccessKey, region } = peer.env as Record<string, string>;
      return settings.create(
        owner,
        {
          domain: 'storage',
          providerId: 's3_compatible',
          isDefault,
          credentials: { accessKeyId, secretAccessKey },
          options: { endpoint: peer.url, region, bucket },
        },
        by(who),
      );
    }
    const keysOf = async (bucket: string) =>
      ((await client.send(new ListObjectsV2Command({ Bucket: bucket }))).Contents ?? [])
        .map(({ Key }) => Key!)
        .toSorted();
    const keyOf = (address: string) => address.slice(`${BACKEND}/uploads/`.length);
    const open = (address: string) => fetch(app.address + new URL(address).pathname);
    const upload = async (who: SignedUp, bytes: Uint8Array, file = 'a.png') =>
      who.client.post('/files/upload-server', formOf(bytes, { name: file }));

    test('a file goes to the storage of the organization, counts against no limit and is read there after a change of storage [LM20, S146, S152]', async () => {
      const ann = await app.signUp();
      const bucket = `own-${newId()}`;
      const own = await bring(ann, ann.orgId, bucket);
      await override(db.sql, ann.orgId, { storage_gb: 0 });
      const png = await picture(64, 48);
      const { status, body: file, headers } = await upload(ann, png);
      await override(db.sql, ann.orgId, {});
      expect([status, headers.get('x-storage-warning')]).toEqual([201, null]);
      expect(await keysOf(bucket)).toEqual([keyOf(file.path), keyOf(file.thumbnail)].toSorted());
      expect(existsSync(join(folder, keyOf(file.path)))).toBe(false);
      const [counters] = await db.sql`select storage_bytes::int as bytes from org_counters where org_id = ${ann.orgId}`;
      expect(counters?.['bytes'] ?? 0).toBe(0);

      const second = `next-${newId()}`;
      await bring(ann, ann.orgId, second);
      const { body: later } = await upload(ann, png);
      expect(await keysOf(second)).toContain(keyOf(later.path));
      for (const address of [file.path, file.thumbnail, later.path]) {
        const served = await open(address);
        expect([served.status, served.headers.get('content-type')]).toEqual([
          200,
          address.endsWith('webp') ? 'image/webp' : 'image/png',
        ]);
      }
      expect(Buffer.from(await (await open(file.path)).arrayBuffer()).equals(png)).toBe(true);
      await settings.update(ann.orgId, own.id, { enabled: false }, by(ann));
      const [loaded] = await media.load(ann.orgId, [{ id: file.id, path: file.path, alt: '' }], ATTEMPT);
      expect((await buffer(loaded!.open())).equals(png)).toBe(true);
      // a network gets it by itself: from this server, which can be reached from outside, and the storage cannot
      expect(loaded!.publicUrl).toBe(`${file.path}?redirect=no`);
      const whole = await fetch(app.address + loaded!.publicUrl!.slice(BACKEND.length), { redirect: 'error' });
      expect(Buffer.from(await whole.arrayBuffer()).equals(png)).toBe(true);
      const asked = { method: 'HEAD', redirect: 'error' } as const;
      const head = await fetch(app.address + loaded!.publicUrl!.slice(BACKEND.length), asked);
      expect([head.status, head.headers.get('content-length')]).toEqual([200, String(png.length)]);
      expect((await buffer(loaded!.read(10, 20))).equals(png.subarray(10, 20))).toBe(true);
      await expect(settings.remove(ann.orgId, own.id, by(ann))).rejects.toMatchObject({ code: 'conflict' });
    });

    test('another organization uses its own storage, the storage of the instance counts, and a document is served as a download [S152, LM19]', async () => {
      const ann = await app.signUp();
      const bucket = `all-${newId()}`;
      const shared = await bring(ann, null, bucket);
      const { body: file } = await upload(ann, HEADS['pdf']!, 'plan.pdf');
      expect(await keysOf(bucket)).toEqual([keyOf(file.path)]);
      const [counters] = await db.sql`
          select storage_bytes::int as bytes, local_bytes::int as local from org_counters where org_id = ${ann.orgId}`;
      expect([counters!['bytes'], counters!['local']]).toEqual([HEADS['pdf']!.length, 0]);
      const served = await open(file.path);
      expect([served.status, served.headers.get('content-disposition')]).toMatchObject([
        200,
        expect.stringMatching(/^attachment/),
      ]);
      await override(db.sql, ann.orgId, { storage_gb: 0 });
      expect((await upload(ann, HEADS['pdf']!)).status).toBe(402);
      await override(db.sql, ann.orgId, {});
      expect(await keysOf(bucket)).toHaveLength(1);
      expect(await db.sql`select 1 from media_pending_deletions`).toHaveLength(0);

      await ann.client.delete(`/files/${file.id}`);
      await db.sql`update files set deleted_at = now() - interval '31 days' where id = ${file.id}`;
      await media.sweep(100);
      expect(await keysOf(bucket)).toEqual([]);
      await settings.remove(null, shared.id, by(ann));
    });

    test('parts go straight to the bucket, are listed, and become a file that is checked like any other [S149, X4]', async () => {
      const ann = await app.signUp();
      const bucket = `parts-${newId()}`;
      await bring(ann, ann.orgId, bucket);
      const whole = Buffer.concat([HEADS['mp4']!, Buffer.alloc(6 * MIB, 3)]);
      const { body: begun } = await ann.client.post('/files/create-multipart-upload', {
        file: { name: 'film.mp4', size: whole.length, type: 'video/mp4' },
      });
      const name = { uploadId: begun.uploadId, key: begun.key };
      const pieces = [whole.subarray(0, 5 * MIB), whole.subarray(5 * MIB)];
      const parts = [];
      for (const [n, piece] of pieces.entries()) {
        const { body: signed } = await ann.client.post('/files/sign-part', { ...name, partNumber: n + 1 });
        expect(signed.url.startsWith(peer.url)).toBe(true);
        const put = await fetch(signed.url, {
          method: 'PUT',
          headers: signed.headers,
          body: piece as Uint8Array<ArrayBuffer>,
        });
        expect(put.status).toBe(200);
        parts.push({ PartNumber: n + 1, ETag: put.headers.get('etag')! });
      }
      const { body: listed } = await ann.client.post('/files/list-parts', name);
      expect(listed.map(({ Size }: { Size: number }) => Size)).toEqual(pieces.map(({ length }) => length));
      const missing = await ann.client.post('/files/complete-multipart-upload', { ...name, parts: parts.slice(0, 1) });
      expect([missing.status, missing.body.errors[0].field]).toEqual([400, 'parts']);
      const done = await ann.client.post('/files/complete-multipart-upload', { ...name, parts });
      expect([done.status, done.body.size, keyOf(done.body.path)]).toEqual([200, whole.length, begun.key]);
      expect(await keysOf(bucket)).toEqual([begun.key]);
      expect(Buffer.from(await (await open(done.body.path)).arrayBuffer()).equals(whole)).toBe(true);
    });

    test('a page uploaded in parts leaves the bucket; another accepted kind is kept as that kind [X4, S147, S149]', async () => {
      const ann = await app.signUp();
      const bucket = `judged-${newId()}`;
      await bring(ann, ann.orgId, bucket);
      const png = await picture(40, 30);
      const send = async (bytes: Buffer) => {
        const { body: begun } = await ann.client.post('/files/create-multipart-upload', {
          file: { name: 'x.mp4', size: bytes.length, type: 'video/mp4' },
        });
        const name = { uploadId: begun.uploadId, key: begun.key };
        const { body: signed } = await ann.client.post('/files/sign-part', { ...name, partNumber: 1 });
        const put = await fetch(signed.url, {
          method: 'PUT',
          headers: signed.headers,
          body: bytes as Uint8Array<ArrayBuffer>,
        });
        return ann.client.post('/files/complete-multipart-upload', {
          ...name,
          parts: [{ PartNumber: 1, ETag: put.headers.get('etag')! }],
        });
      };
      expect((await send(Buffer.from('<!doctype html><script>alert(1)</script>'))).status).toBe(415);
      expect(await keysOf(bucket)).toEqual([]);
      const { body: file } = await send(png);
      expect(file).toMatchObject({ mime: 'image/png', width: 40, height: 30, path: expect.stringMatching(/\.png$/) });
      await media.sweep(100);
      expect(await keysOf(bucket)).toEqual([keyOf(file.path), keyOf(file.thumbnail)].toSorted());
    });

    test('parts of a deleted organization leave the bucket of the instance, foreign uploads in it stay [RT8]', async () => {
      const [ann, eve] = [await app.signUp(), await app.signUp()];
      const bucket = `left-${newId()}`;
      const shared = await bring(ann, null, bucket);
      const begin = async (who: SignedUp) =>
        (
          await who.client.post('/files/create-multipart-upload', {
            file: { name: 'x.mp4', size: 100, type: 'video/mp4' },
          })
        ).body;
      const [gone, kept] = [await begin(ann), await begin(eve)];
      await client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: 'somebody/elses.mp4' }));
      await db.sql`delete from organizations where id = ${ann.orgId}`;
      const left = async () =>
        ((await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }))).Uploads ?? [])
          .map(({ Key }) => Key!)
          .toSorted();
      expect(await left()).toEqual([gone.key, kept.key, 'somebody/elses.mp4'].toSorted());
      await media.sweep(100);
      expect(await left()).toHaveLength(3); // young
      await using later = await mediaApp({
        sql: db.sql,
        folder,
        clock: { ...systemClock, now: () => new Date(Date.now() + 9 * 86_400_000) },
      });
      await later.context.media.sweep(100);
      expect(await left()).toEqual([kept.key, 'somebody/elses.mp4'].toSorted());
      await eve.client.post('/files/abort-multipart-upload', { uploadId: kept.uploadId, key: kept.key });
      await settings.remove(null, shared.id, by(eve));
    });

    test('an aborted or abandoned upload leaves no part in the bucket [S149, RT8]', async () => {
      const ann = await app.signUp();
      await bring(ann, ann.orgId, `gone-${newId()}`);
      const begin = async () => {
        const { body } = await ann.client.post('/files/create-multipart-upload', {
          file: { name: 'x.mp4', size: 100, type: 'video/mp4' },
        });
        const name = { uploadId: body.uploadId, key: body.key };
        const { body: signed } = await ann.client.post('/files/sign-part', { ...name, partNumber: 1 });
        await fetch(signed.url, { method: 'PUT', headers: signed.headers, body: Buffer.alloc(100) });
        return { name, url: signed.url as string };
      };
      const [aborted, abandoned] = [await begin(), await begin()];
      expect((await ann.client.post('/files/abort-multipart-upload', aborted.name)).body).toEqual({ success: true });
      await db.sql`
        update media_uploads set created_at = now() - interval '8 days' where id = ${abandoned.name.uploadId}`;
      await media.sweep(100);
      for (const { url, name } of [aborted, abandoned]) {
        expect((await fetch(url, { method: 'PUT', body: Buffer.alloc(100) })).status).toBe(404);
        expect((await ann.client.post('/files/list-parts', name)).status).toBe(404);
      }
      expect(await db.sql`select 1 from media_uploads where org_id = ${ann.orgId}`).toHaveLength(0);
    });
  });
