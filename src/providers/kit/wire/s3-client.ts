import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { S3ClientConfig } from '@aws-sdk/client-s3';
import { OutboundError } from '../../../platform/outbound/index.ts';
import { ANSWER_BYTES } from '../declare/adapter.ts';
import type { Bucket } from '../protocols/s3.ts';
import type { Stream } from './stream.ts';

// The set-up of AWS's client: its options, the handler of its requests, and the mapping of its errors.

/** All options are set: the client reads missing ones from the environment and from files of this machine. */
export const configOf = ({ endpoint, region, accessKeyId, secretAccessKey, sessionToken, pathStyle }: Bucket) =>
  ({
    ...(endpoint !== undefined && { endpoint }),
    region,
    credentials: { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) },
    forcePathStyle: pathStyle,
    requestChecksumCalculation: 'WHEN_REQUIRED', // many servers refuse checksum headers
    responseChecksumValidation: 'WHEN_REQUIRED',
    expectContinueHeader: false,
    followRegionRedirects: false,
    disableS3ExpressSessionAuth: true,
    useArnRegion: false,
    useDualstackEndpoint: false,
    useFipsEndpoint: false,
    ignoreConfiguredEndpointUrls: true,
    defaultsMode: 'standard',
    retryMode: 'standard',
    maxAttempts: 1, // `open-s3.ts` repeats, by its clock
    authSchemePreference: [],
    sigv4aSigningRegionSet: [],
    userAgentAppId: 'rookery',
  }) satisfies S3ClientConfig & Record<string, unknown>;

interface Asked {
  method: string;
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: Record<string, string | readonly string[] | null>;
  headers: Record<string, string>;
  body?: unknown;
}

/** Sends the client's requests through `stream`: the body of an object is streamed, every other answer read whole. */
export function handlerOf(stream: Stream) {
  return {
    async handle(request: Asked) {
      const { method, headers, body } = request;
      const answer = await stream(urlOf(request), {
        method,
        headers,
        ...(body !== undefined && { body: bytesOf(body) }),
      });
      const isObject = request.query?.['x-id'] === 'GetObject' && answer.status < 300;
      const received = isObject ? Readable.from(answer.body, { objectMode: false }) : await whole(answer.body);
      return {
        response: { statusCode: answer.status, headers: Object.fromEntries(answer.headers), body: received } as never,
      }; // structurally the client's class
    },
    updateHttpClientConfig() {},
    httpHandlerConfigs: () => ({}),
  };
}

interface Building {
  request: Asked;
}
/**
 * Uses Content-MD5 where a digest is required (`DeleteObjects`): every server knows it, and some refuse checksum
 * headers.
 */
export const digestByMd5 =
  (next: (building: Building) => unknown, { commandName }: { commandName?: string }) =>
  (building: Building): unknown => {
    if (commandName !== 'DeleteObjectsCommand') return next(building);
    const { request } = building;
    const kept = Object.entries(request.headers).filter(([name]) => !/^x-amz-(sdk-)?checksum-/i.test(name));
    const md5 = createHash('md5').update(bytesOf(request.body)).digest('base64');
    request.headers = { ...Object.fromEntries(kept), 'content-md5': md5 };
    return next(building);
  };

const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
function urlOf({ protocol, hostname, port, path, query = {} }: Asked): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === null ? [encode(name)] : [value].flat().map((one) => `${encode(name)}=${encode(one as string)}`),
  );
  return `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`;
}

function bytesOf(body: unknown): Uint8Array {
  if (body instanceof Uint8Array) return body;
  if (typeof body === 'string') return Buffer.from(body);
  throw new Error('S3 requests are sent whole');
}

async function whole(body: AsyncIterable<Uint8Array>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of body) {
    size += piece.length;
    if (size > ANSWER_BYTES)
      throw new OutboundError('too_large', `The answer is longer than ${ANSWER_BYTES} bytes`, { sent: true });
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Reads status and code from the client's errors. */
export function answerOf(error: unknown): { status?: number; code: string; headers: Record<string, string> } {
  const {
    name,
    $response: response,
    $metadata: metadata,
  } = Object(error) as {
    name?: unknown;
    $response?: { statusCode?: number; headers?: Record<string, string> };
    $metadata?: { httpStatusCode?: number };
  };
  const status = response?.statusCode ?? metadata?.httpStatusCode;
  return {
    ...(status !== undefined && { status }),
    code: /^\w+$/.test(String(name)) ? String(name) : 'Unknown',
    headers: response?.headers ?? {},
  };
}
