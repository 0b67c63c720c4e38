import { z } from 'zod';
import type { Cache } from '../../platform/cache/index.ts';
import { type Clock, invalidField, sha256Hex } from '../../platform/kernel/index.ts';
import type { AddedFile, MediaRoom } from '../media/index.ts';
import type { ProviderSettings } from '../../providers/settings/index.ts';
import {
  CACHE_MS,
  type ContentPackAdapter,
  type Kind,
  type Providers,
  stockSources,
  type Rate,
} from '../../providers/registry/index.ts';
import { attributionOf, FoundItem, foundItemOf } from './found-item.ts';
import { isItemId, judgeSearch, refusalOf, tooMany, retryAfterOf } from './rules.ts';

export interface Search {
  /** Default: the first free source that has its key. */
  source?: string | undefined;
  q: string;
  kind: Kind;
  page: number;
}
/** Pictures and videos of others: found, licensed, and taken into the library with what is to be said of them. */
export interface Stock {
  search(orgId: string, search: Search): Promise<{ items: FoundItem[]; nextCursor: string | null }>;
  /** Taken once; whoever asks again gets the file that there is. */
  importItem(orgId: string, userId: string, item: { source: string; id: string }): Promise<AddedFile>;
}

/** Keys of the free sources, of the operator. */
export interface StockKeys {
  unsplash: string | undefined;
  pexels: string | undefined;
  pixabay: string | undefined;
  giphy: string | undefined;
  openverse: { clientId: string; clientSecret: string } | undefined;
}

interface Options {
  cache: Cache;
  clock: Clock;
  keys: StockKeys;
  media: Pick<MediaRoom, 'importItem'>;
  providers: Pick<Providers, 'list' | 'contentPack'>;
  settings: Pick<ProviderSettings, 'configured'>;
}

/** A source, and whose key it is asked with. */
interface Source {
  adapter: ContentPackAdapter;
  orgId: string | null;
  values: Readonly<Record<string, string>>;
}

const Found = z.object({ items: z.array(FoundItem), more: z.boolean() });
type Found = z.output<typeof Found>;
/** Of the requests that a key of the operator has in a window, one organization may use this part. */
const SHARE = 4;
const shareOf = ({ requests, perMs }: Rate): Rate => ({ requests: Math.ceil(requests / SHARE), perMs });
const ratesOf = ({ rates = [] }: ContentPackAdapter, values: Source['values']): readonly Rate[] =>
  typeof rates === 'function' ? rates(values) : rates;
/** What one organization may ask in an hour with a key of the operator, of a source that declares no rate. */
const UNDECLARED = { requests: 100, perMs: 3_600_000 };
/** Items of a content pack that one organization may license in a day with a key of the operator: each is paid for. */
const LICENCES = { requests: 50, perMs: 86_400_000 };
/** Requests of an import: the item, and its licence or the note of its use. */
const IMPORT_REQUESTS = 2;

