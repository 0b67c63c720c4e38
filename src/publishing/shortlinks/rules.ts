import { contentToText } from '../../platform/content/index.ts';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { findInText, findLinks, type ShortlinkAdapter } from '../../providers/registry/index.ts';
import type { Link } from '../posts/index.ts';

/** Beyond these, links stay as they are. */
const MOST_LINKS = 25;
const MOST_CHARACTERS = 8_000;

/**
 * The links of a content (HTML or plain) that can be shortened, each once. One with a password in it is told to nobody.
 */
export function linksOf(content: string): string[] {
  if (!/https?:/i.test(content)) return [];
  const links = new Set<string>();
  for (const { value } of findLinks(contentToText(content))) {
    if (value.length > MOST_CHARACTERS) continue;
    const { username, password } = new URL(value);
    if (username === '' && password === '') links.add(value);
    if (links.size === MOST_LINKS) break;
  }
  return [...links];
}

/** A plain text with short links in the place of the long ones. Nothing else of it changes. */
export function withShortLinks(text: string, links: readonly Link[]): string {
  const short = new Map(links.flatMap((link) => (link.short === null ? [] : [[link.url, link.short] as const])));
  if (short.size === 0) return text;
  return findInText(text).reduceRight((rest, { kind, value, start, end }) => {
    const instead = kind === 'link' ? short.get(value) : undefined;
    return instead === undefined ? rest : rest.slice(0, start) + instead + rest.slice(end);
  }, text);
}

/** Whether a link is one of this provider's already. */
export const isShortAlready = (
  url: string,
  { facts: { defaultDomain } }: Pick<ShortlinkAdapter, 'facts'>,
  { domain }: Readonly<Record<string, string>>,
): boolean => [defaultDomain, domain?.toLowerCase()].includes(new URL(url).host);

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
/** By any count of any network: a short link is plain ASCII. A text never becomes longer than it was judged. */
export const isNoLonger = (short: string, url: string): boolean => short.length <= [...graphemes.segment(url)].length;

const MINUTE = 60_000;
const WAITS = [MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE];

/**
 * When to ask again after a refusal; undefined: never, because it would be refused again, or because a second link
 * could be made.
 */
export function askAgainMs(
  failure: ProviderFailure,
  {
    attempt,
    repeatable,
    retryAfterMs = 0,
  }: { attempt: number; repeatable: boolean; retryAfterMs?: number | undefined },
): number | undefined {
  if (failure === 'rejected' || failure === 'unsupported' || (failure === 'lost' && !repeatable)) return undefined;
  return Math.max(WAITS[Math.min(attempt, WAITS.length) - 1] ?? MINUTE, retryAfterMs);
}
