import { Readable } from 'node:stream';
import { refused, whenFailed } from '../kit/declare/fallback.ts';
import type { S3, S3Kind } from '../kit/protocols/s3.ts';
import { type Content, isKey, type MultipartStore, type Part, type Store, type Stored } from './_contract.ts';
import { MIB, partBytesOf, sendParts, wholeOf } from './_parts.ts';

const MOST_AT_ONCE = 1_000;
/**
 * The least that S3 takes, which uploader libraries send when nobody tells them a size: addresses are signed for this
 * length, so that it is the same where the service itself sends larger parts.
 */
const CLIENT_PART_BYTES = 5 * MIB;

export interface S3StoreOptions {
  s3: S3;
  /** Prefix of every key in the bucket, with its slash; may be empty. */
  prefix: string;
  acl: S3Kind['acl'];
  /** Public base address of the objects, without a trailing slash. */
  publicUrl: string | undefined;
  /** Of parts that the service sends. */
  partBytes: number | undefined;
  mostParts: number | undefined;
}

/** Opens a store in a bucket: small objects by one request, others in parts. */
export function openS3Store(options: S3StoreOptions): Store {
  const { s3, prefix, acl, publicUrl } = options;
  const at = (key: string) => {
    if (!isKey(key)) throw refused('rejected', `Not a storage key: ${key}`);
    return prefix + key;
  };
  const bucket: Bucket = {
    ...options,
    at,
    sizeOf: (bytes) => partBytesOf(bytes, { usual: options.partBytes, most: options.mostParts }),
  };
  const multipart = openS3Multipart(bucket);
  return {
    multipart,
    put: (key, content) => putObject(bucket, multipart, key, content),
    open: (key) => openObject(bucket, key),
    remove: (keys) => removeObjects(bucket, keys),
    url: (key) =>
      publicUrl === undefined ? undefined : `${publicUrl}/${at(key).split('/').map(encodeURIComponent).join('/')}`,
    direct: {
      get: async (key, seconds, { saveAs } = {}) =>
        s3.signGet(at(key), seconds, saveAs === undefined ? {} : { disposition: dispositionOf(saveAs) }),
      put: async (key, { bytes, mime }, seconds) => s3.signPut(at(key), { bytes, mime, acl }, seconds),
      async confirm(key) {
        if (!(await s3.head(at(key)))) throw refused('rejected', `Nothing has arrived at ${key}`);
      },
    },
    check: () =>
      whenFailed(
        'rejected',
        () => askBucket(bucket),
        () => tryObject(bucket),
      ),
  };
}

/** The bucket behind a store. `at`: the name of a key there. `sizeOf`: of the parts of so many bytes. */
interface Bucket extends S3StoreOptions {
  at(key: string): string;
  sizeOf(bytes: number): number;
}

const openS3Multipart = ({ s3, at, prefix, acl, mostParts }: Bucket): MultipartStore => ({
  partBytes: (bytes) => partBytesOf(bytes, { usual: CLIENT_PART_BYTES, most: mostParts }),
  begin: async (key, { mime }) => ({ key, id: await s3.begin(at(key), { mime, acl }) }),
  async put({ key, id }, number, body, bytes) {
    return { number, bytes, etag: await s3.part(at(key), id, number, await wholeOf({ from: body, bytes })) };
  },
  sign: async ({ key, id }, number, seconds, bytes) => s3.signPart(at(key), id, number, seconds, bytes),
  parts: async ({ key, id }) => s3.parts(at(key), id),
  async complete({ key, id }, parts) {
    const whole = parts.reduce((sum, { bytes }) => sum + bytes, 0);
    const done = async () => (await s3.head(at(key)))?.size === whole;
    await whenFailed(
      'unavailable',
      () => s3.complete(at(key), id, parts),
      async () => {
        if (!(await done())) await s3.complete(at(key), id, parts); // the outcome of the first call is unknown
      },
    );
  },
  abort: async ({ key, id }) => s3.abort(at(key), id),
  uploads: async () =>
    (await s3.uploads(prefix))
      .map(({ key, ...upload }) => ({ key: key.slice(prefix.length), ...upload }))
      .filter(({ key }) => isKey(key)),
});

async function putObject(
  { s3, at, acl, sizeOf }: Bucket,
  multipart: MultipartStore,
  key: string,
  content: Content,
): Promise<void> {
  const partBytes = sizeOf(content.bytes);
  if (content.bytes <= partBytes)
    return sendParts(content, partBytes, (_, data) => s3.put(at(key), data, { mime: content.mime, acl }));
  const upload = await multipart.begin(key, content);
  const parts: Part[] = [];
  try {
    await sendParts(content, partBytes, async (number, data) => {
      parts.push({ number, bytes: data.length, etag: await s3.part(at(key), upload.id, number, data) });
    });
    await multipart.complete(
      upload,
      parts.toSorted((a, b) => a.number - b.number),
    );
  } catch (error) {
    await multipart.abort(upload).catch(() => undefined); // a sweep aborts unfinished uploads
    throw error;
  }
}

async function openObject({ s3, at }: Bucket, key: string): Promise<Stored | undefined> {
  if (!isKey(key)) return undefined;
  const found = await s3.head(at(key));
  return (
    found && {
      ...found,
      read: (range) =>
        Readable.from(
          piecesOf(() => s3.get(at(key), range)),
          { objectMode: false },
        ),
      [Symbol.asyncDispose]: async () => {}, // nothing is open before the first read
    }
  );
}

async function removeObjects({ s3, at }: Bucket, keys: readonly string[]): Promise<void> {
  const [only] = keys;
  if (only !== undefined && keys.length === 1) return s3.delete(at(only));
  for (let n = 0; n < keys.length; n += MOST_AT_ONCE) await s3.deleteMany(keys.slice(n, n + MOST_AT_ONCE).map(at));
}

async function askBucket({ s3 }: Bucket): Promise<string> {
  await s3.headBucket();
  return 'The bucket is there';
}

/** Checks by writing: a key without access to the bucket itself may still write, read and remove objects. */
async function tryObject({ s3, at, acl }: Bucket): Promise<string> {
  const key = at(`check-${crypto.randomUUID()}`);
  await s3.put(key, new TextEncoder().encode('check'), { mime: 'text/plain', acl });
  const found = await s3.head(key);
  await s3.delete(key);
  if (found?.size !== 5) throw refused('rejected', 'An object that was put is not found again');
  return 'An object was put, found and removed';
}

async function* piecesOf(get: () => Promise<AsyncIterable<Uint8Array>>): AsyncGenerator<Uint8Array> {
  yield* await get();
}

/** Writes a content disposition (RFC 6266) with an ASCII fallback of the name. */
const dispositionOf = (name: string): string => {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, '_');
  const extended = encodeURIComponent(name.toWellFormed()).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return `attachment; filename="${ascii}"; filename*=UTF-8''${extended}`;
};
