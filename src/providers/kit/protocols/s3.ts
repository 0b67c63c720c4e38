/** A bucket and its address and keys (Amazon S3 API, 2006-03-01). */
export interface Bucket {
  /** Absent: the endpoint of AWS for the region. */
  endpoint: string | undefined;
  /** The region in the signatures of requests. */
  region: string;
  name: string;
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
  /** The bucket is in the path instead of the host. */
  pathStyle: boolean;
}
export interface S3Kind {
  mime: string;
  /** A canned ACL (`x-amz-acl`); none is sent when absent. */
  acl?: 'public-read' | undefined;
}
export interface S3Part {
  number: number;
  bytes: number;
  etag: string;
}
export interface S3Request {
  url: string;
  headers: Readonly<Record<string, string>>;
}

/**
 * The operations of a bucket, one request each. Idempotent requests are repeated a few times after errors of the
 * network or the server. Failures are `ProviderError`s; a missing object or upload is undefined, or counts as done.
 */
export interface S3 {
  headBucket(): Promise<void>;
  put(key: string, body: Uint8Array, kind: S3Kind): Promise<void>;
  head(key: string): Promise<{ size: number; modified: Date } | undefined>;
  /** Reads the object, or its bytes from `start` to `end`, both included. */
  get(key: string, range?: { start: number; end: number }): Promise<AsyncIterable<Uint8Array>>;
  delete(key: string): Promise<void>;
  /** At most 1,000 keys. */
  deleteMany(keys: readonly string[]): Promise<void>;
  begin(key: string, kind: S3Kind): Promise<string>;
  part(key: string, uploadId: string, number: number, body: Uint8Array): Promise<string>;
  parts(key: string, uploadId: string): Promise<S3Part[] | undefined>;
  complete(key: string, uploadId: string, parts: readonly S3Part[]): Promise<void>;
  abort(key: string, uploadId: string): Promise<void>;
  uploads(prefix: string): Promise<{ key: string; id: string; begun: Date }[]>;
  /** Signs requests that others make, valid for so many seconds (at most 7 days). Length and type are signed, too. */
  signGet(key: string, seconds: number, options?: { disposition?: string }): Promise<string>;
  signPut(key: string, kind: S3Kind & { bytes: number }, seconds: number): Promise<S3Request>;
  /** Without `bytes` the part may be of any length. */
  signPart(key: string, uploadId: string, number: number, seconds: number, bytes?: number): Promise<S3Request>;
}
export type OpenS3 = (bucket: Bucket) => S3;
