import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { secret } from '../kit/declare/fields.ts';
import type { Http } from '../kit/wire/http.ts';
import { type CommentRead, type Post, type Published, social } from './_contract.ts';
import { commentAtLikes, commentFrom } from './_plugs.ts';
import { seriesOfNow } from './_series.ts';

const TITLE = 100;

const Me = z.object({
  agent: z.object({ name: z.string(), avatar_url: z.string().nullish(), follower_count: z.number().nullish() }),
});
const Made = z.object({
  id: z.string(),
  verification_status: z.string().nullish(),
  verification: z
    .object({ challenge_text: z.string(), verification_code: z.string(), expires_at: z.string().nullish() })
    .nullish(),
});
const MadePost = z.object({ post: Made, verification_required: z.boolean().nullish() });
const MadeComment = z.object({ comment: Made, verification_required: z.boolean().nullish() });
const Shown = z.object({
  post: Made.extend({ upvotes: z.number(), downvotes: z.number(), comment_count: z.number() }),
});
const Recent = z.object({
  recentPosts: z.array(
    z.object({ id: z.string(), title: z.string(), content: z.string().nullish(), created_at: z.coerce.date() }),
  ),
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
const Saved = z.object({ id: z.string().optional() }).catch({});

const published = (id: string): Published => ({ id, url: `https://www.moltbook.com/post/${id}` });
const titleOf = ({ plain }: Post): string => Array.from(plain.replace(/\s+/g, ' ')).slice(0, TITLE).join('');

/** What is held back is hidden until its owner has answered a challenge, which is for the owner to see. */
function refuseHeld({ verification }: z.output<typeof Made>, isHeld: boolean | null | undefined): void {
  if (!isHeld) return;
  const { challenge_text: text, verification_code: code, expires_at: until } = verification ?? {};
  const challenge =
    text === undefined ? '' : `: “${text}”, verification code ${code}${until ? `, until ${until}` : ''}`;
  throw refused('rejected', `Moltbook hides it until its owner has answered a challenge${challenge}`);
}

/** https://www.moltbook.com/skill.md */
export default social({
  id: 'moltbook',
  version: 'v1',
  status: 'active',
  title: 'Moltbook',
  description: 'Posts of a registered AI agent in the communities of Moltbook.',
  website: 'https://www.moltbook.com',
  authType: 'api_key',
  setupNotes:
    'Moltbook shows the key of an agent once, when it is registered; its owner must have claimed the agent. An agent may post every 30 minutes, every 2 hours on its first day. Moltbook may hold a post back until its owner answers a challenge within 5 minutes: the challenge stands in the reason of the failed post.',
  credentials: { apiKey: secret('Agent API key') },
  api: 'https://www.moltbook.com/api/v1', // without `www` it redirects
  auth: { in: 'header', name: 'authorization', prefix: 'Bearer ', field: 'apiKey' },
  login: { kind: 'credentials' },
  once: 'read-back',
  threads: 'comment',
  pace: [{ per: 'account', posts: 1, ms: 1_800_000 }],
  limits: { text: 300, unit: 'characters', media: 0, mediaTypes: [] },
  settings: z.looseObject({
    submolt: z
      .string()
      .regex(/^[\w-]{1,100}$/)
      .default('general'),
  }),
  plugs: [commentAtLikes('moltbook'), commentFrom('moltbook', ['moltbook'])],

  async profile({ http }) {
    const { name, avatar_url: picture } = (await http.get('/agents/me', Me)).agent;
    return { id: name, name, handle: name, ...(picture && { picture }) };
  },
  async publish({ http, post, saved, save, settings: { submolt } }) {
    const { id: held } = Saved.parse(saved);
    const before = held === undefined ? undefined : await http.find(`/posts/${held}`, Shown);
    if (before?.post.verification_status === 'verified') return published(before.post.id);
    const made = await http.post('/posts', MadePost, {
      // its clients name the community in both ways
      json: { submolt, submolt_name: submolt, title: titleOf(post), content: post.text },
      creates: true,
    });
    await save({ id: made.post.id });
    refuseHeld(made.post, made.verification_required);
    return published(made.post.id);
  },
  async find({ http, account: name, post, since }) {
    const { recentPosts } = await http.get('/agents/profile', Recent, { query: { name } });
    return recentPosts
      .filter(({ title, created_at }) => created_at >= since && title === titleOf(post))
      .filter(({ content }) => (content ?? post.text) === post.text)
      .map(({ id }) => published(id));
  },
  remove: ({ http, published: { id } }) => http.delete(`/posts/${id}`),

  comment: {
    once: 'read-back',
    replies: true,
    async send({ http, published: { id, url }, parent, post }) {
      const { comment, verification_required: isHeld } = await http.post(`/posts/${id}/comments`, MadeComment, {
        json: { content: post.text, ...(parent && { parent_id: parent.id }) },
        creates: true,
      });
      refuseHeld(comment, isHeld);
      return { id: comment.id, url };
    },
    async find({ http, account, published: { id, url }, parent, post, since }) {
      const all = await commentsBelow(http, id);
      return all
        .filter(({ author, createdAt }) => author.name === account && createdAt >= since)
        .filter(({ text, parentId }) => text === post.text && parentId === parent?.id)
        .map((comment) => ({ id: comment.id, url }));
    },
  },
  comments: async ({ http, published: { id } }) => ({ comments: await commentsBelow(http, id) }),

  async metrics({ http, posts }) {
    const all = await Promise.all(posts.map(({ id }) => http.find(`/posts/${id}`, Shown)));
    return all.flatMap((shown) => {
      if (!shown) return [];
      const { id, upvotes: likes, downvotes: dislikes, comment_count: comments } = shown.post;
      return [{ id, counts: { likes, dislikes, comments } }];
    });
  },
  async channelMetrics({ http, clock }) {
    const { follower_count: followers } = (await http.get('/agents/me', Me)).agent;
    return seriesOfNow(clock, { followers });
  },
});

async function commentsBelow(http: Http, id: string): Promise<CommentRead[]> {
  const { comments } = await http.get(`/posts/${id}/comments`, Comments, { query: { sort: 'new' } });
  return comments.flatMap(withReplies);
}
const withReplies = ({ id, content, created_at, parent_id, upvotes, author, replies }: Answered): CommentRead[] => [
  {
    id,
    text: content,
    author: { id: author.id ?? author.name, name: author.name },
    createdAt: created_at,
    ...(parent_id && { parentId: parent_id }),
    ...(upvotes != null && { likes: upvotes }),
  },
  ...replies.flatMap(withReplies),
];
