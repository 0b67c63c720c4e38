import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import { published } from './_youtube-upload.ts';
import type {
  CommentPage,
  CommentRead,
  LookUp,
  Metric,
  NewComment,
  PostCounts,
  Published,
  Series,
} from './_contract.ts';

/** A list without entries has no `items`. */
export const list = <S extends z.ZodType>(item: S) => z.object({ kind: z.string(), items: z.array(item).default([]) });
const Uploads = z.object({ contentDetails: z.object({ relatedPlaylists: z.object({ uploads: z.string() }) }) });
const Uploaded = z.object({
  snippet: z.object({
    title: z.string(),
    publishedAt: z.coerce.date(),
    resourceId: z.object({ videoId: z.string() }),
  }),
});
const Count = z.coerce.number().optional();
const Statistics = z.object({
  id: z.string(),
  statistics: z.object({ viewCount: Count, likeCount: Count, commentCount: Count }),
});
const Comment = z.object({
  id: z.string(),
  snippet: z.object({
    textOriginal: z.string().nullish(),
    textDisplay: z.string().nullish(),
    authorDisplayName: z.string(),
    authorChannelId: z.object({ value: z.string() }).nullish(),
    authorProfileImageUrl: z.string().nullish(),
    publishedAt: z.coerce.date(),
    likeCount: z.number().nullish(),
    parentId: z.string().nullish(),
  }),
});
const Threads = z.object({
  kind: z.string(),
  nextPageToken: z.string().optional(),
  items: z
    .array(
      z.object({
        snippet: z.object({ topLevelComment: Comment }),
        replies: z.object({ comments: z.array(Comment) }).optional(),
      }),
    )
    .default([]),
});
const Report = z.object({
  columnHeaders: z.array(z.object({ name: z.string() })),
  rows: z.array(z.tuple([z.string()]).rest(z.number())).nullish(),
});

/** The metrics of a report by day, by our names. */
const DAILY: Readonly<Record<string, Metric>> = {
  views: 'views',
  estimatedMinutesWatched: 'watchMinutes',
  likes: 'likes',
  comments: 'comments',
  shares: 'shares',
  subscribersGained: 'followersGained',
  subscribersLost: 'followersLost',
};

const commentsOf = (videoId: string) => ({ part: 'snippet,replies', videoId, order: 'time', maxResults: '100' });
/** The address at which a comment is shown. */
export const commentAt = (videoId: string, id: string): Published => ({
  id,
  url: `https://www.youtube.com/watch?v=${encodeURIComponent(videoId)}&lc=${encodeURIComponent(id)}`,
});
type Answered = z.output<typeof Comment>;
const allOf = ({ snippet, replies }: z.output<typeof Threads>['items'][number]): Answered[] => [
  snippet.topLevelComment,
  ...(replies?.comments ?? []),
];
const readComment = ({ id, snippet: of }: Answered): CommentRead => ({
  id,
  text: of.textOriginal ?? of.textDisplay ?? '',
  author: {
    id: of.authorChannelId?.value ?? '',
    name: of.authorDisplayName,
    picture: of.authorProfileImageUrl ?? undefined,
  },
  createdAt: of.publishedAt,
  parentId: of.parentId ?? undefined,
  likes: of.likeCount ?? undefined,
});

type Reading = { http: Http; published: Published };

/** Reads a page of the comments below a video, with their answers. */
export async function readComments({
  http,
  published: { id },
  cursor,
}: Reading & { cursor?: string | undefined }): Promise<CommentPage> {
  const { items, nextPageToken } = await http.get('/youtube/v3/commentThreads', Threads, {
    query: { ...commentsOf(id), pageToken: cursor },
  });
  return { comments: items.flatMap((thread) => allOf(thread)).map(readComment), next: nextPageToken };
}

/** Lists the own comments since then with the same text below the same video or comment. */
export async function ownComments({
  http,
  account,
  published: { id: videoId },
  parent,
  post,
  since,
}: Reading & NewComment & Pick<LookUp, 'since'> & { account: string }): Promise<Published[]> {
  const threads = await http.get('/youtube/v3/commentThreads', Threads, { query: commentsOf(videoId) });
  return threads.items
    .flatMap((thread) => allOf(thread))
    .filter(
      ({ snippet }) =>
        snippet.authorChannelId?.value === account &&
        snippet.publishedAt >= since &&
        (snippet.parentId ?? undefined) === parent?.id &&
        snippet.textOriginal === post.text,
    )
    .map(({ id }) => commentAt(videoId, id));
}

/** Reads the counts of at most 50 videos. */
export async function countsOfVideos({
  http,
  posts,
}: {
  http: Http;
  posts: readonly Published[];
}): Promise<PostCounts[]> {
  const id = posts.map((post) => post.id).join(',');
  const { items } = await http.get('/youtube/v3/videos', list(Statistics), { query: { part: 'statistics', id } });
  return items.map(({ id: video, statistics: { viewCount: views, likeCount: likes, commentCount: comments } }) => ({
    id: video,
    counts: {
      ...(views !== undefined && { views }),
      ...(likes !== undefined && { likes }),
      ...(comments !== undefined && { comments }),
    },
  }));
}

/** Reads the report of a channel, a value of each metric for each day. */
export async function reportByDay({
  http,
  hosts,
  account,
  from,
  to,
}: {
  http: Http;
  hosts: Readonly<Record<string, string>>;
  account: string;
  from: string;
  to: string;
}): Promise<Series[]> {
  const { columnHeaders, rows } = await http.get(`${hosts['analytics']}/v2/reports`, Report, {
    query: {
      ids: `channel==${account}`,
      startDate: from,
      endDate: to,
      dimensions: 'day',
      metrics: Object.keys(DAILY).join(','),
    },
  });
  return columnHeaders.flatMap(({ name }, column) => {
    const metric = DAILY[name];
    const points = (rows ?? []).map((row) => ({ date: row[0], value: row[column] as number }));
    return metric ? [{ metric, points }] : [];
  });
}

/** Lists the videos of a channel with this title that were uploaded since then, among its newest fifty. */
export async function newestUploads({
  http,
  account,
  title,
  since,
}: {
  http: Http;
  account: string;
  title: string;
  since: Date;
}): Promise<Published[]> {
  const channels = await http.get('/youtube/v3/channels', list(Uploads), {
    query: { part: 'contentDetails', id: account },
  });
  const playlistId = channels.items[0]?.contentDetails.relatedPlaylists.uploads;
  const newest = await http.get('/youtube/v3/playlistItems', list(Uploaded), {
    query: { part: 'snippet', playlistId, maxResults: '50' },
  });
  return newest.items
    .filter(({ snippet }) => snippet.publishedAt >= since && snippet.title === title)
    .map(({ snippet }) => published(snippet.resourceId.videoId));
}
