import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { homeOf } from './_bluesky-identity.ts';
import type { credentials } from './_bluesky-login.ts';
import { GATE, known, NotThere, postAddress, Reference } from './_bluesky-records.ts';
import type { Operations } from './_contract.ts';
import { seriesOfNow } from './_series.ts';
import { readableIds } from './_told.ts';

const DEPTH = 100;
const ANSWER_BYTES = 4 * 1024 * 1024;
const MENTIONS = 10;

const Me = z.object({ did: z.string(), handle: z.string() });
const ProfileRecord = z.object({
  value: z.object({
    displayName: z.string().nullish(),
    avatar: z.object({ ref: z.object({ $link: z.string() }) }).nullish(),
  }),
});
const Count = z.int().nullish();
const Actor = z.object({
  did: z.string(),
  handle: z.string(),
  displayName: z.string().nullish(),
  avatar: z.string().nullish(),
});
const Known = Actor.extend({ followersCount: Count, postsCount: Count });
/** Nobody has the handle any more, or the account is closed. */
const Nobody = z.union([
  z.object({ error: z.literal('InvalidRequest'), message: z.string().regex(/not found|unable to resolve/i) }),
  z.object({ error: z.enum(['AccountTakedown', 'AccountDeactivated']) }),
]);
const HANDLE = /^[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,10}$/;
/** Shows public profiles without a login (docs.bsky.app/docs/advanced-guides/api-directory). */
const APP_VIEW = 'https://public.api.bsky.app';
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

/** The account, people and answers around it, and what is told of posts. */
export const blueskyReading = {
  async profile({ http, values, hosts }) {
    const { did, handle } = await http.get('/com.atproto.server.getSession', Me);
    const home = await homeOf(http, hosts['plc']!, did); // a server could claim any account
    if (home !== new URL(values.service).origin)
      throw refused('rejected', `service: ${values.service} does not hold the account ${did}, which lives at ${home}`);
    const record = await http.find('/com.atproto.repo.getRecord', ProfileRecord, {
      query: { repo: did, collection: 'app.bsky.actor.profile', rkey: 'self' },
      absent: NotThere,
    });
    const picture = record?.value.avatar?.ref.$link;
    return {
      id: did,
      name: record?.value.displayName || handle,
      handle: `@${handle}`,
      server: values.service,
      picture:
        picture && `${values.service}/xrpc/com.atproto.sync.getBlob?did=${encodeURIComponent(did)}&cid=${picture}`,
    };
  },
  /** The network does not divide the answers below a post into pages. */
  async comments({ http, published: { id } }) {
    const { thread, threadgate } = await http.get('/app.bsky.feed.getPostThread', Thread, {
      query: { uri: id, depth: String(DEPTH), parentHeight: '0' },
      answerBytes: ANSWER_BYTES,
    });
    const hidden = new Set(threadgate?.record?.hiddenReplies);
    const comments = answersBelow(thread.replies).map(({ uri, cid, author, record, likeCount }) => ({
      id: uri,
      text: record.text,
      author: {
        id: author.did,
        name: author.displayName || author.handle,
        handle: `@${author.handle}`,
        picture: author.avatar,
      },
      createdAt: record.createdAt,
      parentId: record.reply.parent.uri === id ? undefined : record.reply.parent.uri,
      url: postAddress(author.did, uri),
      likes: likeCount,
      hidden: hidden.has(uri) || undefined,
      saved: { uri, cid, root: record.reply.root },
    }));
    return { comments };
  },
  /** The gate of the thread lists the answers that are hidden. */
  async hide({ http, account, clock, comment: { id: uri }, hidden }) {
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
  },
  async metrics({ http, posts: of }) {
    const uris = readableIds(of, /^at:\/\/[^/\s]+\/[a-zA-Z.]+\/[\w.~:-]+$/);
    if (uris.length === 0) return [];
    const { posts } = await http.get('/app.bsky.feed.getPosts', Counted, { query: { uris } });
    return posts.map(({ uri: id, likeCount: likes, repostCount: reposts, replyCount: comments, ...more }) => ({
      id,
      counts: { likes, reposts, comments, quotes: more.quoteCount, saves: more.bookmarkCount },
    }));
  },
  metricsAtOnce: 25,
  async channelMetrics({ http, clock, account: actor }) {
    const Totals = z.object({ did: z.string(), followersCount: Count, postsCount: Count });
    const { followersCount, postsCount } = await http.get('/app.bsky.actor.getProfile', Totals, { query: { actor } });
    return seriesOfNow(clock, { followers: followersCount, posts: postsCount });
  },
  publicProfile: {
    by: 'anyone',
    example: 'name.bsky.social',
    read(typed) {
      const handle = typed.trim().replace(/^@/, '').toLowerCase();
      return HANDLE.test(handle) ? { handle, values: { service: APP_VIEW } } : undefined;
    },
    async find({ http, handle: actor }) {
      const found = await http.find('/app.bsky.actor.getProfile', Known, { query: { actor }, absent: Nobody });
      return (
        found && {
          id: found.did,
          name: found.displayName || found.handle,
          picture: found.avatar,
          counts: { followers: found.followersCount, posts: found.postsCount },
        }
      );
    },
  },
  async mentions({ http, query: q }) {
    const { actors } = await http.get('/app.bsky.actor.searchActorsTypeahead', z.object({ actors: z.array(Actor) }), {
      query: { q, limit: String(MENTIONS) },
    });
    return actors.map(({ handle: id, displayName, avatar: image }) => ({ id, label: displayName || id, image }));
  },
  mention: ({ id }) => (/^[a-z0-9-]+(?:\.[a-z0-9-]+)+$/i.test(id) ? `@${id}` : undefined),
} satisfies Operations<z.ZodType, typeof credentials>;
