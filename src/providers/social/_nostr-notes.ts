import { z } from 'zod';
import { decodeNpub, encodeNevent, NostrEvent } from '../kit/protocols/nostr.ts';
import { findInText } from '../kit/protocols/text.ts';
import { publicUrlOf } from './_limits.ts';
import type { Media, Post, Published } from './_contract.ts';

/** Data of a published note that a reply needs. */
const Saved = z.object({ event: NostrEvent, relays: z.array(z.string()) });
type Above = Pick<Published, 'id' | 'saved'>;
export const keptOf = ({ saved }: Above): z.output<typeof Saved> | undefined => Saved.safeParse(saved).data;

export const publishedAs = (event: NostrEvent, relays: string[]): Published => ({
  id: event.id,
  url: `https://njump.me/${encodeNevent(event.id, relays)}`,
  saved: { event, relays } satisfies z.output<typeof Saved>,
});

export const contentOf = (post: Post): string =>
  [post.text, ...post.media.map(publicUrlOf)].filter((line) => line !== '').join('\n');

/**
 * Makes the tags of a note: hashtags (NIP-24), people (`nostr:npub1…`, NIP-27), pictures (NIP-92), and its parent
 * (NIP-10). The id of a note is the hash of its content and second: the nonce (NIP-13, without proof of work) keeps two
 * posts with the same text apart.
 */
export function tagsOf(post: Post, thread: readonly Above[]): string[][] {
  const tags = findInText(post.text)
    .filter(({ kind }) => kind === 'tag')
    .map(({ value }) => value.toLowerCase());
  const people = [...post.text.matchAll(/\bnostr:(npub1[02-9ac-hj-np-z]{58})\b/g)].flatMap(
    ([, npub]) => decodeNpub(npub!) ?? [],
  );
  return [
    ...[...new Set(tags)].map((tag) => ['t', tag]),
    ...[...new Set(people)].map((person) => ['p', person]),
    ...post.media.map(imeta),
    ...replyTags(thread),
    ['nonce', post.id, '0'],
  ];
}

const imeta = (file: Media): string[] => {
  const { contentType, alt, width, height } = file;
  return [
    'imeta',
    `url ${publicUrlOf(file)}`,
    `m ${contentType}`,
    ...(width && height ? [`dim ${width}x${height}`] : []),
    ...(alt ? [`alt ${alt}`] : []),
  ];
};

/** The thread above, first item first; where that is a reply itself, the thread begins above it. */
function replyTags(thread: readonly Above[]): string[][] {
  const [first] = thread;
  const parent = thread.at(-1);
  if (!first || !parent) return [];
  const relayOf = (item: Above) => keptOf(item)?.relays[0] ?? '';
  const above = keptOf(first)?.event.tags.find(([name, , , mark]) => name === 'e' && mark === 'root');
  const root = above ?? ['e', first.id, relayOf(first), 'root'];
  const author = keptOf(parent)?.event.pubkey;
  return [
    root,
    ...(parent.id === root[1] ? [] : [['e', parent.id, relayOf(parent), 'reply']]),
    ...(author ? [['p', author]] : []),
  ];
}

/** The events above a note (NIP-10): marked, or in the old way by their order. A marked mention is none. */
const aboveOf = ({ tags }: NostrEvent): string[][] =>
  tags.filter(([name, , , mark]) => name === 'e' && mark !== 'mention');
export const isBelow = (note: NostrEvent, id: string): boolean => aboveOf(note).some(([, above]) => above === id);
export function parentOf(note: NostrEvent): string | undefined {
  const above = aboveOf(note);
  const marked = (word: string) => above.find(([, , , mark]) => mark === word);
  return (marked('reply') ?? marked('root') ?? above.at(-1))?.[1];
}
