import type { CommentPage, CommentRead } from '../../providers/registry/index.ts';
import type { WithoutSlot } from '../posts/index.ts';
import type { CommentsDeps } from './deps.ts';
import type { ReadPost } from './posts-store.ts';

/** Of one post in one sweep. */
const MOST_PAGES = 10;
/** Of one channel in one sweep. */
const MOST_COMMENTS = 2_000;
/** A sweep of one channel begins no further page after so long. */
const PATIENCE_MS = 30_000;

/** What one sweep read below a post. */
export interface PostComments {
  post: ReadPost;
  comments: readonly CommentRead[];
  /** Where the next look goes on; null: at the beginning. */
  cursor: string | null;
  /** It was read from the beginning to the end, so what was not there is gone. */
  isComplete: boolean;
  /** The last page was read. */
  isEnded: boolean;
}
/** What one sweep read of a channel. */
export interface ChannelComments {
  posts: PostComments[];
  /** Why it went no further; absent: it came to the end. */
  failure?: { message: string; againMs: number };
}

type Page = { page: CommentPage; failure?: never } | { page?: never; failure: NonNullable<ChannelComments['failure']> };
type Deps = Pick<CommentsDeps, 'clock' | 'posts' | 'channels'>;

/**
 * Reads comments below the posts of a channel, page by page: each page is a call behind the posts that wait, in the lane
 * of its network. A post that the network refuses is passed over; anything else ends the sweep of this channel.
 */
export async function readBelowPosts(
  deps: Deps,
  caller: WithoutSlot,
  posts: readonly ReadPost[],
): Promise<ChannelComments> {
  const { clock } = deps;
  const since = clock.monotonic();
  const read: PostComments[] = [];
  let count = 0;
  for (const post of posts) {
    const mayGoOn = () => count < MOST_COMMENTS && clock.monotonic() - since < PATIENCE_MS;
    if (!mayGoOn()) break;
    const { failure, ...one } = await readPost(deps, caller, post, (found) => {
      count += found;
      return mayGoOn();
    });
    read.push(one);
    if (failure) return { posts: read, failure };
  }
  return { posts: read };
}

/** Reads below one post; `mayGoOn` is told of each page, and answers whether another one may be asked for. */
async function readPost(
  deps: Deps,
  caller: WithoutSlot,
  post: ReadPost,
  mayGoOn: (found: number) => boolean,
): Promise<PostComments & Pick<ChannelComments, 'failure'>> {
  const comments = new Map<string, CommentRead>();
  const asked = new Set<string | undefined>();
  let cursor = post.cursor ?? undefined;
  const result = (end: Partial<PostComments> & Pick<ChannelComments, 'failure'>) => ({
    post,
    comments: [...comments.values()],
    cursor: null,
    isComplete: false,
    isEnded: false,
    ...end,
  });
  for (let pages = 0; pages < MOST_PAGES; pages++) {
    asked.add(cursor);
    const { page, failure } = await readPage(deps, caller, post, cursor);
    if (failure && failure !== PASSED_OVER) return result({ cursor: cursor ?? null, failure });
    if (!page) return result({}); // a place that the network does not know any more is forgotten
    for (const one of page.comments) comments.set(one.id, one);
    cursor = page.next;
    if (cursor === undefined) return result({ isComplete: post.cursor === null, isEnded: true });
    if (asked.has(cursor)) return result({ isEnded: true }); // a list that goes round
    if (!mayGoOn(page.comments.length)) break;
  }
  return result({ cursor: cursor ?? null });
}

/** This post alone is refused. */
const PASSED_OVER = { message: '', againMs: 0 };

async function readPage(
  { posts, channels }: Deps,
  caller: WithoutSlot,
  { release }: ReadPost,
  cursor: string | undefined,
): Promise<Page> {
  let page: CommentPage = { comments: [] };
  const failure = await posts.askWithoutSlot(caller, async ({ social }) => {
    page = (await social.comments?.(release, cursor)) ?? page;
  });
  if (!failure) return { page };
  const { orgId, channelId, channel } = caller;
  if (failure.kind === 'reauthorize') await channels.needsLogin(orgId, channelId, failure.message, channel.credentials); // never over a newer login
  if (failure.kind === 'rejected' || failure.kind === 'unsupported') return { failure: PASSED_OVER };
  return { failure: { message: failure.message, againMs: failure.retryAfterMs ?? 0 } };
}
