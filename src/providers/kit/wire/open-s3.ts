import type { Readable } from 'node:stream';
import type { S3 as Client } from '@aws-sdk/client-s3';
import { type Clock, ProviderError } from '../../../platform/kernel/index.ts';
import { OutboundError } from '../../../platform/outbound/index.ts';
import { retryAfterMs } from '../declare/waits.ts';
import { redactor } from '../declare/redact.ts';
import { answerOf, configOf, digestByMd5, handlerOf } from './s3-client.ts';
import { adviceOfS3, failureOfS3 } from '../protocols/s3-failures.ts';
import type { OpenS3, S3Part } from '../protocols/s3.ts';
import type { Stream } from './stream.ts';

/** Waits before a request is repeated. */
const WAITS_MS = [200, 1_000];
/** A longer wait that a server asks for is not honoured. */
const LONGEST_WAIT_MS = 5_000;
const MOST_PAGES = 100;
const GONE = new Set(['NoSuchKey', 'NoSuchUpload', 'NotFound']);
/** Statuses by which credentials are refused, and other things: the code in the body tells which. */
const UNTOLD = new Set([400, 401, 403]);

interface Options {
  stream: Stream;
  clock: Clock;
  /** The provider's name in messages. */
  title: string;
}

/** Opens the tool `s3` over AWS's client, which is loaded by the first request and sends through `stream` only. */
export const openS3 =
  (options: Options): OpenS3 =>
  (bucket) =>
    openBucket(options, bucket);

