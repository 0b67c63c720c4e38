import { z } from 'zod';
import { sameText, textOfHtml } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { CommentPage, CommentRead, LookUp, NewComment, PostCounts, Published } from './_contract.ts';
import { publishedAt, Video } from './_peertube-upload.ts';

const PAGE = 25;
type Line = { http: Http; values: { service: string } };

const Avatars = z.array(z.object({ path: z.string() })).nullish();
export const pictureAt = (service: string, avatars: z.output<typeof Avatars>): string | undefined => {
  const last = avatars?.at(-1);
  return last && new URL(last.path, service).href;
};
const Account = z.object({
  id: z.number(),
  name: z.string(),
  displayName: z.string().nullish(),
  host: z.string().nullish(),
  avatars: Avatars,
});
const Me = z.object({
  username: z.string(),
  account: Account,
  videoChannels: z.array(Account.extend({ followersCount: z.number().nullish() })).default([]),
});
export const me = (http: Http) => http.get('/users/me', Me);

const Own = z.object({ data: z.array(Video.extend({ name: z.string(), createdAt: z.coerce.date() })) });
/** Lists the newest own videos with this title. */
export async function ownVideos({
  http,
  values: { service },
  title,
  since,
}: Line & { title: string; since: Date }): Promise<Published[]> {
  const query = { sort: '-createdAt', count: String(PAGE) };
  const { data } = await http.get('/users/me/videos', Own, { query });
  return data
    .filter(({ name, createdAt }) => createdAt >= since && name === title)
    .map((video) => publishedAt(service, video));
}

const Found = z.object({ data: z.tuple([z.object({ uuid: z.string() })]).rest(z.unknown()) });
/** The id of a video at this server; one of another server is fetched by its address. */
export async function idHere({ http, values }: Line, { id, url }: Published): Promise<string> {
  if (url === '' || url.startsWith(`${values.service}/`)) return encodeURIComponent(id);
  const { data } = await http.get('/search/videos', Found, { query: { search: url } });
  return encodeURIComponent(data[0].uuid);
}

export const Comment = z.object({
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
export const commentAt = ({ id, url, threadId }: Pick<Comment, 'id' | 'url' | 'threadId'>): Published => ({
  id: String(id),
  url: url ?? '',
  saved: { threadId },
});

/** Reads a page of the newest threads below a video, with their answers. */
export async function readComments({
  http,
  values: { service },
  published: { id },
  cursor = '0',
}: Line & { published: Published; cursor?: string | undefined }): Promise<CommentPage> {
  const video = encodeURIComponent(id);
  const { total, data } = await threads(http, video, Number(cursor));
  const all: Comment[] = [];
  for (const first of data) all.push(...(first.totalReplies ? await thread(http, video, first.id) : [first]));
  const end = Number(cursor) + data.length;
  return {
    comments: all.filter(({ isDeleted }) => !isDeleted).map((one) => readComment(service, one)),
    next: data.length > 0 && end < total ? String(end) : undefined,
  };
}
function readComment(service: string, comment: Comment): CommentRead {
  const { text, account, createdAt, inReplyToCommentId } = comment;
  return {
    ...commentAt(comment),
    text: textOfHtml(text),
    author: {
      id: String(account?.id ?? ''),
      name: account?.displayName || account?.name || '',
      handle: account ? `@${account.name}@${account.host ?? new URL(service).host}` : undefined,
      picture: pictureAt(service, account?.avatars),
    },
    createdAt,
    parentId: inReplyToCommentId == null ? undefined : String(inReplyToCommentId),
  };
}

/** Lists the own comments since then with this text at the same place. */
export async function ownComments({
  published,
  parent,
  post,
  since,
  ...line
}: Line & NewComment & Pick<LookUp, 'since'>): Promise<Published[]> {
  const { http } = line;
  const { account } = await me(http);
  const video = await idHere(line, published);
  const all = parent
    ? await thread(http, video, Kept.safeParse(parent.saved).data?.threadId ?? Number(parent.id))
    : (await threads(http, video, 0)).data;
  return all
    .filter(
      (one) =>
        one.account?.id === account.id &&
        one.createdAt >= since &&
        (one.inReplyToCommentId == null ? undefined : String(one.inReplyToCommentId)) === parent?.id &&
        sameText(one.text, post.text),
    )
    .map((one) => commentAt(one));
}

const count = z.number().nullish();
const Counts = z.object({ uuid: z.string(), views: count, likes: count, dislikes: count, comments: count });
export async function countsOf({ http, posts }: { http: Http; posts: readonly Published[] }): Promise<PostCounts[]> {
  const { id } = posts[0]!; // `metricsAtOnce`
  const found = await http.find(`/videos/${encodeURIComponent(id)}`, Counts);
  if (!found) return [];
  const { views, likes, dislikes, comments } = found;
  const counts = {
    ...(views != null && { views }),
    ...(likes != null && { likes }),
    ...(dislikes != null && { dislikes }),
    ...(comments != null && { comments }),
  };
  return [{ id, counts }];
}
