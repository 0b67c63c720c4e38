import { z } from 'zod';
import type { Http } from '../kit/wire/http.ts';
import type { CommentRead, NewComment, Published } from './_contract.ts';
import { SITE, type Settings } from './_reddit-submit.ts';

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
const when = z.number().transform((seconds) => new Date(seconds * 1_000));
const Own = z.object({
  name: z.string(),
  title: z.string(),
  subreddit: z.string(),
  created_utc: when,
  permalink: z.string(),
});

type Looking = { http: Http; since: Date };
/** Lists the own posts since then with this title in this subreddit, newest first. */
export async function ownPosts({
  http,
  since,
  settings: { subreddit },
}: Looking & { settings: Settings }): Promise<Published[]> {
  const [{ value: target }] = subreddit;
  const { name: user } = await me(http);
  const { data } = await http.get(`/user/${encodeURIComponent(user)}/submitted`, listOf(Own), {
    query: { ...RAW, sort: 'new', limit: PAGE },
  });
  return data.children
    .filter(
      ({ data: { title, subreddit: sr, created_utc: at } }) =>
        at >= wholeSeconds(since) && title === target.title && sr.toLowerCase() === target.subreddit.toLowerCase(),
    )
    .map(({ data: { name: id, permalink } }) => ({ id, url: SITE + permalink }));
}
/** Reddit tells whole seconds. */
const wholeSeconds = (date: Date) => new Date(Math.floor(date.getTime() / 1_000) * 1_000);

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
const Said: z.ZodType<Said> = z.lazy(() =>
  z.object({
    name: z.string(),
    author: z.string(),
    author_fullname: z.string().nullish(),
    body: z.string(),
    created_utc: when,
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

/** Reads the newest comments below a post, with their answers. */
export async function readComments(http: Http, { id }: Published): Promise<CommentRead[]> {
  const [, answers] = await http.get(
    `/comments/${encodeURIComponent(id.replace(/^t3_/, ''))}`,
    z.tuple([z.unknown(), Answers]),
    { query: { ...RAW, sort: 'new', limit: PAGE } },
  );
  return flat(answers);
}
const flat = ({ data }: z.output<typeof Answers>): CommentRead[] =>
  data.children.flatMap((child) =>
    'data' in child ? [commentOf(child.data), ...(child.data.replies ? flat(child.data.replies) : [])] : [],
  );
const commentOf = (said: Said): CommentRead => ({
  id: said.name,
  text: said.body,
  author: { id: said.author_fullname ?? said.author, name: said.author },
  createdAt: said.created_utc,
  parentId: said.parent_id === said.link_id ? undefined : said.parent_id,
  url: SITE + said.permalink,
  likes: said.score ?? undefined,
});

/** Lists the own comments since then with this text at the same place. */
export async function ownComments({
  http,
  since,
  published,
  parent,
  post,
}: Looking & NewComment): Promise<Published[]> {
  const { name } = await me(http);
  const { data } = await http.get(`/user/${encodeURIComponent(name)}/comments`, listOf(Said), {
    query: { ...RAW, sort: 'new', limit: PAGE },
  });
  return data.children
    .map((child) => child.data)
    .filter(
      ({ body, created_utc: at, parent_id: below }) =>
        at >= wholeSeconds(since) && below === (parent?.id ?? published.id) && body === post.text,
    )
    .map(({ name: id, permalink }) => ({ id, url: SITE + permalink }));
}

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
export async function restrictionsOf(http: Http, name: string) {
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
