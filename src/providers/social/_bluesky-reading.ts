import { z } from 'zod';
import type { Clock } from '../kit/declare/adapter.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { GATE, known, NotThere, postAddress, Reference } from './_bluesky-records.ts';
import type { CommentRead, Mention, PostCounts, Published, Series } from './_contract.ts';
import { toldCounts } from './_counts.ts';
import { seriesOfNow } from './_series.ts';

const DEPTH = 100;
const ANSWER_BYTES = 4 * 1024 * 1024;
const MENTIONS = 10;

const Count = z.int().nullish();
const Actor = z.object({
  did: z.string(),
  handle: z.string(),
  displayName: z.string().nullish(),
  avatar: z.string().nullish(),
});
const Answer = Reference.extend({
  author: Actor,
  record: z.object({
    text: z.string(),
    createdAt: z.coerce.date(),
    reply: z.object({ root: Reference, parent: Reference }),
  }),
  likeCount: Count,
});
interface Branch {
  post: z.output<typeof Answer>;
  replies?: (Branch | null)[] | null | undefined;
}
/** Answers that are gone, or whose author is blocked, are no branches. */
const Branches = z.array(
  z
    .lazy(() => Branch)
    .nullable()
    .catch(null),
);
const Branch: z.ZodType<Branch> = z.object({ post: Answer, replies: Branches.nullish() });
const GateRecord = z.looseObject({ hiddenReplies: z.array(z.string()).nullish() });
const Thread = z.object({
  thread: z.object({ post: Reference, replies: Branches.nullish() }),
  threadgate: z.object({ record: GateRecord.nullish() }).nullish().catch(undefined),
});
const Counted = z.object({
  posts: z.array(
    z.object({
      uri: z.string(),
      likeCount: Count,
      repostCount: Count,
      replyCount: Count,
      quoteCount: Count,
      bookmarkCount: Count,
    }),
  ),
});

const answersBelow = (branches: Branch['replies']): Branch['post'][] =>
  (branches ?? []).flatMap((one) => (one ? [one.post, ...answersBelow(one.replies)] : []));

/** Reads the answers below a post, which the network does not divide into pages. */
export async function readComments(http: Http, { id }: Published): Promise<CommentRead[]> {
  const { thread, threadgate } = await http.get('/app.bsky.feed.getPostThread', Thread, {
    query: { uri: id, depth: String(DEPTH), parentHeight: '0' },
    answerBytes: ANSWER_BYTES,
  });
  const hidden = new Set(threadgate?.record?.hiddenReplies);
  return answersBelow(thread.replies).map(({ uri, cid, author, record, likeCount }) => ({
    id: uri,
    text: record.text,
    author: {
      id: author.did,
      name: author.displayName || author.handle,
      handle: `@${author.handle}`,
      picture: author.avatar ?? undefined,
    },
    createdAt: record.createdAt,
    parentId: record.reply.parent.uri === id ? undefined : record.reply.parent.uri,
    url: postAddress(author.did, uri),
    likes: likeCount ?? undefined,
    hidden: hidden.has(uri) || undefined,
    saved: { uri, cid, root: record.reply.root },
  }));
}

/** Hides an answer below an own post, or shows it again: the gate of the thread lists those that are hidden. */
export async function hideComment(
  { http, account, clock }: { http: Http; account: string; clock: Clock },
  uri: string,
  hidden: boolean,
): Promise<void> {
  const { root } = await known(http, { id: uri });
  const [repo, , rkey] = root?.uri.slice('at://'.length).split('/') ?? [];
  if (!root || repo !== account) throw refused('rejected', 'Only answers below posts of this channel can be hidden');
  const gate = await http.find('/com.atproto.repo.getRecord', z.object({ cid: z.string(), value: GateRecord }), {
    query: { repo, collection: GATE, rkey },
    absent: NotThere,
  });
  const others = (gate?.value.hiddenReplies ?? []).filter((one) => one !== uri);
  const createdAt = clock.now().toISOString();
  const hiddenReplies = hidden ? [...others, uri] : others;
  const record = { $type: GATE, post: root.uri, createdAt, ...gate?.value, hiddenReplies };
  // in its place only when nobody else has changed it since
  const json = { repo, collection: GATE, rkey, record, swapRecord: gate?.cid ?? null };
  await http.post('/com.atproto.repo.putRecord', Reference, { json });
}

/** Reads the counts of at most 25 posts. */
export async function countsOf(http: Http, of: readonly Published[]): Promise<PostCounts[]> {
  const { posts } = await http.get('/app.bsky.feed.getPosts', Counted, { query: { uris: of.map(({ id }) => id) } });
  return posts.map(({ uri: id, likeCount: likes, repostCount: reposts, replyCount: comments, ...more }) => ({
    id,
    counts: toldCounts({ likes, reposts, comments, quotes: more.quoteCount, saves: more.bookmarkCount }),
  }));
}

export async function countsOfChannel(http: Http, clock: Clock, actor: string): Promise<Series[]> {
  const Totals = z.object({ did: z.string(), followersCount: Count, postsCount: Count });
  const { followersCount, postsCount } = await http.get('/app.bsky.actor.getProfile', Totals, { query: { actor } });
  return seriesOfNow(clock, toldCounts({ followers: followersCount, posts: postsCount }));
}

export async function findActors(http: Http, q: string): Promise<Mention[]> {
  const { actors } = await http.get('/app.bsky.actor.searchActorsTypeahead', z.object({ actors: z.array(Actor) }), {
    query: { q, limit: String(MENTIONS) },
  });
  return actors.map(({ handle: id, displayName, avatar }) => ({
    id,
    label: displayName || id,
    image: avatar ?? undefined,
  }));
}
