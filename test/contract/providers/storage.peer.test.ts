import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { S3 } from '@aws-sdk/client-s3';
import { createHash, randomBytes } from 'node:crypto';
import { buffer, text } from 'node:stream/consumers';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import type { Store } from '../../../src/providers/registry/index.ts';
import { failureOf } from '../../support/peers/fake-network.ts';
import { describePeer, type Peer } from '../../support/peers/peers.ts';
import { localProviders } from '../../support/worlds/providers.ts';
import { swiftPeer } from '../../support/peers/swift.ts';
import { versitygwPeer } from '../../support/peers/versitygw.ts';

const MIB = 1024 * 1024;
const HOUR_MS = 3_600_000;
const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');
const stream = (...pieces: Uint8Array[]) => ({
  async *[Symbol.asyncIterator]() {
    yield* pieces;
  },
});
const content = (bytes: Uint8Array, mime = 'text/plain') => ({ from: stream(bytes), bytes: bytes.length, mime });
const hello = Buffer.from('hello storage');
const read = async (store: Store, key: string, range?: { start: number; end: number }) => {
  const found = await store.open(key);
  return found && buffer(found.read(range));
};

for (const [name, find] of Object.entries({ swift: swiftPeer, versitygw: versitygwPeer }))
  await describePeer(name, find, ({ start }) => {
    let peer: Peer;
    let values: Record<string, string>;
    const opened: AsyncDisposable[] = [];

    /** The bucket as the product opens it. */
    function open(more: Record<string, string> = {}, options: Parameters<typeof localProviders>[0] = {}): Store {
      const providers = localProviders(options);
      opened.push(providers);
      const adapter = providers.resolve('storage', 's3_compatible');
      return providers.storage(adapter, { orgId: 'o1', values: providers.fields(adapter, { ...values, ...more }) });
    }
    let store: Store;

    beforeAll(async () => {
      peer = await start();
      const { accessKeyId, secretAccessKey, region } = peer.env as Record<string, string>;
      values = {
        endpoint: peer.url,
        accessKeyId: accessKeyId!,
        secretAccessKey: secretAccessKey!,
        region: region!,
        bucket: 'media',
        keyPrefix: 'kept',
      };
      const client = new S3({
        endpoint: peer.url,
        region: region!,
        credentials: { accessKeyId: accessKeyId!, secretAccessKey: secretAccessKey! },
        forcePathStyle: true,
        requestChecksumCalculation: 'WHEN_REQUIRED',
        responseChecksumValidation: 'WHEN_REQUIRED',
      });
      await client.createBucket({ Bucket: 'media' });
      client.destroy();
      store = open();
    }, 300_000); // a machine that does much else takes its time to start them, and nobody stops what came too late
    afterAll(async () => {
      for (const one of opened) await one[Symbol.asyncDispose]();
      await peer?.stop();
    });

    test('puts an object, reads it whole and in part, replaces and removes it', async () => {
      await store.put('o1/a.txt', content(hello));
      await using found = await store.open('o1/a.txt');
      expect(found!.size).toBe(hello.length);
      expect(Math.abs(found!.modified.getTime() - new Date().getTime())).toBeLessThan(HOUR_MS);
      expect(await text(found!.read())).toBe('hello storage');
      expect((await read(store, 'o1/a.txt', { start: 6, end: 8 }))!.toString()).toBe('sto');
      await store.put('o1/a.txt', content(Buffer.from('other')));
      expect((await read(store, 'o1/a.txt'))!.toString()).toBe('other');
      await store.remove(['o1/a.txt']);
      expect(await store.open('o1/a.txt')).toBeUndefined();
      await store.remove(['o1/a.txt']); // what is gone counts as removed
    });

    test('removes several objects at once, missing ones among them', async () => {
      for (const key of ['o1/b1', 'o1/b2', 'o1/b3']) await store.put(key, content(hello));
      await store.remove(['o1/b1', 'o1/none', 'o1/b2']);
      expect([await store.open('o1/b1'), await store.open('o1/b2'), (await store.open('o1/b3'))?.size]).toEqual([
        undefined,
        undefined,
        hello.length,
      ]);
    });

    test('puts an empty object', async () => {
      await store.put('o1/empty', content(Buffer.alloc(0)));
      expect((await store.open('o1/empty'))?.size).toBe(0);
      expect(await read(store, 'o1/empty')).toHaveLength(0);
    });

    test('uploads 20 MiB in parts, and reads the same bytes', async () => {
      const bytes = randomBytes(20 * MIB + 17);
      await store.put('o1/film.mp4', {
        from: stream(bytes.subarray(0, 3), bytes.subarray(3)),
        bytes: bytes.length,
        mime: 'video/mp4',
      });
      expect(sha256((await read(store, 'o1/film.mp4'))!)).toBe(sha256(bytes));
      expect(sha256((await read(store, 'o1/film.mp4', { start: 8 * MIB - 5, end: 8 * MIB + 5 }))!)).toBe(
        sha256(bytes.subarray(8 * MIB - 5, 8 * MIB + 6)),
      );
      expect(await store.multipart!.uploads()).toEqual([]);
    });

    test.each([-1, 1])('refuses content that is %i bytes off, and leaves neither object nor upload', async (off) => {
      for (const size of [100, 17 * MIB]) {
        const failure = await failureOf(
          store.put('o1/off', { from: stream(Buffer.alloc(size + off)), bytes: size, mime: 'text/plain' }),
        );
        expect(failure.failure).toBe('rejected');
        expect([await store.open('o1/off'), await store.multipart!.uploads()]).toEqual([undefined, []]);
      }
    });

    test('accepts parts by signed addresses, lists them, replaces one, and makes one object', async () => {
      const { multipart } = store;
      const parts = [randomBytes(5 * MIB), randomBytes(5 * MIB), randomBytes(2 * MIB)];
      const upload = await multipart!.begin('o1/parts.mp4', { bytes: 12 * MIB, mime: 'video/mp4' });
      expect(await multipart!.parts(upload)).toEqual([]);
      expect((await multipart!.uploads()).map(({ key, id }) => ({ key, id }))).toEqual([upload]);

      for (const [n, data] of [
        [3, parts[2]],
        [1, randomBytes(5 * MIB)],
        [1, parts[0]],
      ] as const) {
        const { url, headers } = await multipart!.sign!(upload, n, 600);
        expect((await fetch(url, { method: 'PUT', headers, body: new Uint8Array(data!) })).status).toBe(200);
      }
      expect((await multipart!.parts(upload))!.map(({ number, bytes }) => [number, bytes])).toEqual([
        [1, 5 * MIB],
        [3, 2 * MIB],
      ]);
      const put = await multipart!.put(upload, 2, stream(parts[1]!), 5 * MIB);
      const arrived = (await multipart!.parts(upload))!;
      expect(arrived[1]).toEqual(put);

      await multipart!.complete(upload, arrived);
      expect(sha256((await read(store, 'o1/parts.mp4'))!)).toBe(sha256(Buffer.concat(parts)));
      expect(await multipart!.uploads()).toEqual([]);
      // Swift still tells of the parts of a completed one
      if (name !== 'swift') expect(await multipart!.parts(upload)).toBeUndefined();
    });

    test('refuses to complete an upload without a part, and aborts one', async () => {
      const { multipart } = store;
      const upload = await multipart!.begin('o1/never', { bytes: 6 * MIB, mime: 'video/mp4' });
      const part = await multipart!.put(upload, 1, stream(Buffer.alloc(5 * MIB)), 5 * MIB);
      expect(
        (await failureOf(multipart!.complete(upload, [{ ...part, etag: '"00000000000000000000000000000000"' }])))
          .failure,
      ).toBe('rejected');
      expect(
        (await failureOf(multipart!.complete(upload, [part, { number: 2, bytes: MIB, etag: part.etag }]))).failure,
      ).toBe('rejected');
      await multipart!.abort(upload);
      await multipart!.abort(upload);
      expect([await store.open('o1/never'), await multipart!.parts(upload), await multipart!.uploads()]).toEqual([
        undefined,
        undefined,
        [],
      ]);
    });

    test('a signed address accepts one length and one type only', async () => {
      const { url, headers } = await store.direct!.put(
        'o1/direct.txt',
        { bytes: hello.length, mime: 'text/plain' },
        600,
      );
      const put = async (body: Uint8Array, more: Record<string, string> = {}) =>
        (await fetch(url, { method: 'PUT', headers: { ...headers, ...more }, body: new Uint8Array(body) })).status;
      expect(await put(Buffer.concat([hello, hello]))).toBe(403);
      expect(await put(hello, { 'content-type': 'text/html' })).toBe(403);
      expect((await failureOf(store.direct!.confirm('o1/direct.txt'))).failure).toBe('rejected');
      expect(await put(hello)).toBe(200);
      await store.direct!.confirm('o1/direct.txt');

      const answer = await fetch((await store.direct!.get('o1/direct.txt', 600, { saveAs: 'Grüße "1".txt' }))!);
      expect([answer.status, await answer.text(), answer.headers.get('content-type')]).toEqual([
        200,
        'hello storage',
        expect.stringMatching(/^text\/plain/),
      ]);
      expect(answer.headers.get('content-disposition')).toBe(
        `attachment; filename="Gr__e _1_.txt"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.txt`,
      );
    });

    test('an expired or changed address is refused', async () => {
      await store.put('o1/kept.txt', content(hello));
      const good = (await store.direct!.get('o1/kept.txt', 600))!;
      const past = open({}, { clock: { ...systemClock, now: () => new Date(new Date().getTime() - HOUR_MS) } });
      const changed = [
        (await past.direct!.get('o1/kept.txt', 600))!,
        good.replace('kept.txt', 'other.txt'),
        good.replace('X-Amz-Expires=600', 'X-Amz-Expires=6000'),
        good.replace(/X-Amz-Signature=./, (found) => found.slice(0, -1) + (found.endsWith('0') ? '1' : '0')),
      ];
      expect((await fetch(good)).status).toBe(200);
      for (const url of changed) expect((await fetch(url)).status).toBe(403);
      const { url, headers } = await past.direct!.put('o1/late.txt', { bytes: hello.length, mime: 'text/plain' }, 600);
      expect((await fetch(url, { method: 'PUT', headers, body: hello })).status).toBe(403);
    });

    test('a wrong secret and a wrong bucket are different failures, and no message shows either', async () => {
      const secretAccessKey = 'not-the-secret-of-this-key';
      const wrong = open({ secretAccessKey });
      for (const work of [wrong.put('o1/x', content(hello)), wrong.check()]) {
        const failure = await failureOf(work);
        expect(failure.failure).toBe('reauthorize');
        expect(failure.message).not.toContain(secretAccessKey);
      }
      expect((await failureOf(open({ bucket: 'nobodys-bucket' }).check())).failure).toBe('rejected');
      expect(await store.check()).toBe('The bucket is there');
    });

    test('objects are below the folder of the bucket, and folders are separate', async () => {
      await store.put('o1/mine.txt', content(hello));
      expect((await read(open({ keyPrefix: '' }), 'kept/o1/mine.txt'))!.toString()).toBe('hello storage');
      const other = open({ keyPrefix: 'others/' });
      expect(await other.open('o1/mine.txt')).toBeUndefined();
      const upload = await other.multipart!.begin('o1/theirs', { bytes: 1, mime: 'video/mp4' });
      expect([(await other.multipart!.uploads()).map(({ id }) => id), await store.multipart!.uploads()]).toEqual([
        [upload.id],
        [],
      ]);
      await other.multipart!.abort(upload);
    });
  });
