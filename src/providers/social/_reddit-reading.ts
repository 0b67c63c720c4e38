import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { CommentTold, Operations } from './_contract.ts';
import { SITE } from './_reddit-submit.ts';
import { seriesOfNow } from './_series.ts';
import { searching, tool } from './_tools.ts';

/** Without it `&`, `<` and `>` are answered as entities. */
export const RAW = { raw_json: '1' };
const PAGE = '100';

const Me = z.object({
  id: z.string(),
  name: z.string(),
  icon_img: z.string().nullish(),
  subreddit: z.object({ subscribers: z.number().nullish() }).nullish(),
});
export const me = (http: Http) => http.get('/api/v1/me', Me, { query: RAW });

export const listOf = <S extends z.ZodType>(data: S) =>
  z.object({ data: z.object({ children: z.array(z.object({ data })) }) });
export const secondsToDate = z.number().transform((seconds) => new Date(seconds * 1_000));
interface Said {
  name: string;
  author: string;
  author_fullname?: string | null | undefined;
  body: string;
  created_utc: Date;
  link_id: string;
  parent_id: string;
  permalink: string;
  score?: number | null | undefined;
  replies?: z.output<typeof Answers> | '' | null | undefined;
}
export const Said: z.ZodType<Said> = z.lazy(() =>
  z.object({
    name: z.string(),
    author: z.string(),
    author_fullname: z.string().nullish(),
    body: z.string(),
    created_utc: secondsToDate,
    link_id: z.string(),
    parent_id: z.string(),
    permalink: z.string(),
    score: z.number().nullish(),
    replies: z.union([z.literal(''), Answers]).nullish(),
  }),
);
/** `more` stands for comments that another call would list. */
const Answers = z.object({
  data: z.object({
    children: z.array(
      z.union([z.object({ kind: z.literal('t1'), data: Said }), z.object({ kind: z.literal('more') })]),
    ),
  }),
});

const flat = ({ data }: z.output<typeof Answers>): CommentTold[] =>
  data.children.flatMap((child) =>
    'data' in child ? [commentOf(child.data), ...(child.data.replies ? flat(child.data.replies) : [])] : [],
  );
const commentOf = (said: Said): CommentTold => ({
  id: said.name,
  text: said.body,
  author: {
    id: said.author_fullname?.replace(/^t2_/, '') ?? said.author, // as `profile` names it
    name: said.author,
    handle: `u/${said.author}`,
  },
  createdAt: said.created_utc,
  parentId: said.parent_id === said.link_id ? undefined : said.parent_id,
  url: SITE + said.permalink,
  likes: said.score,
});

const About = z.object({
  data: z.object({
    display_name: z.string(),
    submission_type: z.string().nullish(),
    allow_images: z.boolean().nullish(),
    allow_videos: z.boolean().nullish(),
  }),
});
const bound = z.number().nullish();
const Requirements = z.object({
  is_flair_required: z.boolean(),
  title_text_min_length: bound,
  title_text_max_length: bound,
  body_text_min_length: bound,
  body_text_max_length: bound,
  body_restriction_policy: z.string().nullish(),
  link_restriction_policy: z.string().nullish(),
  guidelines_text: z.string().nullish(),
});
const Flairs = z.array(z.object({ id: z.string(), text: z.string() }));

/** What a subreddit takes: types of posts, flairs, bounds of texts. */
async function restrictionsOf(http: Http, name: string) {
  const sr = encodeURIComponent(name.replace(/^\/?(?:r\/)?|\/$/g, ''));
  const { data: about } = await http.get(`/r/${sr}/about`, About, { query: RAW });
  const { is_flair_required: needed, ...requirements } = await http.get(
    `/api/v1/${sr}/post_requirements`,
    Requirements,
    {
      query: RAW,
    },
  );
  const flairs = await http.find(`/r/${sr}/api/link_flair_v2`, Flairs, {
    query: RAW,
    absent: z.object({ status: z.literal(403) }), // flairs are off
  });
  const takes = (type: string) => [undefined, null, 'any', type].includes(about.submission_type);
  return {
    subreddit: about.display_name,
    allow: [
      ...(takes('self') ? ['self'] : []),
      ...(takes('link') ? ['link'] : []),
      ...(takes('link') && (about.allow_images || about.allow_videos) ? ['media'] : []),
    ],
    is_flair_required: needed,
    flairs: (flairs ?? []).map(({ id, text }) => ({ id, name: text })),
    requirements,
  };
}
const Counts = z.object({ name: z.string(), score: z.number().nullish(), num_comments: z.number().nullish() });
const Subreddit = z.object({ id: z.string(), display_name: z.string(), title: z.string().nullish() });

/** The account, comments, and what is told of posts and subreddits. */
export const redditReading = {
  async profile({ http }) {
    const { id, name, icon_img: picture } = await me(http);
    return { id, name, handle: `u/${name}`, picture };
  },
  commentReads: { lists: 'some' },
  /** The newest comments below a post, with their answers. */
  async comments({ http, published: { id } }) {
    const path = `/comments/${encodeURIComponent(id.replace(/^t3_/, ''))}`;
    const query = { ...RAW, sort: 'new', limit: PAGE };
    const [, answers] = await http.get(path, z.tuple([z.unknown(), Answers]), { query });
    return { comments: flat(answers) };
  },
  async metrics({ http, posts }) {
    const id = posts.map((post) => post.id).join(',');
    const { data } = await http.get('/api/info', listOf(Counts), { query: { ...RAW, id } });
    return data.children.map(({ data: { name, score: likes, num_comments: comments } }) => ({
      id: name,
      counts: { likes, comments },
    }));
  },
  metricsAtOnce: 100,
  async channelMetrics({ http, clock }) {
    const { subreddit } = await me(http);
    return seriesOfNow(clock, { followers: subreddit?.subscribers });
  },
  tools: {
    subreddits: searching('Searches subreddits by a word', async ({ http, word }) => {
      const query = { ...RAW, q: word, limit: '10' };
      const { data } = await http.get('/subreddits/search', listOf(Subreddit), { query });
      return data.children.map(({ data: { id, display_name: name, title } }) => ({ id, name, title: title ?? name }));
    }),
    restrictions: tool({
      description: 'Tells what a subreddit takes: types of posts, flairs, lengths',
      data: z.object({ subreddit: z.string().regex(/^\/?(?:r\/)?\w{2,30}\/?$/) }),
      call: ({ http, data: { subreddit } }) => restrictionsOf(http, subreddit),
    }),
  },
} satisfies Operations;
