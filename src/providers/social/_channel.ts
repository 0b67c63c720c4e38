import type { z } from 'zod';
import { ProviderError } from '../../platform/kernel/index.ts';
import type { Fields } from '../kit/declare/fields.ts';
import type { Tokens } from '../kit/protocols/oauth.ts';
import type { Limits } from './_bounds.ts';
import type { Connection, SocialSpec } from './_spec.ts';
import { told } from './_told.ts';
import type {
  Chosen,
  CommentPage,
  CommentRead,
  CommentTold,
  Counts,
  Handle,
  Held,
  LookUp,
  Mention,
  NewComment,
  Page,
  Polled,
  Post,
  PostCounts,
  Prepared,
  Processing,
  Profile,
  Published,
  PublicProfile,
  Repost,
  Series,
} from './_values.ts';

/** A connected channel. Each operation may throw `ProviderError`. */
export interface Social {
  profile(): Promise<Profile>;
  /** `isLater`: it comes behind the first item of a thread, of which `thread` need not show anything yet. */
  prepare?(post: Post, settings: unknown, handle: Handle, isLater?: boolean): Promise<Prepared>;
  publish(post: Post, settings: unknown, handle: Handle): Promise<Published | Processing | Held>;
  poll?(post: Post, settings: unknown, attempt: { saved: unknown }): Promise<Polled>;
  find?(post: Post, settings: unknown, attempt: LookUp): Promise<Published | readonly Published[] | undefined>;
  remove?(published: Published): Promise<void>;
  comment?(comment: NewComment, handle: Handle): Promise<Published | Held>;
  findComment?(comment: NewComment, attempt: LookUp): Promise<Published | readonly Published[] | undefined>;
  repost?(repost: Repost, handle: Handle): Promise<Published | Held>;
  findRepost?(repost: Repost, attempt: LookUp): Promise<Published | readonly Published[] | undefined>;
  metrics?(posts: readonly Published[]): Promise<readonly PostCounts[]>;
  channelMetrics?(days: { from: string; to: string }): Promise<readonly Series[]>;
  comments?(published: Published, cursor?: string): Promise<CommentPage>;
  hide?(comment: Pick<CommentRead, 'id'>, hidden: boolean): Promise<void>;
  /** `handle`: as the network's `publicProfile.read` answered it. Undefined: nobody has it. */
  publicProfile?(handle: string): Promise<PublicProfile | undefined>;
  mentions?(query: string): Promise<readonly Mention[]>;
  /** Calls a declared tool with data that its schema has parsed. */
  tool?(name: string, data: unknown): Promise<unknown>;
  pages?(): Promise<readonly Page[]>;
  choose?(page: string, tokens: Tokens): Promise<Chosen>;
  channelLimits?(): Promise<Partial<Limits>>;
}

/** The methods of a channel: those that the network declares, and no others. */
export function connected<F extends Fields, S extends z.ZodType>(
  spec: SocialSpec<F, S>,
  connection: Connection<F>,
): Social {
  /** Settings were judged when they were stored; since then the schema may have become stricter. */
  const settled = (post: Post, settings: unknown) => {
    const parsed = spec.settings.safeParse(settings);
    if (parsed.success) return { ...connection, post, settings: parsed.data };
    const [{ path, message } = { path: [], message: '' }] = parsed.error.issues;
    throw new ProviderError('rejected', `${spec.title} does not take the setting ${path.join('.')}: ${message}`);
  };
  /** Later items of a thread that are comments (`threads`). */
  const commenting = ({ thread }: { thread: readonly Published[] }) =>
    spec.threads === 'comment' && thread.length > 0 ? spec.comment : undefined;
  const itemOf = (post: Post, { thread }: { thread: readonly Published[] }): NewComment => ({
    post,
    published: thread[0]!,
    ...(spec.comment?.replies && thread.length > 1 && { parent: thread.at(-1)! }),
  });
  const { prepare, prepareReply, poll, find, remove, comment, repost, metrics, channelMetrics } = spec;
  const { comments, hide, publicProfile, mentions, tools, pages, choose, channelLimits } = spec;
  return {
    async profile() {
      const profile = await spec.profile(connection);
      return told<Profile>({ ...profile, picture: profile.picture || undefined });
    },
    ...(prepare && {
      async prepare(post, settings, handle, isLater = handle.thread.length > 0) {
        if (!isLater) return prepare({ ...settled(post, settings), ...handle, isLater });
        if (spec.threads === 'comment' && spec.comment) return 'ready';
        return (prepareReply ?? prepare)({ ...settled(post, settings), ...handle, isLater });
      },
    }),
    publish: (post, settings, handle) =>
      commenting(handle)?.send({ ...connection, ...itemOf(post, handle), ...handle }) ??
      spec.publish({ ...settled(post, settings), ...handle }),
    ...(poll && { poll: (post, settings, { saved }) => poll({ ...settled(post, settings), saved }) }),
    ...(find && {
      async find(post, settings, attempt) {
        const below = commenting(attempt);
        if (!below) return find({ ...settled(post, settings), ...attempt });
        if (!below.find) throw new ProviderError('unsupported', 'Comments cannot be looked for');
        return below.find({ ...connection, ...itemOf(post, attempt), ...attempt });
      },
    }),
    ...(remove && { remove: (published) => remove({ ...connection, published }) }),
    ...(comment && { comment: (one, handle) => comment.send({ ...connection, ...one, ...handle }) }),
    ...(comment?.find && {
      findComment: (one, attempt) => comment.find({ ...connection, ...one, ...attempt }),
    }),
    ...(repost && { repost: (one, handle) => repost.send({ ...connection, repost: one, ...handle }) }),
    ...(repost?.find && {
      findRepost: (one, attempt) => repost.find({ ...connection, repost: one, ...attempt }),
    }),
    ...(metrics && {
      metrics: async (posts) =>
        (await metrics({ ...connection, posts })).map(({ id, counts }) => ({ id, counts: told<Counts>(counts) })),
    }),
    ...(channelMetrics && { channelMetrics: (days) => channelMetrics({ ...connection, ...days }) }),
    ...(comments && {
      async comments(published, cursor) {
        const page = await comments({ ...connection, published, cursor });
        return told<CommentPage>({ comments: page.comments.map(commentOf), next: page.next || undefined });
      },
    }),
    ...(hide && { hide: (one, hidden) => hide({ ...connection, comment: one, hidden }) }),
    ...(publicProfile && {
      async publicProfile(handle) {
        const found = await publicProfile.find({ ...connection, handle });
        return found && told<PublicProfile>({ ...found, counts: told<Counts>(found.counts) });
      },
    }),
    ...(mentions && {
      mentions: async (query) => (await mentions({ ...connection, query })).map((one) => told<Mention>(one)),
    }),
    ...(tools && {
      async tool(name, data) {
        const one = Object.hasOwn(tools, name) ? tools[name] : undefined;
        if (!one) throw new ProviderError('unsupported', `${spec.title} has no method ${name}`);
        return one.call({ ...connection, data: one.data.parse(data) });
      },
    }),
    ...(pages && { pages: async () => (await pages(connection)).map((one) => told<Page>(one)) }),
    ...(choose && { choose: (page, tokens) => choose({ ...connection, page, tokens }) }),
    ...(channelLimits && { channelLimits: () => channelLimits(connection) }),
  };
}

const commentOf = ({ author, ...comment }: CommentTold): CommentRead =>
  told<CommentRead>({ ...comment, author: told<CommentRead['author']>(author) });
