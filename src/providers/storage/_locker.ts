import { Readable } from 'node:stream';
import { z } from 'zod';
import { ProviderError } from '../../platform/kernel/index.ts';
import { refused } from '../kit/declare/fallback.ts';
import { retryAfterMs } from '../kit/declare/waits.ts';
import { adviceOfS3, failureOfS3 } from '../kit/protocols/s3-failures.ts';
import type { Streamed } from '../kit/wire/stream.ts';
import { type Content, isKey, MOST_SECONDS, type StorageLine, type Store } from './_contract.ts';
import { exactly } from './_parts.ts';

const Upload = z.object({ url: z.url(), headers: z.record(z.string(), z.string()).nullish() });
const Confirmed = z.object({ objectId: z.string().min(1) });
const NotUploaded = z.object({ error: z.object({ code: z.enum(['ObjectNotUploaded', 'Conflict']) }) });
const Download = z.object({ url: z.url() });
const Usage = z.object({ usedStorage: z.coerce.number(), allocatedStorage: z.coerce.number() });
const LEAST_SECONDS = 60;
const MAX_REFUSAL = 4_096;

/** Opens a store at MediaLocker: bytes are transferred by signed addresses. */
export function openLocker({
  http,
  stream,
  clock,
  values,
}: Pick<StorageLine, 'http' | 'stream' | 'clock' | 'values'>): Store {
  const { bucketId = '' } = values;
  const at = (key: string) => {
    if (!isKey(key)) throw refused('rejected', `Not a storage key: ${key}`);
    return { bucketId, key };
  };

  const presign = async (key: string, { bytes, mime }: Omit<Content, 'from'>) => {
    const { url, headers } = await http.post('/presign/upload', Upload, {
      json: { ...at(key), contentType: mime, ...(bytes > 0 && { size: bytes }) },
    });
    return { url, headers: headers ?? {} };
  };
  /** Confirms an upload, which is mandatory; also finds the id of a key. May be repeated. */
  const confirm = async (key: string) => http.post('/presign/confirm', Confirmed, { json: at(key) });
  const idOf = async (key: string) =>
    (await http.find('/presign/confirm', Confirmed, { json: at(key), absent: NotUploaded }))?.objectId;
  const addressOf = async (objectId: string, seconds: number) =>
    (
      await http.post('/presign/download', Download, {
        json: { objectId, expiresIn: Math.min(Math.max(Math.ceil(seconds), LEAST_SECONDS), MOST_SECONDS) },
      })
    ).url;

  /** Sends a request to the store behind it, which answers like S3. `also`: statuses that are no failure. */
  async function transfer(
    url: string,
    request: Parameters<StorageLine['stream']>[1],
    also: readonly number[] = [],
  ): Promise<Streamed> {
    const answer = await stream(url, request).catch((error: unknown) => {
      const { cause } = Object(error) as { cause?: unknown };
      if (cause instanceof ProviderError) throw cause; // the content had another length
      throw refused('unavailable', 'The store of MediaLocker did not answer');
    });
    if ((answer.status >= 200 && answer.status < 300) || also.includes(answer.status)) return answer;
    const code = /<Code>(\w+)<\/Code>/.exec(await head(answer))?.[1] ?? '';
    const failure = failureOfS3(code, answer.status);
    const wait = failure === 'rate_limited' ? retryAfterMs(answer.headers, clock.now()) : undefined;
    throw refused(
      failure,
      `The store of MediaLocker answered ${answer.status} ${adviceOfS3(code, answer.status) ?? code}`.trim(),
      wait,
    );
  }

  return {
    async put(key, content) {
      const { url, headers } = await presign(key, content);
      const from = { [Symbol.asyncIterator]: () => exactly(content) };
      (await transfer(url, { method: 'PUT', headers, body: { from, bytes: content.bytes } })).cancel();
      await confirm(key);
    },
    async open(key) {
      const id = isKey(key) ? await idOf(key) : undefined;
      if (id === undefined) return undefined;
      const url = await addressOf(id, MOST_SECONDS);
      const probe = await transfer(url, { headers: { range: 'bytes=0-0' } }, [416]); // 416: the object is empty
      probe.cancel();
      const size = Number(
        /\/(\d+)$/.exec(probe.headers.get('content-range') ?? '')?.[1] ?? probe.headers.get('content-length'),
      );
      const modified = new Date(probe.headers.get('last-modified') ?? NaN);
      if (!Number.isSafeInteger(size) || Number.isNaN(modified.getTime()))
        throw refused('unavailable', 'The store of MediaLocker did not say how long the object is');
      return {
        size,
        modified,
        read: (range) =>
          Readable.from(
            (async function* () {
              if (size > 0)
                yield* (await transfer(url, { headers: range ? { range: `bytes=${range.start}-${range.end}` } : {} }))
                  .body;
            })(),
            { objectMode: false },
          ),
        [Symbol.asyncDispose]: async () => {}, // nothing is open before the first read
      };
    },
    async remove(keys) {
      for (const key of keys) {
        const id = await idOf(key);
        if (id !== undefined) await http.delete(`/media/${encodeURIComponent(id)}`);
      }
    },
    url: () => undefined, // there is no public address
    direct: {
      async get(key, seconds, { saveAs } = {}) {
        if (saveAs !== undefined) return undefined; // it signs no disposition
        const id = await idOf(key);
        return id === undefined ? undefined : addressOf(id, seconds);
      },
      put: async (key, kind) => presign(key, kind), // always valid for an hour
      async confirm(key) {
        if ((await idOf(key)) === undefined) throw refused('rejected', `Nothing has arrived at ${key}`);
      },
    },
    async check() {
      await http.get(`/buckets/${encodeURIComponent(bucketId)}`, z.object({}));
      const { usedStorage, allocatedStorage } = await http.get('/usage', Usage);
      return `The bucket is there; ${gigabytes(usedStorage)} of ${gigabytes(allocatedStorage)} GB are used`;
    },
  };
}

const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(1);

async function head({ body, cancel }: Streamed): Promise<string> {
  let text = '';
  for await (const piece of body) {
    text += new TextDecoder().decode(piece);
    if (text.length > MAX_REFUSAL) break;
  }
  cancel();
  return text;
}
