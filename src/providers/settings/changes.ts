import { z } from 'zod';
import type { Cache } from '../../platform/cache/index.ts';
import type { Providers } from '../registry/index.ts';
import type { Owner } from './rules.ts';

const CHANNEL = 'provider-settings';
const Change = z.object({ orgId: z.string().nullable(), domain: z.string(), id: z.string() });

/** Tells every process that the settings of an owner for a provider are others now. */
export interface Changes extends AsyncDisposable {
  tell(orgId: Owner, provider: { domain: string; id: string }): void;
}

/**
 * On a change every process drops what it has open with the settings before it (VE22). A message that gets lost does no harm:
 * whoever uses a setting reads it anew, and other credentials are another instance; the old one is dropped at its age.
 */
export async function openChanges({ cache, providers }: { cache: Cache; providers: Pick<Providers, 'forget'> }): Promise<Changes> {
  const heard = await cache.subscribe(CHANNEL, (message) => {
    const { orgId, ...provider } = Change.parse(JSON.parse(message));
    providers.forget(provider, orgId);
  });
  return {
    tell: (orgId, { domain, id }) => void cache.publish(CHANNEL, JSON.stringify({ orgId, domain, id })).catch(() => undefined),
    [Symbol.asyncDispose]: () => heard[Symbol.asyncDispose](),
  };
}
