import { z } from 'zod';
import { shownText } from '../../platform/content/index.ts';
import { refused } from '../kit/declare/fallback.ts';
import { sameText } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { CommentTold, Operations, Published } from './_contract.ts';
import { sinceThen } from './_lists.ts';
import { Account, me, pictureAt } from './_peertube-channel.ts';
import type { credentials } from './_peertube-login.ts';
import { countsOfEach } from './_told.ts';

const PAGE = 25;
type Line = { http: Http; values: { service: string } };

const Found = z.object({ data: z.array(z.object({ uuid: z.string() })) });
/** The id of a video at this server; one of another server is fetched by its address. */
async function idHere({ http, values }: Line, { id, url }: Published): Promise<string> {
  if (url === '' || url.startsWith(`${values.service}/`)) return encodeURIComponent(id);
  const { data } = await http.get('/search/videos', Found, { query: { search: url } });
  if (!data[0]) throw refused('rejected', `The server of this account does not find ${url}`);
  return encodeURIComponent(data[0].uuid);
}

const Comment = z.object({
  id: z.number(),
  url: z.string().nullish(),
  text: z.string(),
  threadId: z.number(),
  inReplyToCommentId: z.number().nullish(),
  createdAt: z.coerce.date(),
  isDeleted: z.boolean().nullish(),
  totalReplies: z.number().nullish(),
  account: Account.nullish(),
});
type Comment = z.output<typeof Comment>;
interface Thread {
  comment: Comment;
  children: Thread[];
}
const Thread: z.ZodType<Thread> = z.lazy(() => z.object({ comment: Comment, children: z.array(Thread) }));
const Threads = z.object({ total: z.number(), data: z.array(Comment) });
const flat = ({ comment, children }: Thread): Comment[] => [comment, ...children.flatMap(flat)];

const threads = (http: Http, video: string, start: number) =>
  http.get(`/videos/${video}/comment-threads`, Threads, {
    query: { start: String(start), count: String(PAGE), sort: '-createdAt' },
  });
const thread = async (http: Http, video: string, id: number) =>
  flat(await http.get(`/videos/${video}/comment-threads/${id}`, Thread));

/** Answers below a comment name their thread. */
const Kept = z.object({ threadId: z.number() });
const commentAt = ({ id, url, threadId }: Pick<Comment, 'id' | 'url' | 'threadId'>): Published => ({
  id: String(id),
  url: url ?? '',
  saved: { threadId },
});
const Made = z.object({ comment: Comment.pick({ id: true, url: true, threadId: true }) });
const parentOf = ({ inReplyToCommentId: id }: Comment): string | undefined => (id == null ? undefined : String(id));
/** `own`: the account of the channel, which writes in its name. Numbers of accounts are not those of channels. */
function readComment(service: string, comment: Comment, own: { id: number; channel: string }): CommentTold {
  const { text, account, createdAt } = comment;
  return {
    ...commentAt(comment),
    text: shownText(text),
    author: {
      id: account ? (account.id === own.id ? own.channel : `account-${account.id}`) : '',
      name: account?.displayName || account?.name || '',
      handle: account ? `@${account.name}@${account.host ?? new URL(service).host}` : undefined,
      picture: pictureAt(service, account?.avatars),
    },
    createdAt,
    parentId: parentOf(comment),
  };
}

const count = z.number().nullish();
const Counts = z.object({ uuid: z.string(), views: count, likes: count, dislikes: count, comments: count });

/** Comments, and what is told of videos. */
export const peertubeReading = {
  comment: {
    once: 'read-back',
    replies: true,
    limits: { ...WITHOUT_FILES, textLeast: 1 }, // that of descriptions is not theirs
    async send({ published, parent, post, ...line }) {
      const video = await idHere(line, published);
      const path = parent ? `/videos/${video}/comments/${parent.id}` : `/videos/${video}/comment-threads`;
      const { comment } = await line.http.post(path, Made, { json: { text: post.text }, creates: true });
      return commentAt(comment);
    },
    async find({ published, parent, post, since, ...line }) {
      const { http } = line;
      const { account } = await me(http);
      const video = await idHere(line, published);
      const all = parent
        ? await thread(http, video, Kept.safeParse(parent.saved).data?.threadId ?? Number(parent.id))
        : sinceThen((await threads(http, video, 0)).data, PAGE, (one) => one.createdAt >= since);
      return all
        .filter(
          (one) =>
            one.account?.id === account.id &&
            one.createdAt >= since &&
            parentOf(one) === parent?.id &&
            sameText(one.text, post.text),
        )
        .map(commentAt);
    },
  },
  /** A page of the newest threads below a video, with their answers. */
  async comments({ http, account: channel, values: { service }, published: { id }, cursor = '0' }) {
    const video = encodeURIComponent(id);
    const { total, data } = await threads(http, video, Number(cursor));
    if (data.length === 0) return { comments: [] };
    const all: Comment[] = [];
    for (const first of data) all.push(...(first.totalReplies ? await thread(http, video, first.id) : [first]));
    const own = { id: (await me(http)).account.id, channel };
    const end = Number(cursor) + data.length;
    return {
      comments: all.filter(({ isDeleted }) => !isDeleted).map((one) => readComment(service, one, own)),
      next: end < total ? String(end) : undefined,
    };
  },
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const found = await http.find(`/videos/${encodeURIComponent(id)}`, Counts);
      const { views, likes, dislikes, comments } = found ?? {};
      return found && { views, likes, dislikes, comments };
    }),
} satisfies Operations<z.ZodType, typeof credentials>;
