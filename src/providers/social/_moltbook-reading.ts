import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { CommentTold, Operations } from './_contract.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';

const Me = z.object({
  agent: z.object({ name: z.string(), avatar_url: z.string().nullish(), follower_count: z.number().nullish() }),
});
export const Made = z.object({
  id: z.string(),
  verification_status: z.string().nullish(),
  verification: z
    .object({ challenge_text: z.string(), verification_code: z.string(), expires_at: z.string().nullish() })
    .nullish(),
});
export const Shown = z.object({
  post: Made.extend({ upvotes: z.number(), downvotes: z.number(), comment_count: z.number() }),
});
interface Answered {
  id: string;
  content: string;
  created_at: Date;
  parent_id?: string | null | undefined;
  upvotes?: number | null | undefined;
  author: { id?: string | null | undefined; name: string };
  replies: Answered[];
}
const Comment: z.ZodType<Answered> = z.lazy(() =>
  z.object({
    id: z.string(),
    content: z.string(),
    created_at: z.coerce.date(),
    parent_id: z.string().nullish(),
    upvotes: z.number().nullish(),
    author: z.object({ id: z.string().nullish(), name: z.string() }),
    replies: z.array(Comment).default([]),
  }),
);
const Comments = z.object({ comments: z.array(Comment) });

export async function commentsBelow(http: Http, id: string): Promise<CommentTold[]> {
  const { comments } = await http.get(`/posts/${id}/comments`, Comments, { query: { sort: 'new' } });
  return comments.flatMap(withReplies);
}
const withReplies = ({ id, content, created_at, parent_id, upvotes, author, replies }: Answered): CommentTold[] => [
  {
    id,
    text: content,
    author: { id: author.id ?? author.name, name: author.name, handle: author.name },
    createdAt: created_at,
    parentId: parent_id || undefined,
    likes: upvotes,
  },
  ...replies.flatMap(withReplies),
];

/** The agent, comments, and what is told of posts. */
export const moltbookReading = {
  async profile({ http }) {
    const { name, avatar_url: picture } = (await http.get('/agents/me', Me)).agent;
    return { id: name, name, handle: name, picture };
  },
  commentReads: { lists: 'some' },
  comments: async ({ http, published: { id } }) => ({ comments: await commentsBelow(http, id) }),
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const shown = await http.find(`/posts/${id}`, Shown);
      const { upvotes: likes, downvotes: dislikes, comment_count: comments } = shown?.post ?? {};
      return shown && { likes, dislikes, comments };
    }),
  async channelMetrics({ http, clock }) {
    const { follower_count: followers } = (await http.get('/agents/me', Me)).agent;
    return seriesOfNow(clock, { followers });
  },
} satisfies Operations;
