import { openOutbound } from '../../../src/platform/outbound/index.ts';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import {
  openProviders,
  type Handle,
  type LookUp,
  type Media,
  type Post,
  type ProvidersOptions,
  type Social,
} from '../../../src/providers/registry/index.ts';

/** Providers as the product opens them, allowed to call this machine; `await using` closes the connections. */
export function localProviders(more: Partial<ProvidersOptions> = {}) {
  const outbound = openOutbound({ timeoutMs: 20_000, allowedPrivateCidrs: ['127.0.0.1/32'] });
  const providers = openProviders({ outbound, clock: systemClock, sandboxEnabled: true, ...more });
  return { ...providers, outbound, [Symbol.asyncDispose]: () => outbound[Symbol.asyncDispose]() };
}

/** The ids of the releases that a look-up of the adapter shows. */
export async function lookUp(
  channel: Social,
  post: Post,
  attempt: Partial<LookUp> & Pick<LookUp, 'since'>,
): Promise<string[]> {
  const found = await channel.find!(post, {}, { saved: undefined, thread: [], ...attempt });
  if (found === undefined) return [];
  return ('id' in found ? [found] : found).map(({ id }) => id);
}

let made = 0;
/** A post with its own id. */
export const postOf = (text: string, media: readonly Media[] = []): Post => ({
  id: `post-${(made += 1)}-${process.pid}`,
  text,
  media,
});

/** A handle that remembers what the adapter saved. */
export function handleOf(saved?: unknown, thread: Handle['thread'] = []): Handle & { kept: unknown[] } {
  const kept: unknown[] = [];
  return { saved, thread, kept, save: async (handle) => void kept.push(handle) };
}
