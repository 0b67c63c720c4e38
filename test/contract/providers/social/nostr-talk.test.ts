import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { encodeNpub, type NostrEvent, publicKeyOf, signEvent } from '../../../../src/providers/kit/protocols/nostr.ts';
import type { Published } from '../../../../src/providers/registry/index.ts';
import { startRelay } from '../../../fixtures/providers/social-servers/nostr.ts';
import { failureOf } from '../../../support/peers/fake-network.ts';
import { handleOf, localProviders, postOf } from '../../../support/worlds/providers.ts';

// What people write below posts (NIP-10, 18, 22, 25), on relays that check what they are sent.

const ALICE = '5d'.repeat(32);
const BOB = 'a7'.repeat(32);
const bytes = (key: string) => new Uint8Array(Buffer.from(key, 'hex'));
const publicOf = (key: string) => publicKeyOf(bytes(key));
const NOW = Math.floor(Date.now() / 1_000);

type Relay = Awaited<ReturnType<typeof startRelay>>;
let relays: [Relay, Relay];
let providers: ReturnType<typeof localProviders>;
beforeEach(async () => {
  relays = [await startRelay(), await startRelay()];
  providers = localProviders();
});
afterEach(async () => {
  await providers[Symbol.asyncDispose]();
  for (const relay of relays) await relay[Symbol.asyncDispose]();
  expect(relays.flatMap(({ faults }) => faults)).toEqual([]);
});

const adapter = () => providers.resolve('social', 'nostr');
const channel = (key = ALICE, urls = relays.map(({ url }) => url)) =>
  providers.connect(adapter(), { values: { password: key, relays: urls.join(', ') }, account: publicOf(key) });
const tagsOf = (id: string, name: string) =>
  relays[0].events
    .get(id)!
    .tags.filter(([tag]) => tag === name)
    .map(([, value, , mark]) => [value, ...(mark ? [mark] : [])]);
/** An event of somebody, which relays have already. */
function held(key: string, event: Partial<NostrEvent>, on: readonly Relay[] = relays): NostrEvent {
  const signed = signEvent({ created_at: NOW, kind: 1, tags: [], content: '', ...event }, bytes(key));
  for (const relay of on) relay.events.set(signed.id, signed);
  return signed;
}
const root = (text = 'Root') => channel().publish(postOf(text), {}, handleOf());

test('comments below a post, and answers a comment, with the ends of the thread', async () => {
  const post = await root();
  const comment = await channel(BOB).comment!({ post: postOf('First #Birds'), published: post }, handleOf());
  expect(tagsOf(comment.id, 'e')).toEqual([[post.id, 'root']]);
  expect(tagsOf(comment.id, 'p')).toEqual([[publicOf(ALICE)]]);
  const answer = await channel().comment!({ post: postOf('Thanks'), published: post, parent: comment }, handleOf());
  expect(tagsOf(answer.id, 'e')).toEqual([
    [post.id, 'root'],
    [comment.id, 'reply'],
  ]);
  expect(tagsOf(answer.id, 'p')).toEqual([[publicOf(BOB)]]);
});

test('comments below an item of a thread, whose first item stays the root', async () => {
  const first = await root();
  const second = await channel().publish(postOf('Second'), {}, handleOf(undefined, [first]));
  const comment = await channel(BOB).comment!({ post: postOf('Hello'), published: second }, handleOf());
  expect(tagsOf(comment.id, 'e')).toEqual([
    [first.id, 'root'],
    [second.id, 'reply'],
  ]);
});

