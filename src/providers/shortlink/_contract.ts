import { z } from 'zod';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import { type Fields, text } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

/** A link as its provider made it. `id` is what the provider is asked with later. */
export interface ShortLink {
  id: string;
  shortUrl: string;
}

/**
 * A provider of short links, with the settings of one owner. Failures are `ProviderError`s: `rejected` is about this link, for ever;
 * after `lost` nobody knows whether a link was made.
 */
export interface Shortener {
  shorten(url: string): Promise<ShortLink>;
  /** How often the link was followed, in all. Absent: the provider does not tell. */
  clicks?(link: ShortLink): Promise<number>;
}

export type ShortlinkLine<F extends Fields = Fields> = Line<'http', F>;
export interface ShortlinkFacts {
  /** The host of its links, where the owner brings none. */
  defaultDomain?: string;
}

interface ShortlinkSpec<F extends Fields> extends Manifest<F> {
  facts?: ShortlinkFacts;
  /** Asked again for the same address it answers the same link, so that a lost answer can be asked for once more. */
  repeatable?: true;
  /** Absent: its API is not public, as `setupNotes` says. The call is a creating one (`creates`). */
  shorten?(line: ShortlinkLine<F>, url: string): Promise<ShortLink>;
  clicks?(line: ShortlinkLine<F>, link: ShortLink): Promise<number>;
  /** Absent: a link is made to see whether that works. */
  check?(line: ShortlinkLine<F>): Promise<string>;
  /** One of these groups of fields must be whole. */
  oneOf?: readonly (readonly (keyof F & string)[])[];
}
export interface ShortlinkAdapter<F extends Fields = Fields> extends Adapter<'shortlink', ShortlinkFacts, ShortlinkLine<F>, F> {
  repeatable: boolean;
  connect(line: ShortlinkLine<F>): Shortener | undefined;
}

/** Nobody waits long for a link: the long one goes out instead. */
const TIMEOUT_MS = 10_000;
const EXAMPLE = 'https://example.com/';

/** Declares a provider of short links; the types of its own fields end here. */
export function shortlink<const F extends Fields>({ repeatable, shorten, clicks, check, oneOf, facts = {}, ...manifest }: ShortlinkSpec<F>): ShortlinkAdapter {
  const adapter: ShortlinkAdapter<F> = {
    timeoutMs: TIMEOUT_MS,
    ...manifest,
    domain: 'shortlink',
    facts,
    capabilities: [...(shorten ? ['shorten'] : []), ...(clicks ? ['clicks'] : [])],
    repeatable: repeatable ?? false,
    connect: (line) => shorten && { shorten: (url) => shorten(line, url), ...(clicks && { clicks: (link) => clicks(line, link) }) },
    ...(shorten && {
      setup: { fields: manifest.credentials, owners: ['instance', 'org'], ...(oneOf && { oneOf }) },
      check: check ?? (async (line) => `It works: ${(await shorten(line, EXAMPLE)).shortUrl} leads to ${EXAMPLE}`),
    }),
  };
  return adapter as unknown as ShortlinkAdapter; // values are checked against the fields before they come here
}

/** The short link of a reply. It goes into texts as it is, so it is nothing but an address, and nothing that ends a sentence ends it. */
export const ShortUrl = z.string().regex(/^https?:\/\/[a-z0-9.-]+(?::\d+)?\/[\w~%.,:;@!$&*()+=?#/-]*[\w~%/=-]$/i);
/** The same, of a provider that leaves out the scheme. */
export const BareUrl = z
  .string()
  .transform((url) => (/^https?:\/\//i.test(url) ? url : `https://${url}`))
  .pipe(ShortUrl);
/** A name that comes as a text or a number. */
export const Id = z.union([z.string().min(1), z.int()]).transform(String);
export const Clicks = z.int().min(0);

/** The field of a provider that takes a domain of one's own. */
export const ownDomain = text('Short domain', {
  required: false,
  validation: '[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+',
  help: 'A domain of yours that the account has, such as go.example.com; without it the usual one',
});
