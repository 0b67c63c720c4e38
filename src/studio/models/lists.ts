import { z } from 'zod';
import type { Cache } from '../../platform/cache/index.ts';
import { type Clock, sha256Hex } from '../../platform/kernel/index.ts';
import { AI_KINDS, type AiAdapter, type AiModel, type Providers, type Use } from '../../providers/registry/index.ts';

/** A model as its provider lists it. */
export type ListedModel = Pick<AiModel, 'id' | 'kinds'>;

/** The models that a provider lists, kept for some minutes. */
export interface ModelLists {
  /** Undefined: the provider could not be asked, or does not answer in time. It never rejects. */
  of(setting: { adapter: AiAdapter; use: Use; settingId: string }): Promise<readonly ListedModel[] | undefined>;
}

const KEPT_MS = 5 * 60_000;
/** A provider that failed is left alone for so long. */
const FAILED_MS = 60_000;
/** Nobody waits longer for a list; what comes later is kept for the next one who asks. */
const WAIT_MS = 3_000;

const Kept = z.array(z.object({ id: z.string(), kinds: z.array(z.enum(AI_KINDS)) })).nullable();

interface ListsDeps {
  cache: Cache;
  clock: Clock;
  providers: Pick<Providers, 'ai'>;
}

/** Opens the lists: one question at a time for each setting, whoever asks. */
export function openModelLists({ cache, clock, providers }: ListsDeps): ModelLists {
  const underWay = new Map<string, Promise<readonly ListedModel[] | undefined>>();

  async function find(key: string): Promise<z.output<typeof Kept> | undefined> {
    const known = await cache.get(key).catch(() => undefined); // a cache that is away keeps nothing
    return known === undefined ? undefined : Kept.safeParse(JSON.parse(known)).data;
  }
  async function ask(key: string, adapter: AiAdapter, use: Use): Promise<readonly ListedModel[] | undefined> {
    const listed = await providers
      .ai(adapter, use)
      .models()
      .catch(() => undefined);
    const keep = cache.set(key, JSON.stringify(listed ?? null), listed ? KEPT_MS : FAILED_MS);
    await keep.catch(() => undefined);
    return listed;
  }

  return {
    async of({ adapter, use, settingId }) {
      // other values may be of another account, or of another server
      const key = `ai-models:${settingId}:${sha256Hex(JSON.stringify([adapter.id, adapter.version, use.values]))}`;
      const known = await find(key);
      if (known !== undefined) return known ?? undefined;
      const asked = underWay.get(key) ?? ask(key, adapter, use).finally(() => underWay.delete(key));
      underWay.set(key, asked);
      const over = new AbortController();
      const late = clock.sleep(WAIT_MS, over.signal).then(
        () => undefined,
        () => undefined,
      );
      return Promise.race([asked, late]).finally(() => over.abort());
    },
  };
}
