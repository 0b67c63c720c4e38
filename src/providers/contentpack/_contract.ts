import { z } from 'zod';
import { ProviderError, type ProviderFailure } from '../../platform/kernel/index.ts';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';
export type { ProviderFailure } from '../../platform/kernel/index.ts';

export const KINDS = ['image', 'video'] as const;
export type Kind = (typeof KINDS)[number];

/** What is looked for; `page` counts from 1. */
export interface Wanted {
  q: string;
  kind: Kind;
  page: number;
}
/** A picture or video as its source offers it. Addresses that are not https are left out: browsers open them as they are. */
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
  /** The line to show beside it; null where the licence asks for none. */
  credit: string | null;
}
export interface Found {
  items: Item[];
  /** There is another page. */
  more: boolean;
}
/** An item that may be used from now on, and where its bytes are for a short while. */
export interface Acquired {
  item: Item;
  download: string;
}

/**
 * A source of pictures and videos with the key of one owner. Failures are `ProviderError`s: `rejected` where the licence does not allow
 * it, `exhausted` where the plan or its quota does not, `reauthorize` of the key.
 */
export interface ContentPack {
  search(wanted: Wanted): Promise<Found>;
  /** Licenses the item, or tells the source of its use, where the source asks for that. Undefined: there is no such item. */
  acquire(id: string): Promise<Acquired | undefined>;
}

export type ContentPackLine<F extends Fields = Fields> = Line<'http', F>;
export interface ContentPackFacts {
  kinds: readonly Kind[];
}

interface ContentPackSpec<F extends Fields> extends Manifest<F> {
  kinds: readonly Kind[];
  /** Characters that a query may have; default `LONGEST_QUERY`. */
  longestQuery?: number;
  /** What lies further back is not given out. */
  lastPage?: number;
  /** How long what was found may be kept; default `CACHE_MS`, 0 where the terms do not allow it. */
  cacheMs?: number;
  /** Requests that the source takes from one key; absent: it does not say. */
  rate?: { requests: number; perMs: number };
  connect(line: ContentPackLine<F>): ContentPack;
  check?(line: ContentPackLine<F>): Promise<string | void>;
}
export type ContentPackAdapter<F extends Fields = Fields> = ContentPackSpec<F> & Adapter<'contentpack', ContentPackFacts, ContentPackLine<F>, F>;

export const LONGEST_QUERY = 200;
export const CACHE_MS = 600_000;
export const MINUTE_MS = 60_000;
export const HOUR_MS = 3_600_000;
/** Items of a page. */
export const PAGE = 24;

const declare = <F extends Fields>(spec: ContentPackSpec<F>, more: Pick<ContentPackAdapter, 'setup'>): ContentPackAdapter => {
  const adapter: ContentPackAdapter<F> = { ...spec, ...more, domain: 'contentpack', capabilities: ['search', 'acquire'], facts: { kinds: spec.kinds } };
  return adapter as unknown as ContentPackAdapter; // values are checked against the fields before they come here
};

/** Declares a content pack: an organization or the operator sets its key. */
export const contentPack = <const F extends Fields>(spec: ContentPackSpec<F>): ContentPackAdapter =>
  declare(spec, { setup: { fields: spec.credentials, owners: ['instance', 'org'] } });

/** Declares a free source, whose key is in the environment of the process. */
export const stockSource = <const F extends Fields>(spec: ContentPackSpec<F>): ContentPackAdapter => declare(spec, {});

/** An address that a browser may be given; null for any other. */
export const Web = z
  .string()
  .nullish()
  .transform((text) => {
    const url = text ? URL.parse(text) : null;
    return url?.protocol === 'https:' && url.username === '' ? url.href : null;
  });
const LONGEST_TEXT = 300;
/** A text for people, in one line; null where there is none. */
export const Words = z
  .string()
  .nullish()
  .transform((text) => text?.replace(/\s+/g, ' ').trim().slice(0, LONGEST_TEXT).toWellFormed() || null);
export const Id = z.union([z.string().min(1), z.int()]).transform(String);
/** Where bytes are; what may be called there is judged on the way out. */
export const Download = z.string().regex(/^https?:\/\//);

/** A refusal in words of our own, where the source said it in an answer. */
export const refused = (failure: ProviderFailure, message: string, retryAfterMs?: number): ProviderError =>
  new ProviderError(failure, message, { retryAfterMs });

const VIDEO = 'video-';
/** The id of an item whose source counts pictures and videos apart. */
export const idOf = (kind: Kind, id: string): string => (kind === 'video' ? VIDEO + id : id);
export const readId = (id: string): { kind: Kind; id: string } =>
  id.startsWith(VIDEO) ? { kind: 'video', id: id.slice(VIDEO.length) } : { kind: 'image', id };