export function openStock({ cache, clock, keys, media, providers, settings }: Options): Stock {
  const free = freeSources(keys);
  const names = [...stockSources, ...providers.list('contentpack')].map(({ id }) => id);
  const searches = new Map<string, Promise<Found>>();

  /** Of a content pack the settings of the organization come before those of the instance. */
  async function sourceOf(orgId: string, name: string | undefined): Promise<Source> {
    const source = free.find(({ adapter }) => name === undefined || adapter.id === name);
    if (source) return source;
    if (name === undefined || !names.includes(name))
      throw invalidField('source', `one of ${names.join(', ')}`, 'invalid_value');
    for (const owner of [orgId, null]) {
      const set = (await settings.configured(owner, 'contentpack')).get(name);
      if (set) return { adapter: set.adapter, orgId: owner, values: set.values };
    }
    throw invalidField('source', `${name} is not set up here: its key is missing`, 'not_configured');
  }

  const kept = (key: string) => cache.get(key).catch(() => undefined); // a cache that is away keeps nothing
  const keep = (key: string, value: string, forMs: number) => cache.set(key, value, forMs).catch(() => undefined);

  /** Counts one request; 429 beyond the limit. */
  async function count(title: string, bucket: string, { requests, perMs }: Rate): Promise<void> {
    const { allowed, resetAt } = await cache.hit(`${bucket}:${perMs}`, requests, perMs);
    if (!allowed) throw tooMany(title, Math.max(resetAt.getTime() - clock.now().getTime(), 1_000));
  }

  /** Does the work while the source takes requests with this key, and notes when it takes no more. */
  async function within<T>(
    { adapter, orgId: owner, values }: Source,
    orgId: string,
    requests: number,
    work: () => Promise<T>,
  ): Promise<T> {
    const { id, title } = adapter;
    const rates = ratesOf(adapter, values);
    const bucket = `stock:${id}:${owner ?? 'instance'}`;
    const closedUntil = Number(await kept(`${bucket}:closed`)) || 0;
    const rest = closedUntil - clock.now().getTime();
    if (rest > 0) throw tooMany(title, rest);
    const shares = rates.length > 0 ? rates.map(shareOf) : [UNDECLARED];
    for (let n = 0; n < requests; n += 1) {
      if (owner === null) for (const share of shares) await count(title, `${bucket}:${orgId}`, share);
      for (const rate of rates) await count(title, bucket, rate);
    }
    try {
      return await work();
    } catch (error) {
      const wait = retryAfterOf(error);
      if (wait !== undefined) await keep(`${bucket}:closed`, String(clock.now().getTime() + wait), wait);
      throw refusalOf(error, title);
    }
  }

  const open = ({ adapter, orgId, values }: Source) => providers.contentPack(adapter, { orgId, values });

  async function find(source: Source, orgId: string, { q, kind, page }: Search): Promise<Found> {
    const { id, version, cacheMs = CACHE_MS, lastPage = Infinity } = source.adapter;
    if (page > lastPage) return { items: [], more: false };
    const ask = () =>
      within(source, orgId, 1, async () => {
        const { items, more } = await open(source).search({ q, kind, page });
        return { items: items.map((item) => foundItemOf(id, item)), more: more && page < lastPage };
      });
    if (cacheMs === 0) return ask();

    const digest = sha256Hex(JSON.stringify([q.toLowerCase(), kind, page]));
    const key = `stock:${id}@${version}:${source.orgId ?? 'instance'}:${digest}`;
    const known = await kept(key);
    // another release may have kept another shape
    const remembered = known === undefined ? undefined : Found.safeParse(JSON.parse(known)).data;
    if (remembered) return remembered;
    const askAndKeep = async () => {
      const found = await ask();
      // before it counts as asked: whoever comes in between would ask again
      await keep(key, JSON.stringify(found), cacheMs);
      return found;
    };
    const asked = searches.get(key) ?? askAndKeep().finally(() => searches.delete(key));
    searches.set(key, asked);
    return asked;
  }

  return {
    async search(orgId, search) {
      const source = await sourceOf(orgId, search.source);
      judgeSearch(source.adapter, search);
      const { items, more } = await find(source, orgId, search);
      return { items, nextCursor: more ? String(search.page + 1) : null };
    },

    async importItem(orgId, userId, { source: name, id }) {
      const source = await sourceOf(orgId, name);
      const { adapter } = source;
      const missing = () => invalidField('id', `${adapter.title} has no such item`, 'unknown_id');
      if (!isItemId(id)) throw missing();
      const acquire = async () => {
        if (source.orgId === null && !free.includes(source))
          await count(adapter.title, `stock:${adapter.id}:licences:${orgId}`, LICENCES);
        const acquired = await within(source, orgId, IMPORT_REQUESTS, () => open(source).acquire(id));
        if (!acquired) throw missing();
        return { url: acquired.download, attribution: { ...attributionOf(adapter, acquired.item), itemId: id } };
      };
      try {
        return await media.importItem(
          orgId,
          userId,
          { provider: `${adapter.domain}/${adapter.id}`, itemId: id },
          acquire,
        );
      } catch (error) {
        throw refusalOf(error, adapter.title);
      }
    },
  };
}

/** Those whose key the operator has given, the preferred one first; Openverse needs none. */
function freeSources({ openverse, ...keys }: StockKeys): Source[] {
  const given: Readonly<Record<string, Record<string, string> | undefined>> = {
    ...Object.fromEntries(
      Object.entries(keys).map(([id, apiKey]) => [id, apiKey === undefined ? undefined : { apiKey }]),
    ),
    openverse: { ...openverse },
  };
  return stockSources.flatMap((adapter) => {
    const values = given[adapter.id];
    return values ? [{ adapter, orgId: null, values }] : [];
  });
}
