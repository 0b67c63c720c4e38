import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { shortlink, type ShortlinkAdapter, ShortUrl } from './_contract.ts';

const FAILURES: Readonly<Record<number, ProviderFailure>> = {
  1: 'rejected',
  2: 'rejected',
  3: 'rate_limited',
  4: 'unavailable',
};
/** A refusal, with status 200 or an error status. */
const Refusal = z.object({ errorcode: z.int() }).transform(({ errorcode }) => FAILURES[errorcode] ?? 'rejected');
const Made = z.object({ shorturl: ShortUrl }).transform(({ shorturl }) => ({ id: shorturl, shortUrl: shorturl }));

/** Declares one of the two names of a free service. It has no API for statistics. */
export const isgd = (brand: { id: string; title: string; host: string; description: string }): ShortlinkAdapter =>
  shortlink({
    id: brand.id,
    version: 'v1',
    status: 'active',
    title: brand.title,
    description: brand.description,
    website: `https://${brand.host}`,
    authType: 'none',
    credentials: {},
    api: `https://${brand.host}`,
    facts: { defaultDomain: brand.host },
    errorOf: Refusal,
    errorInside: Refusal,
    shorten: ({ http }, url) => http.get('/create.php', Made, { query: { format: 'json', url }, creates: true }),
  });
