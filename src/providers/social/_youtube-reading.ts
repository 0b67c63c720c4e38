import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { CommentTold, Metric, Operations, Published } from './_contract.ts';
import { allPages } from './_lists.ts';
import { topOf } from './_top.ts';
import { Video } from './_youtube-upload.ts';

/** A list without entries has no `items`. */
export const list = <S extends z.ZodType>(item: S) => z.object({ kind: z.string(), items: z.array(item).default([]) });
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
const Answers = list(Comment).extend({ nextPageToken: z.string().optional() });
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
const commentAt = (videoId: string, id: string, top: string | undefined): Published => ({
  id,
  url: `https://www.youtube.com/watch?v=${encodeURIComponent(videoId)}&lc=${encodeURIComponent(id)}`,
  ...(top !== undefined && { saved: top }),
});
const MOST_PAGES = 20;
/** All answers below a comment at the top: a thread shows some of them. */
const answersOf = (http: Http, parentId: string): Promise<Answered[]> =>
  allPages(MOST_PAGES, async (pageToken) => {
    const query = { part: 'snippet', parentId, maxResults: '100', pageToken };
    const { items, nextPageToken: next } = await http.get('/youtube/v3/comments', Answers, { query });
    return { items, next };
  });
type Answered = z.output<typeof Comment>;
const allOf = ({ snippet, replies }: z.output<typeof Threads>['items'][number]): Answered[] => [
  snippet.topLevelComment,
  ...(replies?.comments ?? []),
];
const readComment = ({ id, snippet: of }: Answered): CommentTold => ({
  id,
  text: of.textOriginal ?? of.textDisplay ?? '',
  author: {
    id: of.authorChannelId?.value ?? '',
    name: of.authorDisplayName,
    picture: of.authorProfileImageUrl,
  },
  createdAt: of.publishedAt,
  parentId: of.parentId,
  saved: of.parentId,
  likes: of.likeCount,
});

/** Comments, and what is told of videos and of the channel. */
export const youtubeReading = {
  comment: {
    once: 'read-back',
    replies: true,
    limits: { text: 10_000, ...WITHOUT_FILES },
    // https://support.google.com/youtube/answer/9632097, and /157177 of what is private
    unless: [{ selfDeclaredMadeForKids: 'yes' }, { type: 'private' }],
    async send({ http, published: { id: videoId }, post, ...call }) {
      const text = { textOriginal: post.text };
      const top = topOf(call); // there is one level of answers
      const { id } = top
        ? await http.post('/youtube/v3/comments', Video, {
            query: { part: 'snippet' },
            json: { snippet: { parentId: top, ...text } },
            creates: true,
          })
        : await http.post('/youtube/v3/commentThreads', Video, {
            query: { part: 'snippet' },
            json: { snippet: { videoId, topLevelComment: { snippet: text } } },
            creates: true,
          });
      return commentAt(videoId, id, top);
    },
    async find({ http, account, published: { id: videoId }, post, since, ...call }) {
      const top = topOf(call);
      const said =
        top === undefined
          ? (await http.get('/youtube/v3/commentThreads', Threads, { query: commentsOf(videoId) })).items.map(
              ({ snippet }) => snippet.topLevelComment,
            )
          : await answersOf(http, top);
      return said
        .filter(
          ({ snippet }) =>
            snippet.authorChannelId?.value === account &&
            snippet.publishedAt >= since &&
            snippet.textOriginal === post.text,
        )
        .map(({ id }) => commentAt(videoId, id, top));
    },
  },
  commentReads: { lists: 'top' },
  async comments({ http, published: { id }, cursor: pageToken }) {
    const query = { ...commentsOf(id), pageToken };
    const { items, nextPageToken: next } = await http.get('/youtube/v3/commentThreads', Threads, { query });
    return { comments: items.flatMap((thread) => allOf(thread)).map(readComment), next };
  },
  async hide({ http, comment: { id }, hidden }) {
    const moderationStatus = hidden ? 'heldForReview' : 'published';
    await http.post('/youtube/v3/comments/setModerationStatus', z.unknown(), { query: { id, moderationStatus } });
  },
  async metrics({ http, posts }) {
    const id = posts.map((post) => post.id).join(',');
    const { items } = await http.get('/youtube/v3/videos', list(Statistics), { query: { part: 'statistics', id } });
    return items.map(({ id: video, statistics: { viewCount: views, likeCount: likes, commentCount: comments } }) => ({
      id: video,
      counts: { views, likes, comments },
    }));
  },
  metricsAtOnce: 50,
  /** A report with a value of each metric for each day. */
  async channelMetrics({ http, hosts, account, from, to }) {
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
  },
} satisfies Operations;
