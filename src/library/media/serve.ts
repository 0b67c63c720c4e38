import type { Readable } from 'node:stream';
import type { Database } from '../../platform/db/index.ts';
import { formatOfKey } from './rules.ts';
import { objectOfKey } from './store.ts';
import type { Storages } from './storages.ts';

const LINK_SECONDS = 3_600;

/** A stored object as it is answered. */
export interface StoredBytes extends AsyncDisposable {
  size: number;
  mime: string;
  /** Shown by a browser, or only saved by it. */
  inline: boolean;
  etag: string;
  modified: Date;
  /** The bytes from `start` to `end`, both included. */
  read(range?: { start: number; end: number }): Readable;
}
/** The bytes, or where the storage itself hands them out. */
export type Served = StoredBytes | { url: string };

/** A stored object by its key. What is no picture, video or sound is only ever saved. `redirect: false`: its bytes. */
export function openServe({
  sql,
  storages,
}: {
  sql: Database;
  storages: Storages;
}): (key: string, options?: { redirect?: boolean }) => Promise<Served | undefined> {
  return async (key, { redirect = true } = {}) => {
    const format = formatOfKey(key);
    if (!format) return undefined;
    const inline = format.kind !== 'document';
    const object = await objectOfKey(sql, key);
    if (!object) return undefined;
    const { store } = await storages.at(object.orgId, object);
    const url = redirect
      ? ((inline ? store.url(key) : undefined) ??
        (await store.direct?.get(key, LINK_SECONDS, inline ? {} : { saveAs: object.name })))
      : undefined;
    if (url !== undefined) return { url };
    const stored = await store.open(key);
    if (!stored) return undefined;
    const { size, modified } = stored;
    const etag = `"${size.toString(36)}-${modified.getTime().toString(36)}"`;
    return {
      size,
      modified,
      inline,
      etag,
      mime: format.mime,
      read: (range) => stored.read(range),
      [Symbol.asyncDispose]: () => stored[Symbol.asyncDispose](),
    };
  };
}
