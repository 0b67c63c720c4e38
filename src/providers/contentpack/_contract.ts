import { z } from 'zod';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import type { Fields, ValuesOf } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
export type { ProviderFailure } from '../../platform/kernel/index.ts';

export const KINDS = ['image', 'video'] as const;
export type Kind = (typeof KINDS)[number];

/** A search; `page` counts from 1. */
export interface Wanted {
  q: string;
  kind: Kind;
  page: number;
}
/** A picture or video of a source. Addresses that are not https are left out, since browsers open them as they are. */
export interface Item {
  id: string;
  title: string;
  preview: string | null;
  /** Its page at the source. */
  url: string | null;
  author: string | null;
  authorUrl: string | null;
  licence: string;
  licenceUrl: string | null;
  /** The credit to show beside it; null where the licence asks for none. */
  credit: string | null;
}
export interface Found {
  items: Item[];
  /** There is another page. */
  more: boolean;
}
/** An item that is licensed, and the address of its bytes, which is valid for a short time. */
export interface Acquired {
  item: Item;
  download: string;
}

/**
 * A source of pictures and videos with its owner's key. Failures are `ProviderError`s: `rejected` where the licence
 * forbids the use, `exhausted` where the plan or its quota does, `reauthorize` for the key.
 */
export interface ContentPack {
  search(wanted: Wanted): Promise<Found>;
  /** Licenses the item, or reports its use, as the source requires. Undefined for an unknown item. */
  acquire(id: string): Promise<Acquired | undefined>;
}

export type ContentPackLine<F extends Fields = Fields> = Line<'http', F>;
export interface ContentPackFacts {
  kinds: readonly Kind[];
}

/** Requests in a window. */
export interface Rate {
  requests: number;
  perMs: number;
}

interface ContentPackSpec<F extends Fields> extends Manifest<F> {
  kinds: readonly Kind[];
  /** Greatest number of characters of a query. Default: `LONGEST_QUERY`. */
  longestQuery?: number;
  /** The last page that the source answers. */
  lastPage?: number;
  /** Milliseconds for which results may be cached. Default: `CACHE_MS`; 0 where the terms forbid it. */
  cacheMs?: number;
  /** Rate limits of one key, all of which hold; absent where the source states none. */
  rates?: readonly Rate[] | ((values: ValuesOf<F>) => readonly Rate[]);
  connect(line: ContentPackLine<F>): ContentPack;
  check?(line: ContentPackLine<F>): Promise<string | void>;
}
export type ContentPackAdapter<F extends Fields = Fields> = ContentPackSpec<F> &
  Adapter<'contentpack', ContentPackFacts, ContentPackLine<F>, F>;

export const LONGEST_QUERY = 200;
export const CACHE_MS = 600_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
export const DAY_MS = 86_400_000;
/** Items on a page. */
export const PAGE = 24;

const declare = <F extends Fields>(
  spec: ContentPackSpec<F>,
  more: Pick<ContentPackAdapter, 'setup'>,
): ContentPackAdapter => {
  const adapter: ContentPackAdapter<F> = {
    ...spec,
    ...more,
    domain: 'contentpack',
    capabilities: ['search', 'acquire'],
    facts: { kinds: spec.kinds },
  };
  return adapter as unknown as ContentPackAdapter; // the registry checks values against the fields
};

/** Declares a content pack: an organization or the operator sets its key. */
export const contentPack = <const F extends Fields>(spec: ContentPackSpec<F>): ContentPackAdapter =>
  declare(spec, { setup: { fields: spec.credentials, owners: ['instance', 'org'] } });

/** Declares a free source, whose key is in the environment of the process. */
export const stockSource = <const F extends Fields>(spec: ContentPackSpec<F>): ContentPackAdapter => declare(spec, {});

/** An https address for browsers; null for any other. */
export const Web = z
  .string()
  .nullish()
  .transform((text) => {
    const url = text ? URL.parse(text) : null;
    return url?.protocol === 'https:' && url.username === '' ? url.href : null;
  });
const LONGEST_TEXT = 300;
/** A text for people, on one line; null where there is none. */
export const Words = z
  .string()
  .nullish()
  .transform((text) => text?.replace(/\s+/g, ' ').trim().slice(0, LONGEST_TEXT).toWellFormed() || null);
export const Id = z.union([z.string().min(1), z.int()]).transform(String);
/** The address of the bytes; the outbound guard checks it. */
export const Download = z.string().regex(/^https?:\/\//);

const VIDEO = 'video-';
/** Prefixes the ids of videos: the source numbers pictures and videos separately. */
export const itemIdOf = (kind: Kind, id: string): string => (kind === 'video' ? VIDEO + id : id);
export const readItemId = (id: string): { kind: Kind; id: string } =>
  id.startsWith(VIDEO) ? { kind: 'video', id: id.slice(VIDEO.length) } : { kind: 'image', id };
