import { z } from 'zod';
import { whenFailed } from '../kit/declare/fallback.ts';
import { decodeNpub, encodeNpub, type NostrEvent, publicKeyOf } from '../kit/protocols/nostr.ts';
import type { CommentPage, Operations, PostCounts, Published, SocialLine } from './_contract.ts';
import { type credentials, keyOf, relaysOf, relaysWith } from './_nostr-identity.ts';
import { isBelow, parentOf, publishedAs } from './_nostr-notes.ts';
import { ask, type Held, list } from './_nostr-queries.ts';

const NOTE = 1;
const REPOST = 6;
const REACTION = 7;
/** An answer to what is no note (NIP-22). */
const COMMENT = 1111;
const PAGE = 100;
/** Events that one relay sends for the counts of a post. */
const COUNTED = 500;

const Text = z.string().nullish().catch(undefined);
const Card = z.object({ name: Text, display_name: Text, picture: Text }).catch({});
type Line = Pick<SocialLine, 'sockets' | 'clock' | 'timeoutMs'>;

/** What a person calls itself; a key without a card goes by its beginning. */
function namesOf(publicKey: string, card: NostrEvent | undefined) {
  const npub = encodeNpub(publicKey);
  const { name, display_name, picture } = Card.parse(card && read(card.content));
  return { name: display_name || name || `${npub.slice(0, 12)}…`, handle: npub, ...(picture && { picture }) };
}

function read(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}

/** Reads the notes below a note. `cursor`: the second from which on they are older. */
async function readComments(
  line: Line,
  relays: readonly string[],
  { id, cursor }: { id: string; cursor: string | undefined },
): Promise<CommentPage> {
  const { found, until } = await list(line, relays, {
    kinds: [NOTE, COMMENT],
    '#e': [id],
    ...(cursor !== undefined && { until: Number(cursor) }),
    limit: PAGE,
  });
  const below = found.filter(({ event }) => isBelow(event, id));
  const cards = await cardsOf(line, relays, below);
  const comments = below.map(({ event, relays: having }) => {
    const parent = parentOf(event);
    return {
      ...publishedAs(event, having),
      text: event.content,
      author: { id: event.pubkey, ...namesOf(event.pubkey, cards.get(event.pubkey)) },
      createdAt: new Date(event.created_at * 1_000),
      parentId: parent === id ? undefined : parent,
    };
  });
  return { comments, ...(until !== undefined && { next: String(until) }) };
}

/** The newest card of each author; without an answer none. */
async function cardsOf(line: Line, relays: readonly string[], notes: readonly Held[]) {
  const authors = [...new Set(notes.map(({ event }) => event.pubkey))];
  const none: { found: Held[] } = { found: [] };
  const { found } =
    authors.length === 0
      ? none
      : await whenFailed(
          'unavailable',
          () => list(line, relays, { kinds: [0], authors, limit: authors.length }),
          async () => none,
        );
  return new Map(found.toReversed().map(({ event }) => [event.pubkey, event]));
}

/** Counts what the relays tell of a post: of each person one reaction (NIP-25) and one repost (NIP-18). */
async function countsOf(line: Line, relays: readonly string[], { id }: Published): Promise<PostCounts> {
  const kinds = [NOTE, REPOST, REACTION, COMMENT];
  const { found } = await list(line, relays, { kinds, '#e': [id], limit: COUNTED });
  const events = found.map(({ event }) => event);
  const people = (wanted: (event: NostrEvent) => boolean) =>
    new Set(events.filter(wanted).map(({ pubkey }) => pubkey)).size;
  const isReaction = ({ kind, tags }: NostrEvent) =>
    kind === REACTION && tags.findLast(([name]) => name === 'e')?.[1] === id;
  return {
    id,
    counts: {
      likes: people((event) => isReaction(event) && event.content !== '-'),
      dislikes: people((event) => isReaction(event) && event.content === '-'),
      reposts: people(({ kind }) => kind === REPOST),
      comments: events.filter((event) => (event.kind === NOTE || event.kind === COMMENT) && isBelow(event, id)).length,
    },
  };
}

/** People, and what relays tell of notes. */
export const nostrReading = {
  async profile({ values, ...line }) {
    const id = publicKeyOf(keyOf(values.password));
    const found = await ask(line, relaysOf(values.relays), { kinds: [0], authors: [id], limit: 1 });
    return { id, ...namesOf(id, found?.event) };
  },
  commentReads: { lists: 'some' }, // relays may drop notes
  comments: ({ published, cursor, values, ...line }) =>
    readComments(line, relaysWith(published, values), { id: published.id, cursor }),
  metrics: ({ posts, values, ...line }) =>
    Promise.all(posts.map((post) => countsOf(line, relaysWith(post, values), post))),
  mention: ({ id }) => (decodeNpub(id) === undefined ? undefined : `nostr:${id}`),
} satisfies Operations<z.ZodType, typeof credentials>;
