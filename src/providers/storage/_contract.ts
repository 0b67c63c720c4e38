import type { Readable } from 'node:stream';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
import type { LentMemory } from '../kit/declare/media.ts';

/** The exact size of an object, and the type that it is served as. */
export interface ContentKind {
  bytes: number;
  mime: string;
}
/** Bytes to store: a complete file of this machine, which the store may move away, or a stream of exactly `bytes`. */
export interface Content extends ContentKind {
  from: { path: string } | AsyncIterable<Uint8Array>;
}

/** A stored object. */
export interface Stored extends AsyncDisposable {
  size: number;
  modified: Date;
  /**
   * Reads the bytes from `start` to `end`, both included; a failure while reading is a `ProviderError`. Reading to the
   * end closes the object.
   */
  read(range?: { start: number; end: number }): Readable;
  /** As `read`, but lends its pieces (`BodyReading`); absent where they come in memory of their own. */
  lend?(memory: LentMemory, range?: { start: number; end: number }): AsyncIterable<Uint8Array>;
}

/** An upload in parts. */
export interface Upload {
  key: string;
  id: string;
}
/** An uploaded part. `number` counts from 1. */
export interface Part {
  number: number;
  bytes: number;
  etag: string;
}
/** A signed PUT for somebody else, with exactly these headers. */
export interface Signed {
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** Uploads in parts, which outlive the process that began them. */
export interface MultipartStore {
  /** Answers the size of each part as it is told to clients; the last one has the rest. */
  partBytes(bytes: number): number;
  begin(key: string, kind: ContentKind): Promise<Upload>;
  put(upload: Upload, number: number, body: AsyncIterable<Uint8Array>, bytes: number): Promise<Part>;
  /** Signs the PUT of a part, with `bytes` of exactly so many. Absent: parts are uploaded by `put` only. */
  sign?(upload: Upload, number: number, seconds: number, bytes?: number): Promise<Signed>;
  /** Lists the uploaded parts by number; undefined when there is no such upload, or no longer. */
  parts(upload: Upload): Promise<Part[] | undefined>;
  /** Makes one object of the parts. `rejected` where a part is missing or differs. */
  complete(upload: Upload, parts: readonly Part[]): Promise<void>;
  /** An upload that is gone already counts as aborted. */
  abort(upload: Upload): Promise<void>;
  /** Lists the uploads that were neither completed nor aborted. */
  uploads(): Promise<(Upload & { begun: Date })[]>;
}

/** Signed addresses, valid for at most `MOST_SECONDS`, by which others transfer the bytes directly. */
export interface Direct {
  /**
   * Signs a download. `saveAs`: the browser saves it under this name instead of showing it. Undefined where the store
   * cannot sign that, or looked and has no such object.
   */
  get(key: string, seconds: number, options?: { saveAs?: string }): Promise<string | undefined>;
  put(key: string, kind: ContentKind, seconds: number): Promise<Signed>;
  /** Confirms an upload by a signed address, which some providers require. `rejected`: nothing has arrived. */
  confirm(key: string): Promise<void>;
}
/** Seven days, the longest validity of an S3 signature. */
export const MOST_SECONDS = 604_800;

/**
 * A store of files. Keys are ours (`isKey`); a store may put them below a hidden prefix. Failures are `ProviderError`s:
 * `rejected` for the object or the settings, `exhausted` for a full store, `reauthorize` for the credentials.
 */
export interface Store {
  /** Writes an object, replacing an existing one. Leaves nothing behind when it fails. */
  put(key: string, content: Content): Promise<void>;
  /** Opens an object; undefined for an unknown key. */
  open(key: string): Promise<Stored | undefined>;
  /** Removes objects; one that is gone already counts as removed. */
  remove(keys: readonly string[]): Promise<void>;
  /** Answers the permanent public address; undefined where there is none: then `direct.get`, as late as possible. */
  url(key: string): string | undefined;
  /** Absent: objects are written by `put`, or by `direct.put` where there is one. */
  multipart?: MultipartStore;
  /** Absent: bytes pass through this service. */
  direct?: Direct;
  /** Checks that all of this works; answers a sentence about the attempt. */
  check(): Promise<string>;
}

export type StorageLine<F extends Fields = Fields> = Line<'http' | 'stream' | 's3' | 'folder', F>;
export interface StorageFacts {
  protocol?: 's3';
}

interface StorageSpec<F extends Fields> extends Manifest<F> {
  facts?: StorageFacts;
  /** The owners of its settings; absent where there is nothing to set. */
  owners?: readonly ('instance' | 'org')[];
  /** Its capabilities beside writing, reading and removing. */
  can: readonly ('multipart' | 'direct' | 'url')[];
  connect(line: StorageLine<F>): Store;
}
export type StorageAdapter<F extends Fields = Fields> = Pick<StorageSpec<F>, 'connect'> &
  Adapter<'storage', StorageFacts, StorageLine<F>, F>;

/** Declares a store. */
export function storage<const F extends Fields>({ can, owners, facts = {}, ...spec }: StorageSpec<F>): StorageAdapter {
  const adapter: StorageAdapter<F> = {
    ...spec,
    domain: 'storage',
    facts,
    capabilities: ['put', 'open', 'remove', ...can],
    ...(owners && { setup: { fields: spec.credentials, owners }, check: (line) => spec.connect(line).check() }),
  };
  return adapter as unknown as StorageAdapter; // the registry checks values against the fields
}

const KEY = /^[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)*$/;
/**
 * Answers whether a key is valid: names with slashes between, none starting with a dot, so that no key leads out of a
 * folder or into a hidden one.
 */
export const isKey = (key: string): boolean => key.length <= 512 && KEY.test(key);
