import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import {
  decodeNpub,
  encodeNevent,
  encodeNpub,
  NostrEvent,
  publicKeyOf,
  readPrivateKey,
  signEvent,
} from '../kit/protocols/nostr.ts';
import { findInText } from '../kit/protocols/text.ts';
import { publicUrlOf } from './_limits.ts';
import { type Media, type Post, type Published, social } from './_contract.ts';
import { ask, sendToAll } from './_nostr-relays.ts';

const RELAYS = [
  'wss://nos.lol',
  'wss://relay.damus.io',
  'wss://relay.snort.social',
  'wss://temp.iris.to',
  'wss://vault.iris.to',
];
const MAX_RELAYS = 10;
const relay = z.url({ protocol: /^wss?$/ });
const Card = z.object({
  name: z.string().nullish(),
  display_name: z.string().nullish(),
  picture: z.string().nullish(),
});
/** Data of a published note that a reply needs. */
const Saved = z.object({ event: NostrEvent, relays: z.array(z.string()) });

const relaysOf = (typed: string): string[] => [...new Set(typed.split(/[\s,]+/).filter((one) => one !== ''))];
const seconds = (clock: Clock) => Math.floor(clock.now().getTime() / 1000);

/** Describes the fault of a typed list of relays; undefined for a valid one. */
function relaysFault(typed: string): string | undefined {
  const relays = relaysOf(typed);
  if (relays.length === 0 || relays.some((one) => !relay.safeParse(one).success))
    return 'must be wss:// addresses, with commas between them';
  return relays.length > MAX_RELAYS ? `must be ${MAX_RELAYS} addresses at most` : undefined;
}

function keyOf(typed: string): Uint8Array {
  const key = readPrivateKey(typed);
  if (!key) throw refused('reauthorize', 'This is not a Nostr private key: use 64 hexadecimal characters, or nsec1…');
  return key;
}

export default social({
  id: 'nostr',
  version: 'v1',
  status: 'active',
  title: 'Nostr',
  description: 'Signed notes, sent to several relays at once.',
  website: 'https://nostr.com',
  authType: 'password',
  setupNotes: 'The private key controls the identity for ever and cannot be replaced. It is stored sealed.',
  credentials: {
    password: secret('Private key', {
      validation: '[0-9a-fA-F]{64}|nsec1[02-9ac-hj-np-z]{58}',
      help: '64 hexadecimal characters, or nsec1…',
    }),
    relays: text('Relays', {
      required: false,
      default: RELAYS.join(', '),
      fault: relaysFault,
      help: 'wss:// addresses, with commas between them; ten at most',
    }),
  },
  api: 'wss:', // there is no server: notes go to the relays
  isWeb3: true,
  once: 'own-id',
  threads: 'reply',
  limits: {
    text: 60_000,
    unit: 'bytes',
    media: 20,
    mediaTypes: ['image/*', 'video/*', 'audio/*'],
    fetches: ['image', 'video', 'audio'],
  },
  settings: z.object({ relays: z.array(relay).min(1).max(MAX_RELAYS).optional() }),
  timeoutMs: 10_000, // to open, and again to answer
  settlesWithinMs: 30_000,
  login: { kind: 'credentials' },

  async profile({ values, ...line }) {
    const publicKey = publicKeyOf(keyOf(values.password));
    const found = await ask(line, relaysOf(values.relays), { kinds: [0], authors: [publicKey], limit: 1 });
    const card = found && Card.safeParse(read(found.event.content)).data;
    const npub = encodeNpub(publicKey);
    return {
      id: publicKey,
      name: card?.display_name || card?.name || `${npub.slice(0, 12)}…`,
      handle: npub,
      ...(card?.picture && { picture: card.picture }),
    };
  },

  async publish({ values, post, settings, saved, save, thread, ...line }) {
    const key = keyOf(values.password);
    const relays = settings.relays ?? relaysOf(values.relays);
    const earlier = NostrEvent.safeParse(saved).data;
    const event =
      earlier ??
      signEvent(
        { created_at: seconds(line.clock), kind: 1, content: contentOf(post), tags: tagsOf(post, thread) },
        key,
      );
    if (!earlier) await save(event); // from here on every attempt sends the same note
    const verdicts = await sendToAll(line, relays, event, key);
    return publishedAs(
      event,
      verdicts.filter(({ word }) => word === 'stored').map((verdict) => verdict.relay),
    );
  },

  async find({ values, settings, saved, ...line }) {
    const event = NostrEvent.safeParse(saved).data;
    if (!event) return undefined;
    const found = await ask(line, settings.relays ?? relaysOf(values.relays), { ids: [event.id] });
    return found?.event.id === event.id ? publishedAs(event, found.relays) : undefined;
  },

  async remove({ values, published, ...line }) {
    const relays = Saved.safeParse(published.saved).data?.relays ?? relaysOf(values.relays);
    const key = keyOf(values.password);
    const request = signEvent(
      {
        created_at: seconds(line.clock),
        kind: 5,
        content: '',
        tags: [
          ['e', published.id],
          ['k', '1'],
        ],
      },
      key,
    );
    await sendToAll(line, relays, request, key);
  },
});

const publishedAs = (event: NostrEvent, relays: string[]): Published => ({
  id: event.id,
  url: `https://njump.me/${encodeNevent(event.id, relays)}`,
  saved: { event, relays } satisfies z.output<typeof Saved>,
});

const contentOf = (post: Post): string =>
  [post.text, ...post.media.map(publicUrlOf)].filter((line) => line !== '').join('\n');

/**
 * Makes the tags of a note: hashtags (NIP-24), people (`nostr:npub1…`, NIP-27), pictures (NIP-92), and its parent
 * (NIP-10). The id of a note is the hash of its content and second: the nonce (NIP-13, without proof of work) keeps two
 * posts with the same text apart.
 */
function tagsOf(post: Post, thread: readonly Published[]): string[][] {
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

function replyTags(thread: readonly Published[]): string[][] {
  const [root] = thread;
  const parent = thread.at(-1);
  if (!root || !parent) return [];
  const relayOf = ({ saved }: Published) => Saved.safeParse(saved).data?.relays[0] ?? '';
  const author = Saved.safeParse(parent.saved).data?.event.pubkey;
  return [
    ['e', root.id, relayOf(root), 'root'],
    ...(parent.id === root.id ? [] : [['e', parent.id, relayOf(parent), 'reply']]),
    ...(author ? [['p', author]] : []),
  ];
}

function read(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
