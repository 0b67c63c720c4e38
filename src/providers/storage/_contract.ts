import type { Readable } from 'node:stream';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

/** What an object is: exactly so many bytes, served as this type. */
export interface Kind {
  bytes: number;
  mime: string;
}
/** Bytes to be kept: a finished file of this machine, which the store may take away, or a stream of exactly `bytes`. */
export interface Content extends Kind {
  from: { path: string } | AsyncIterable<Uint8Array>;
}

/** An object that lies there. */
export interface Stored extends AsyncDisposable {
  size: number;
  modified: Date;
  /** The bytes from `start` to `end`, both included; a failure on the way is a `ProviderError`. Reading to the end closes the object. */
  read(range?: { start: number; end: number }): Readable;
}

/** An object that comes in parts. */
export interface Upload {
  key: string;
  id: string;
}
/** A part that has arrived. `number` counts from 1. */
export interface Part {
  number: number;
  bytes: number;
  etag: string;
}
/** A PUT that somebody else may make, with these headers and no others of their own. */
export interface Signed {
  url: string;
  headers: Readonly<Record<string, string>>;
}

/** Uploads in parts, which survive whoever began them. */
export interface Multipart {
  /** Bytes of every part but the last, which has the rest. */
  partBytes(bytes: number): number;
  begin(key: string, kind: Kind): Promise<Upload>;
  put(upload: Upload, number: number, body: AsyncIterable<Uint8Array>, bytes: number): Promise<Part>;
  /** Absent: parts come by `put` only. */
  sign?(upload: Upload, number: number, seconds: number): Promise<Signed>;
  /** The parts that have arrived, by number; undefined: there is no such upload, or no longer. */
  parts(upload: Upload): Promise<Part[] | undefined>;
  /** Makes one object of the parts. `rejected` where one is missing or other than said. */
  complete(upload: Upload, parts: readonly Part[]): Promise<void>;
  /** What is gone already counts as given up. */
  abort(upload: Upload): Promise<void>;
  /** Every upload that was begun and neither completed nor given up. */
  uploads(): Promise<(Upload & { begun: Date })[]>;
}

/** Signed addresses, good for at most `MOST_SECONDS`, by which others reach the bytes without us. */
export interface Direct {
  /** `saveAs`: a browser saves it under this name instead of showing it. */
  get(key: string, seconds: number, options?: { saveAs?: string }): Promise<string>;
  put(key: string, kind: Kind, seconds: number): Promise<Signed>;
  /** To be called when somebody has put an object by a signed address: the provider takes note of it. `rejected`: nothing has arrived. */
  confirm(key: string): Promise<void>;
}
/** Seven days, the longest that signatures of S3 are good for. */
export const MOST_SECONDS = 604_800;

/**
 * Where files lie. Keys are ours (`isKey`); a store may keep them below a prefix of its own, which nobody sees. Failures are
 * `ProviderError`s: `rejected` of the object or the settings, `exhausted` where there is no room, `reauthorize` of the credentials.
 */
export interface Store {
  /** The whole object, in the place of one that was there. Nothing of it is left when it fails. */
  put(key: string, content: Content): Promise<void>;
  /** Undefined: there is no object of that key. */
  open(key: string): Promise<Stored | undefined>;
  /** What is gone already counts as removed. */
  remove(keys: readonly string[]): Promise<void>;
  /** The address that everybody can read it at for ever; undefined where there is none: then `direct.get`, as late as can be. */
  url(key: string): string | undefined;
  /** Absent: objects come by `put`, or by `direct.put` where there is one. */
  multipart?: Multipart;
  /** Absent: bytes go through us. */
  direct?: Direct;
  /** Whether all of this can be done; what was tried, in a sentence. */
  check(): Promise<string>;
}

export type StorageLine<F extends Fields = Fields> = Line<'http' | 'stream' | 's3' | 'folder', F>;
export interface StorageFacts {
  protocol?: 's3';
}

interface StorageSpec<F extends Fields> extends Manifest<F> {
  facts?: StorageFacts;
  /** Who may keep credentials for it; absent: there is nothing to set. */
  owners?: readonly ('instance' | 'org')[];
  /** What it offers beyond putting, reading and removing. */
  can: readonly ('multipart' | 'direct' | 'url')[];
  connect(line: StorageLine<F>): Store;
}
export type StorageAdapter<F extends Fields = Fields> = Pick<StorageSpec<F>, 'connect'> & Adapter<'storage', StorageFacts, StorageLine<F>, F>;

/** Declares a provider of storage; the types of its own fields end here. */
export function storage<const F extends Fields>({ can, owners, facts = {}, ...spec }: StorageSpec<F>): StorageAdapter {
  const adapter: StorageAdapter<F> = {
    ...spec,
    domain: 'storage',
    facts,
    capabilities: ['put', 'open', 'remove', ...can],
    ...(owners && { setup: { fields: spec.credentials, owners }, check: (line) => spec.connect(line).check() }),
  };
  return adapter as unknown as StorageAdapter; // values are checked against the fields before they come here
}

const KEY = /^[A-Za-z0-9_-][\w.-]*(?:\/[A-Za-z0-9_-][\w.-]*)*$/;
/** Names with slashes between, none of which begins with a dot: nothing that leads out of a folder, or into a hidden one, can be spelled with it. */
export const isKey = (key: string): boolean => key.length <= 512 && KEY.test(key);
