import { z } from 'zod';
import type { Adapter, Manifest } from '../kit/declare/adapter.ts';
import { type Fields, text } from '../kit/declare/fields.ts';
import type { Line } from '../kit/declare/line.ts';

/** A short link; `id` identifies it in later calls to its provider. */
export interface ShortLink {
  id: string;
  shortUrl: string;
}

/**
 * A provider of short links with its owner's settings. Failures are `ProviderError`s: `rejected` is final for this
 * link; after `lost` a link may have been made.
 */
export interface Shortener {
  shorten(url: string): Promise<ShortLink>;
  /** Counts all clicks of a link. Absent where the provider has no count. */
  clicks?(link: ShortLink): Promise<number>;
}

export type ShortlinkLine<F extends Fields = Fields> = Line<'http', F>;
export interface ShortlinkFacts {
  /** The host of its links, unless the owner has a domain. */
  defaultDomain?: string;
}

interface ShortlinkSpec<F extends Fields> extends Manifest<F> {
  facts?: ShortlinkFacts;
  /** A repeat for the same address answers the same link, so a lost call can be repeated. */
  repeatable?: true;
  /** Absent where the API is not public, as `setupNotes` says. The call has `creates`. */
  shorten?(line: ShortlinkLine<F>, url: string): Promise<ShortLink>;
  clicks?(line: ShortlinkLine<F>, link: ShortLink): Promise<number>;
  /** Absent: the check makes a link. */
  check?(line: ShortlinkLine<F>): Promise<string>;
  /** One of these groups of fields must be complete. */
  oneOf?: readonly (readonly (keyof F & string)[])[];
}
export interface ShortlinkAdapter<F extends Fields = Fields> extends Adapter<
  'shortlink',
  ShortlinkFacts,
  ShortlinkLine<F>,
  F
> {
  repeatable: boolean;
  connect(line: ShortlinkLine<F>): Shortener | undefined;
}

/** Short: a post goes out with the long link instead. */
const TIMEOUT_MS = 10_000;
const EXAMPLE = 'https://example.com/';

/** Declares a provider of short links. */
export function shortlink<const F extends Fields>({
  repeatable,
  shorten,
  clicks,
  check,
  oneOf,
  facts = {},
  ...manifest
}: ShortlinkSpec<F>): ShortlinkAdapter {
  const adapter: ShortlinkAdapter<F> = {
    timeoutMs: TIMEOUT_MS,
    ...manifest,
    domain: 'shortlink',
    facts,
    capabilities: [...(shorten ? ['shorten'] : []), ...(clicks ? ['clicks'] : [])],
    repeatable: repeatable ?? false,
    connect: (line) =>
      shorten && { shorten: (url) => shorten(line, url), ...(clicks && { clicks: (link) => clicks(line, link) }) },
    ...(shorten && {
      setup: { fields: manifest.credentials, owners: ['instance', 'org'], ...(oneOf && { oneOf }) },
      check: check ?? (async (line) => `It works: ${(await shorten(line, EXAMPLE)).shortUrl} leads to ${EXAMPLE}`),
    }),
  };
  return adapter as unknown as ShortlinkAdapter; // the registry checks values against the fields
}

/**
 * The short link in a reply. It is put into texts as it is, so it must be an address, without punctuation that ends a
 * sentence.
 */
export const ShortUrl = z.string().regex(/^https?:\/\/[a-z0-9.-]+(?::\d+)?\/[\w~%.,:;@!$&*()+=?#/-]*[\w~%/=-]$/i);
/** The short link in a reply, where the provider leaves out the scheme. */
export const BareUrl = z
  .string()
  .transform((url) => (/^https?:\/\//i.test(url) ? url : `https://${url}`))
  .pipe(ShortUrl);
/** An id that is a text or a number. */
export const Id = z.union([z.string().min(1), z.int()]).transform(String);
export const Clicks = z.int().min(0);

/** The field for a domain of the owner. */
export const ownDomain = text('Short domain', {
  required: false,
  validation: '[A-Za-z0-9-]+(?:\\.[A-Za-z0-9-]+)+',
  help: 'A domain of yours that the account has, such as go.example.com; without it the usual one',
});