test('comments and reposts once, and finds them by what was saved', async () => {
  const post = await root();
  const other = channel(BOB);
  const comment = { post: postOf('Only once'), published: post };
  const repost = { id: 'repost-1', published: post };
  const since = new Date();
  for (const make of ['comment', 'repost'] as const) {
    const send = (handle: ReturnType<typeof handleOf>): Promise<Published> =>
      make === 'comment' ? other.comment!(comment, handle) : other.repost!(repost, handle);
    const find = (saved: unknown) =>
      make === 'comment'
        ? other.findComment!(comment, { since, saved, thread: [] })
        : other.findRepost!(repost, { since, saved, thread: [] });
    const lost = handleOf();
    for (const relay of relays) relay.on('EVENT', 'accept-then-hang-up', 1);
    expect(await failureOf(send(lost))).toMatchObject({ failure: 'lost' });
    expect(lost.kept).toHaveLength(1);
    const again = await send(handleOf(lost.kept[0]));
    await expect(find(lost.kept[0])).resolves.toMatchObject({ id: again.id });
    await expect(find(undefined)).resolves.toBeUndefined();
  }
  expect([...relays[0].events.values()].filter(({ pubkey }) => pubkey === publicOf(BOB))).toHaveLength(2);
});

test('repeats a post of another channel, also one that only its relays know', async () => {
  const post = await channel(ALICE, [relays[0].url]).publish(postOf('Mine'), {}, handleOf());
  const { id } = await channel(BOB, [relays[1].url]).repost!({ id: 'repost-1', published: post }, handleOf());
  for (const relay of relays) {
    const { kind, tags, content } = relay.events.get(id)!;
    expect([kind, tags]).toEqual([
      6,
      [
        ['e', post.id, relays[0].url],
        ['p', publicOf(ALICE)],
      ],
    ]);
    expect(JSON.parse(content)).toEqual(relays[0].events.get(post.id));
  }
  const bare = { id: post.id, url: post.url };
  const again = await channel(BOB).repost!({ id: 'repost-2', published: bare }, handleOf());
  expect(relays[0].events.get(again.id)!.tags[1]).toEqual(['p', publicOf(ALICE)]);
  expect(
    await failureOf(channel(BOB).repost!({ id: 'repost-3', published: { id: 'f'.repeat(64), url: '' } }, handleOf())),
  ).toMatchObject({ failure: 'rejected' });
});

test('removes a post at every relay of the channel and at those that have it, whose answers decide', async () => {
  await using third = await startRelay();
  const lost = handleOf();
  relays[1].on('EVENT', 'accept-then-hang-up', 1);
  const post = await channel().publish(postOf('Mine'), {}, lost);
  expect(post.saved).toMatchObject({ relays: [relays[0].url] });
  const other = channel(ALICE, [relays[1].url, third.url]);
  await other.remove!(post);
  for (const relay of [...relays, third])
    expect([...relay.events.values()].flatMap(({ kind, tags }) => (kind === 5 ? tags[0]! : []))).toEqual([
      'e',
      post.id,
    ]);
  relays[0].on('EVENT', { reason: 'rate-limited: slow down' }, 1);
  expect(await failureOf(other.remove!(post))).toMatchObject({ failure: 'rate_limited' });
  expect(third.faults).toEqual([]);
});