// oxlint-disable-next-line max-lines-per-function -- one short method for each request, over the client of the bucket
function openBucket({ stream, clock, title }: Options, bucket: Parameters<OpenS3>[0]): ReturnType<OpenS3> {
  const at = { Bucket: bucket.name };
  const clean = redactor([bucket.secretAccessKey, bucket.sessionToken]);
  const fail = (
    failure: ProviderError['failure'],
    message: string,
    more: { retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) => new ProviderError(failure, clean(`${title} ${message}`), more);

  let opened: ReturnType<typeof open> | undefined;
  async function open() {
    const [sdk, { getSignedUrl }] = await Promise.all([
      import('@aws-sdk/client-s3'),
      import('@aws-sdk/s3-request-presigner'),
    ]);
    const client = new sdk.S3({ ...configOf(bucket), requestHandler: handlerOf(stream) });
    client.middlewareStack.add(digestByMd5 as never, { step: 'build', priority: 'low', name: 'digestByMd5' });
    const sign = (command: object, seconds: number, signed: readonly string[] = []) =>
      getSignedUrl(client, command as Parameters<typeof getSignedUrl>[1], {
        expiresIn: seconds,
        signingDate: clock.now(),
        signableHeaders: new Set(signed),
        unhoistableHeaders: new Set(['x-amz-acl']), // every server reads it as a header
      });
    return { sdk, client, sign };
  }

  function problemOf(error: unknown): ProviderError {
    if (error instanceof ProviderError) return error;
    if (error instanceof OutboundError) {
      const refused =
        error.failure === 'invalid' || error.failure === 'blocked' || error.failure === 'too_many_redirects';
      return fail(refused ? 'rejected' : 'unavailable', `did not answer: ${error.message}`, {
        cause: new Error(clean(error.message)),
      });
    }
    const { status, code, headers } = answerOf(error);
    if (status === undefined)
      return fail('unavailable', 'could not be asked', { cause: new Error(clean(String(error))) });
    if (status < 300) return fail('unavailable', `answered ${status} with something we do not understand`);
    const advice = adviceOfS3(code, status);
    const failure = failureOfS3(code, status);
    return fail(failure, `answered ${status} ${code}${advice ? `: ${advice}` : ''}`, {
      retryAfterMs:
        failure === 'rate_limited' || status === 503 ? retryAfterMs(new Headers(headers), clock.now()) : undefined,
    });
  }

  /** Sends one request. */
  async function once<T>(work: (client: Client) => Promise<T>): Promise<T> {
    const { client } = await (opened ??= open());
    return work(client).catch((error: unknown) => {
      throw problemOf(error);
    });
  }
  /**
   * Sends one request, and repeats it after errors of the network or the server. Undefined for a missing resource.
   */
  async function ask<T>(work: (client: Client) => Promise<T>): Promise<T | undefined> {
    const { client } = await (opened ??= open());
    for (let tries = 0; ; tries += 1) {
      try {
        return await work(client);
      } catch (error) {
        if (answerOf(error).status === 404 && GONE.has(answerOf(error).code)) return undefined;
        const problem = problemOf(error);
        const broke =
          error instanceof OutboundError && (error.failure === 'unreachable' || error.failure === 'interrupted');
        const passing =
          broke ||
          problem.failure === 'rate_limited' ||
          (problem.failure === 'unavailable' && (answerOf(error).status ?? 0) >= 400);
        const wait = Math.max(WAITS_MS[tries] ?? Infinity, problem.retryAfterMs ?? 0);
        if (!passing || wait > LONGEST_WAIT_MS) throw problem;
        await clock.sleep(wait);
      }
    }
  }
  /** Throws the refusal of a GET of the first byte. */
  async function refusalOfGet(client: Client, key: string): Promise<void> {
    const { Body } = await client.getObject({ ...at, Key: key, Range: 'bytes=0-0' });
    (Body as unknown as Readable).destroy();
  }
  /** Requires a value that a correct answer has. */
  function told<T>(value: T | undefined, what: string): T {
    if (value === undefined) throw fail('unavailable', `answered without ${what}`);
    return value;
  }
  /** Requires a resource that must exist. */
  const there = <T>(answer: T | undefined): T => {
    if (answer === undefined) throw fail('rejected', 'has no such object or upload');
    return answer;
  };

  return {
    async headBucket() {
      await once((client) => client.headBucket(at));
    },
    async put(key, body, { mime, acl }) {
      const answer = await ask((client) =>
        client.putObject({ ...at, Key: key, Body: body, ContentType: mime, ContentLength: body.length, ACL: acl }),
      );
      told(there(answer).ETag, 'an ETag');
    },
    async head(key) {
      const answer = await ask((client) =>
        client.headObject({ ...at, Key: key }).catch(async (error: unknown) => {
          // a refusal of HEAD has no body, and so no code: that of GET says whether it is about the credentials
          if (UNTOLD.has(answerOf(error).status ?? 0)) await refusalOfGet(client, key);
          throw error;
        }),
      );
      return answer && { size: told(answer.ContentLength, 'a length'), modified: told(answer.LastModified, 'a date') };
    },
    async get(key, range) {
      const answer = await ask((client) =>
        client.getObject({ ...at, Key: key, ...(range && { Range: `bytes=${range.start}-${range.end}` }) }),
      );
      return checked(there(answer).Body as unknown as Readable, problemOf); // the type that the handler answers
    },
    async delete(key) {
      await ask((client) => client.deleteObject({ ...at, Key: key }));
    },
    async deleteMany(keys) {
      const answer = await ask((client) =>
        client.deleteObjects({ ...at, Delete: { Objects: keys.map((Key) => ({ Key })), Quiet: false } }),
      );
      const { Deleted = [], Errors = [] } = there(answer);
      const refused = Errors.find(({ Code }) => !GONE.has(Code ?? ''));
      if (refused) throw fail(failureOfS3(refused.Code ?? '', 403), `did not remove ${refused.Key}: ${refused.Code}`);
      const named = new Set([...Deleted, ...Errors].map(({ Key }) => Key));
      const untold = keys.find((key) => !named.has(key)); // an answer of another service names none
      if (untold !== undefined) throw fail('unavailable', `did not say whether it removed ${untold}`);
    },

    async begin(key, { mime, acl }) {
      const answer = await ask((client) =>
        client.createMultipartUpload({ ...at, Key: key, ContentType: mime, ACL: acl }),
      );
      return told(there(answer).UploadId, 'an upload id');
    },
    async part(key, uploadId, number, body) {
      const answer = await ask((client) =>
        client.uploadPart({
          ...at,
          Key: key,
          UploadId: uploadId,
          PartNumber: number,
          Body: body,
          ContentLength: body.length,
        }),
      );
      return told(there(answer).ETag, 'an ETag');
    },
    async parts(key, uploadId) {
      const parts: S3Part[] = [];
      let after: string | undefined;
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const answer = await ask((client) =>
          client.listParts({ ...at, Key: key, UploadId: uploadId, PartNumberMarker: after }),
        );
        if (!answer) return undefined;
        told(answer.UploadId, 'an upload id'); // an answer of another service has none
        for (const { PartNumber, Size, ETag } of answer.Parts ?? [])
          parts.push({
            number: told(PartNumber, 'a part number'),
            bytes: told(Size, 'a size'),
            etag: told(ETag, 'an ETag'),
          });
        if (!answer.IsTruncated) break;
        after = told(answer.NextPartNumberMarker, 'a next part');
      }
      return parts;
    },
    async complete(key, uploadId, parts) {
      const Parts = parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag }));
      const answer = await once((client) =>
        client.completeMultipartUpload({ ...at, Key: key, UploadId: uploadId, MultipartUpload: { Parts } }),
      );
      told(answer.ETag, 'an ETag');
    },
    async abort(key, uploadId) {
      await ask((client) => client.abortMultipartUpload({ ...at, Key: key, UploadId: uploadId }));
    },
    async uploads(prefix) {
      const uploads: { key: string; id: string; begun: Date }[] = [];
      let after: { KeyMarker: string; UploadIdMarker: string | undefined } | undefined;
      for (let page = 0; page < MOST_PAGES; page += 1) {
        const answer = there(
          await ask((client) => client.listMultipartUploads({ ...at, ...(prefix && { Prefix: prefix }), ...after })),
        );
        for (const { Key, UploadId, Initiated } of answer.Uploads ?? [])
          uploads.push({
            key: told(Key, 'a key'),
            id: told(UploadId, 'an upload id'),
            begun: told(Initiated, 'a date'),
          });
        if (!answer.IsTruncated) break;
        after = { KeyMarker: told(answer.NextKeyMarker, 'a next key'), UploadIdMarker: answer.NextUploadIdMarker };
      }
      return uploads;
    },

    async signGet(key, seconds, { disposition } = {}) {
      const { sdk, sign } = await (opened ??= open());
      return sign(new sdk.GetObjectCommand({ ...at, Key: key, ResponseContentDisposition: disposition }), seconds);
    },
    async signPut(key, { mime, bytes, acl }, seconds) {
      const { sdk, sign } = await (opened ??= open());
      const url = await sign(
        new sdk.PutObjectCommand({ ...at, Key: key, ContentType: mime, ContentLength: bytes, ACL: acl }),
        seconds,
        [
          'content-type',
          'content-length', // the holder of the address can upload nothing else
        ],
      );
      return { url, headers: { 'content-type': mime, ...(acl && { 'x-amz-acl': acl }) } };
    },
    async signPart(key, uploadId, number, seconds, bytes) {
      const { sdk, sign } = await (opened ??= open());
      const part = { ...at, Key: key, UploadId: uploadId, PartNumber: number, ContentLength: bytes };
      const url = await sign(new sdk.UploadPartCommand(part), seconds, bytes === undefined ? [] : ['content-length']);
      return { url, headers: {} };
    },
  };
}

/** Reads the chunks of an object; failures are worded like those of requests. */
async function* checked(body: Readable, problemOf: (error: unknown) => ProviderError): AsyncGenerator<Uint8Array> {
  try {
    yield* body as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw problemOf(error);
  }
}
