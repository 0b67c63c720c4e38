import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { sameText } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { Published } from './_contract.ts';
import { published } from './_x-post.ts';

// Posts as the API shows them, and those of the account.

/** The description of the API says `post` where older pages say `tweet`; answers are read with either name. */
export const FIELDS = 'post.fields';
export const PAGE = 100;

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
export const Shown = Written.extend({
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
export const list = <S extends z.ZodType>(item: S) =>
  z.object({
    data: z.array(item).default([]),
    includes: z.object({ users: z.array(User).nullish() }).nullish(),
    meta: z.object({ result_count: z.int(), next_token: z.string().nullish() }),
  });
export const referred = ({ referenced_posts, referenced_tweets }: Shown, kind: string): string | undefined =>
  (referenced_posts ?? referenced_tweets ?? []).find(({ type }) => type === kind)?.id;
/** The text with its addresses as they were written, and without those of its media. */
export function textOf(shown: Shown): string {
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
