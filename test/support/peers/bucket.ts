import { startReceiver } from '../wire/receiver.ts';

export const CREDENTIALS = { accessKeyId: 'rookery', secretAccessKey: 'secret-of-the-storage' };
const MODIFIED = 'Wed, 12 Aug 2026 10:00:00 GMT';

/** A server of S3 as far as the library asks one: it keeps objects, begins uploads, and refuses as told. */
export async function startBucket() {
  const objects = new Map<string, Buffer>();
  const bucket = {
    objects,
    /** What it answers instead, by method: a status, with the code that it tells where the answer has a body. */
    refuses: undefined as ((method: string) => { status: number; code: string } | undefined) | undefined,
    /** Uploads that it says to have: keys and ids. */
    uploads: [] as { key: string; id: string }[],
    url: '',
    /** Requests as methods and paths. */
    asked: [] as string[],
    /** What a setting for it is created with. */
    setting: () => ({
      domain: 'storage',
      providerId: 's3_compatible',
      credentials: CREDENTIALS,
      options: { endpoint: bucket.url, region: 'us-east-1', bucket: 'media' },
    }),
    [Symbol.asyncDispose]: () => receiver[Symbol.asyncDispose](),
  };
  const receiver = await startReceiver({
    answer(response, { method, path, body, headers }) {
      bucket.asked.push(`${method} ${path}`);
      const { pathname, searchParams } = new URL(path, 'http://bucket');
      const key = pathname.slice('/media/'.length);
      const xml = (status: number, text: string) =>
        void response.writeHead(status, { 'content-type': 'application/xml' }).end(method === 'HEAD' ? '' : text);
      const refusal = bucket.refuses?.(method);
      if (refusal) return xml(refusal.status, `<Error><Code>${refusal.code}</Code></Error>`);
      if (method === 'DELETE') return xml(204, '');
      if (method === 'POST')
        return xml(200, '<InitiateMultipartUploadResult><UploadId>u1</UploadId></InitiateMultipartUploadResult>');
      if (method === 'PUT') {
        objects.set(key, body);
        return void response.writeHead(200, { etag: '"e"' }).end();
      }
      if (searchParams.has('uploads'))
        return xml(
          200,
          `<ListMultipartUploadsResult>${bucket.uploads
            .map(
              (one) =>
                `<Upload><Key>${one.key}</Key><UploadId>${one.id}</UploadId><Initiated>2020-01-01T00:00:00Z</Initiated></Upload>`,
            )
            .join('')}</ListMultipartUploadsResult>`,
        );
      const object = objects.get(key);
      if (!object) return xml(404, '<Error><Code>NoSuchKey</Code></Error>');
      const [, from, to] = /bytes=(\d+)-(\d+)/.exec(headers.range ?? '') ?? [];
      const sent = from === undefined ? object : object.subarray(Number(from), Number(to) + 1);
      response.writeHead(200, { 'content-length': String(sent.length), 'last-modified': MODIFIED, etag: '"e"' });
      response.end(method === 'HEAD' ? undefined : sent);
    },
  });
  bucket.url = receiver.url;
  return bucket;
}