test('reads the comments below a post, with the names of their authors', async () => {
  const post = await root();
  held(BOB, { kind: 0, created_at: NOW - 50, content: JSON.stringify({ name: 'old' }) });
  held(BOB, {
    kind: 0,
    created_at: NOW - 40,
    content: JSON.stringify({ name: 'bob', display_name: 'Bob', picture: 'https://files.example/bob.png' }),
  });
  const first = held(BOB, { content: 'Nice', created_at: NOW - 9, tags: [['e', post.id, '', 'root']] });
  const answer = held(
    'c3'.repeat(32),
    {
      content: 'Yes',
      created_at: NOW - 8,
      tags: [
        ['e', post.id, '', 'root'],
        ['e', first.id, '', 'reply'],
      ],
    },
    [relays[1]],
  );
  const inOrder = held(BOB, {
    content: 'By order',
    created_at: NOW - 7,
    tags: [
      ['e', post.id],
      ['e', answer.id],
    ],
  });
  held(BOB, { content: 'See there', tags: [['e', post.id, '', 'mention']] });
  held(BOB, { content: 'Elsewhere', tags: [['e', 'e'.repeat(64), '', 'root']] });
  const { comments, next } = await channel().comments!(post);
  const stranger = encodeNpub(publicOf('c3'.repeat(32)));
  const bob = {
    id: publicOf(BOB),
    name: 'Bob',
    handle: encodeNpub(publicOf(BOB)),
    picture: 'https://files.example/bob.png',
  };
  expect(comments).toMatchObject([
    { id: inOrder.id, text: 'By order', parentId: answer.id, author: bob },
    {
      id: answer.id,
      text: 'Yes',
      parentId: first.id,
      author: { id: publicOf('c3'.repeat(32)), name: `${stranger.slice(0, 12)}…`, handle: stranger },
      saved: { relays: [relays[1].url] },
    },
    {
      id: first.id,
      text: 'Nice',
      author: bob,
      createdAt: new Date((NOW - 9) * 1_000),
      saved: { event: first, relays: relays.map(({ url }) => url) },
    },
  ]);
  expect([comments[2]!.parentId, next]).toEqual([undefined, undefined]);
});

test('reads comments page by page, each once', async () => {
  const post = await root();
  const all = Array.from({ length: 250 }, (_, n) =>
    held(
      BOB,
      { content: `${n}`, created_at: NOW - n, tags: [['e', post.id, '', 'root']] },
      n % 3 === 0 ? relays : [relays[n % 2]!],
    ),
  );
  const read: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await channel().comments!(post, cursor);
    read.push(...page.comments.map(({ id }) => id));
    cursor = page.next;
  } while (cursor !== undefined);
  expect(read).toEqual(all.map(({ id }) => id));
});

test('counts each person once', async () => {
  const post = await root();
  const people = ['b1', 'b2', 'b3', 'b4'].map((pair) => pair.repeat(32));
  for (const [n, key] of people.entries())
    held(key, {
      kind: 7,
      content: n === 3 ? '-' : ['+', '', '🤙'][n]!,
      tags: [
        ['e', 'e'.repeat(64)],
        ['e', post.id],
      ],
    });
  held(people[0]!, { kind: 7, content: '🔥', tags: [['e', post.id]] });
  held(people[0]!, {
    kind: 7,
    content: '+',
    tags: [
      ['e', post.id],
      ['e', 'e'.repeat(64)],
    ],
  }); // of another post
  held(BOB, { kind: 6, tags: [['e', post.id]] });
  held(BOB, { kind: 6, created_at: NOW - 1, tags: [['e', post.id]] });
  held(BOB, { tags: [['e', post.id, '', 'root']], content: 'one' });
  held(BOB, { tags: [['e', post.id, '', 'root']], content: 'two' }, [relays[1]]);
  held(BOB, {
    kind: 1111,
    tags: [
      ['E', post.id],
      ['e', post.id],
    ],
    content: 'three',
  });
  const quiet = await root('Quiet');
  await expect(channel().metrics!([post, quiet])).resolves.toEqual([
    { id: post.id, counts: { likes: 3, dislikes: 1, reposts: 1, comments: 3 } },
    { id: quiet.id, counts: { likes: 0, dislikes: 0, reposts: 0, comments: 0 } },
  ]);
});

test('reads what one relay of two answers, and nothing without any', async () => {
  const post = await root();
  held(BOB, { content: 'Nice', tags: [['e', post.id, '', 'root']] });
  const known = { ...post, saved: undefined };
  const half = await channel(ALICE, ['ws://127.0.0.1:9', relays[1].url]).comments!(known);
  expect(half.comments.map(({ text }) => text)).toEqual(['Nice']);
  for (const ask of [
    channel(ALICE, ['ws://127.0.0.1:9']).comments!(known),
    channel(ALICE, ['ws://127.0.0.1:9']).metrics!([known]),
  ])
    expect(await failureOf(ask)).toMatchObject({ failure: 'unavailable' });
});
