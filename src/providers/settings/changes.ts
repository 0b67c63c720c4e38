import { z } from 'zod';
import type { Cache } from '../../platform/cache/index.ts';
import type { Providers } from '../registry/index.ts';
import type { Owner } from './rules.ts';

const CHANNEL = 'provider-settings';
const Change = z.object({ orgId: z.string().nullable(), domain: z.string(), id: z.string() });

/** Tells every process that the settings of an owner for a provider have changed. */
export interface Changes extends AsyncDisposable {
  tell(orgId: Owner, provider: { domain: string; id: string }): void;
}

/**
 * Drops the connections with earlier settings in every process (VE22). A lost message does no harm: settings are read
 * for each use, other credentials open another connection, and the old one expires.
 */
export async function openChanges({
  cache,
  providers,
}: {
  cache: Cache;
  providers: Pick<Providers, 'forget'>;
}): Promise<Changes> {
  const heard = await cache.subscribe(CHANNEL, (message) => {
    const { orgId, ...provider } = Change.parse(JSON.parse(message));
    providers.forget(provider, orgId);
  });
  return {
    tell: (orgId, { domain, id }) =>
      void cache.publish(CHANNEL, JSON.stringify({ orgId, domain, id })).catch(() => undefined),
    [Symbol.asyncDispose]: () => heard[Symbol.asyncDispose](),
  };
}
