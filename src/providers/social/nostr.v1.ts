import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import { secret, text } from '../kit/declare/fields.ts';
import { decodeNpub, type Draft, NostrEvent, publicKeyOf, readPrivateKey, signEvent } from '../kit/protocols/nostr.ts';
import { type Handle, type Published, social, type SocialLine } from './_contract.ts';
import { contentOf, keptOf, publishedAs, tagsOf } from './_nostr-notes.ts';
import { countsOf, namesOf, readComments } from './_nostr-reading.ts';
import { ask, sendToAll } from './_nostr-relays.ts';
import { commentAtLikes, commentFrom, repostAtLikes, repostFrom } from './_plugs.ts';

const RELAYS = [
  'wss://nos.lol',
  'wss://relay.damus.io',
  'wss://relay.snort.social',
  'wss://temp.iris.to',
  'wss://vault.iris.to',
];
const MAX_RELAYS = 10;
const relay = z.url({ protocol: /^wss?$/ });

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

/** https://github.com/nostr-protocol/nips */
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
  settings: z.looseObject({ relays: z.array(relay).min(1).max(MAX_RELAYS).optional() }),
  timeoutMs: 10_000, // to open, and again to answer
  settlesWithinMs: 30_000,
  login: { kind: 'credentials' },

  async profile({ values, ...line }) {
    const id = publicKeyOf(keyOf(values.password));
    const found = await ask(line, relaysOf(values.relays), { kinds: [0], authors: [id], limit: 1 });
    return { id, ...namesOf(id, found?.event) };
  },

  publish: ({ post, settings, thread, ...call }) =>
    sendOnce(call, settings.relays ?? relaysOf(call.values.relays), {
      kind: 1,
      content: contentOf(post),
      tags: tagsOf(post, thread),
    }),
  find: ({ settings, ...call }) => findSent(call, settings.relays ?? relaysOf(call.values.relays)),
  async remove({ values, published, ...line }) {
    const tags = [
      ['e', published.id],
      ['k', '1'],
    ];
    const key = keyOf(values.password);
    const request = signEvent({ created_at: seconds(line.clock), kind: 5, content: '', tags }, key);
    await sendToAll(line, relaysWith(published, values), request, key);
  },

  comment: {
    once: 'own-id',
    replies: true,
    send: ({ post, published, parent, ...call }) =>
      sendOnce(call, relaysAround(published, call.values), {
        kind: 1,
        content: contentOf(post),
        tags: tagsOf(post, [published, ...(parent ? [parent] : [])]),
      }),
    find: ({ published, ...call }) => findSent(call, relaysAround(published, call.values)),
  },
  comments: ({ published, cursor, values, ...line }) =>
    readComments(line, relaysWith(published, values), { id: published.id, cursor }),
  repost: {
    once: 'own-id',
    async send({ repost: { published }, ...call }) {
      const relays = relaysAround(published, call.values);
      const { event, relays: having } = keptOf(published) ?? (await ask(call, relays, { ids: [published.id] })) ?? {};
      if (!event) throw refused('rejected', `No relay has the note ${published.id}`);
      const tags = [
        ['e', event.id, having?.[0] ?? ''],
        ['p', event.pubkey],
      ];
      return sendOnce(call, relays, { kind: 6, content: JSON.stringify(event), tags }); // NIP-18
    },
    find: ({ repost: { published }, ...call }) => findSent(call, relaysAround(published, call.values)),
  },

  metrics: ({ posts, values, ...line }) =>
    Promise.all(posts.map((post) => countsOf(line, relaysWith(post, values), post))),
  mention: ({ id }) => (decodeNpub(id) === undefined ? undefined : `nostr:${id}`),
  plugs: [
    repostAtLikes('nostr'),
    commentAtLikes('nostr'),
    repostFrom('nostr', ['nostr']),
    commentFrom('nostr', ['nostr']),
  ],
});

type Values = { password: string; relays: string };
type Line = Pick<SocialLine, 'sockets' | 'clock' | 'timeoutMs'> & { values: Values };

/** The relays that have a post, else those of the channel. */
function relaysWith(published: Published, { relays }: Values): string[] {
  const having = keptOf(published)?.relays ?? [];
  return having.length > 0 ? having : relaysOf(relays);
}
/** The relays of the channel, and those where people see the post. */
const relaysAround = (published: Published, values: Values): string[] =>
  [...new Set([...relaysOf(values.relays), ...relaysWith(published, values)])].slice(0, MAX_RELAYS);

/** Signs an event and sends it; saved before, so that every attempt sends the same one. */
async function sendOnce(
  { values, saved, save, ...line }: Line & Pick<Handle, 'saved' | 'save'>,
  relays: readonly string[],
  draft: Omit<Draft, 'created_at'>,
): Promise<Published> {
  const key = keyOf(values.password);
  const earlier = NostrEvent.safeParse(saved).data;
  const event = earlier ?? signEvent({ created_at: seconds(line.clock), ...draft }, key);
  if (!earlier) await save(event);
  const verdicts = await sendToAll(line, relays, event, key);
  return publishedAs(
    event,
    verdicts.filter(({ word }) => word === 'stored').map((verdict) => verdict.relay),
  );
}

async function findSent(line: Line & Pick<Handle, 'saved'>, relays: readonly string[]): Promise<Published | undefined> {
  const event = NostrEvent.safeParse(line.saved).data;
  if (!event) return undefined;
  const found = await ask(line, relays, { ids: [event.id] });
  return found?.event.id === event.id ? publishedAs(event, found.relays) : undefined;
}
