import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { sameText, textOfHtml } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { CommentPage, CommentRead, Counts, PostCounts, Published } from './_contract.ts';
import { published } from './_x-post.ts';

/** The description of the API says `post` where older pages say `tweet`; answers are read with either name. */
const FIELDS = 'post.fields';
const PAGE = 100;

const count = z.number().nullish();
const Written = z.object({
  text: z.string(),
  entities: z
    .object({
      urls: z
        .array(
          z.object({ url: z.string().nullish(), expanded_url: z.string().nullish(), media_key: z.string().nullish() }),
        )
        .nullish(),
    })
    .nullish(),
});
const References = z.array(z.object({ type: z.string(), id: z.string() })).nullish();
const Title = z.object({ title: z.string().nullish() }).nullish();
const Shown = Written.extend({
  id: z.string(),
  note_post: Written.nullish(),
  note_tweet: Written.nullish(),
  referenced_posts: References,
  referenced_tweets: References,
  attachments: z.object({ media_keys: z.array(z.string()).nullish() }).nullish(),
  article: Title,
  public_metrics: z
    .object({
      impression_count: count,
      like_count: count,
      repost_count: count,
      retweet_count: count,
      reply_count: count,
      quote_count: count,
      bookmark_count: count,
    })
    .nullish(),
});
type Shown = z.output<typeof Shown>;
export const User = z.object({
  id: z.string(),
  name: z.string(),
  username: z.string(),
  profile_image_url: z.string().nullish(),
});
const Reply = Shown.extend({ author_id: z.string(), created_at: z.coerce.date() });
const list = <S extends z.ZodType>(item: S) =>
  z.object({
    data: z.array(item).default([]),
    includes: z.object({ users: z.array(User).nullish() }).nullish(),
    meta: z.object({ result_count: z.int(), next_token: z.string().nullish() }),
  });
/** What is not there is an entry of `errors` beside, or in place of, `data`. */
const errors = z.array(z.unknown()).min(1);
const Posts = z.union([z.object({ data: z.array(Shown) }), z.object({ errors, data: z.undefined().optional() })]);
const FoundUser = z.union([z.object({ data: User }), z.object({ errors, data: z.undefined().optional() })]);

const referred = ({ referenced_posts, referenced_tweets }: Shown, kind: string): string | undefined =>
  (referenced_posts ?? referenced_tweets ?? []).find(({ type }) => type === kind)?.id;
/** The text with its addresses as they were written, and without those of its media. */
function textOf(shown: Shown): string {
  const { text, entities } = shown.note_post ?? shown.note_tweet ?? shown;
  return (entities?.urls ?? []).reduce(
    (all, { url, expanded_url, media_key }) =>
      url ? all.replace(url, () => (media_key ? '' : (expanded_url ?? url))) : all,
    text,
  );
}
/** The mentions that X puts in front of a reply. */
const unmentioned = (text: string) => text.replace(/^(?:@\w+\s+)+/, '');

interface Own {
  http: Http;
  account: string;
  since: Date;
}
const ownSince = async ({ http, account, since }: Own, query: Readonly<Record<string, string>>): Promise<Shown[]> => {
  const { data, meta } = await http.get(`/users/${account}/tweets`, list(Shown), {
    query: { max_results: String(PAGE), start_time: since.toISOString().replace(/\.\d+/, ''), ...query },
    answerBytes: 4 * 1024 * 1024,
  });
  if (meta.next_token) throw refused('unavailable', `The account posted more than ${PAGE} posts since then`);
  return data;
};

interface Sought {
  text: string;
  parent: string | undefined;
  media: number;
  /** Of an article, which is known by it. */
  title?: string | undefined;
}
/** Lists the own posts since then with this text, parent and number of files, or the articles with this title. */
export async function similar(own: Own, { text, parent, media, title }: Sought): Promise<Published[]> {
  const posts = await ownSince(own, {
    exclude: 'retweets',
    [FIELDS]: 'article,attachments,created_at,entities,note_post',
    expansions: 'referenced_posts',
  });
  const isSame = (one: Shown) =>
    title !== undefined
      ? one.article?.title === title
      : referred(one, 'replied_to') === parent &&
        (one.attachments?.media_keys?.length ?? 0) === media &&
        sameText(unmentioned(textOf(one)), unmentioned(text));
  return posts.filter(isSame).map(({ id }) => published(id));
}

/** Answers the post where this account has repeated it since then. */
export async function repeated(own: Own, post: Published): Promise<Published | undefined> {
  const posts = await ownSince(own, { expansions: 'referenced_posts' });
  return posts.some((one) => referred(one, 'retweeted') === post.id) ? published(post.id) : undefined;
}

function countsOf({ public_metrics: told }: Shown): Counts {
  const counts = {
    impressions: told?.impression_count,
    likes: told?.like_count,
    reposts: told?.repost_count ?? told?.retweet_count,
    comments: told?.reply_count,
    quotes: told?.quote_count,
    saves: told?.bookmark_count,
  };
  return Object.fromEntries(Object.entries(counts).filter(([, value]) => typeof value === 'number'));
}
export async function countsOfPosts(http: Http, posts: readonly Published[]): Promise<PostCounts[]> {
  const query = { ids: posts.map(({ id }) => id).join(','), [FIELDS]: 'public_metrics' };
  const { data } = await http.get('/tweets', Posts, { query });
  return (data ?? []).map((shown) => ({ id: shown.id, counts: countsOf(shown) }));
}

/** Reads a page of the replies of the last seven days in the conversation of a post. */
export async function readReplies(
  http: Http,
  { id: root }: Published,
  cursor: string | undefined,
): Promise<CommentPage> {
  const { data, includes, meta } = await http.get('/tweets/search/recent', list(Reply), {
    query: {
      query: `conversation_id:${root} is:reply`,
      max_results: String(PAGE),
      [FIELDS]: 'created_at,entities,note_post,public_metrics',
      expansions: 'author_id,referenced_posts',
      'user.fields': 'profile_image_url',
      next_token: cursor,
    },
    answerBytes: 4 * 1024 * 1024,
  });
  const users = new Map((includes?.users ?? []).map((user) => [user.id, user]));
  const comment = (shown: z.output<typeof Reply>): CommentRead => {
    const { id, author_id: author, created_at: createdAt, public_metrics: told } = shown;
    const user = users.get(author);
    const parent = referred(shown, 'replied_to');
    return {
      id,
      text: textOfHtml(textOf(shown)),
      author: {
        id: author,
        name: user?.name ?? '',
        handle: user && `@${user.username}`,
        picture: user?.profile_image_url ?? undefined,
      },
      createdAt,
      parentId: parent === root ? undefined : parent,
      url: published(id).url,
      likes: told?.like_count ?? undefined,
    };
  };
  return { comments: data.map(comment), next: meta.next_token ?? undefined };
}

/** Looks up one account by its exact name: a search would be paid for each account that it finds. */
export const userNamed = async (http: Http, name: string) =>
  (await http.get(`/users/by/username/${name}`, FoundUser, { query: { 'user.fields': 'profile_image_url' } })).data;
