import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { shownText } from '../../platform/content/index.ts';
import { sameText } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { AsTold, CommentTold, LookUp, Mention, Post, Published } from './_contract.ts';
import { countsOfEach } from './_told.ts';

export const Status = z.object({ id: z.string(), url: z.string().nullish(), uri: z.string().nullish() });
export const Account = z.object({
  id: z.string(),
  username: z.string(),
  acct: z.string().nullish(),
  display_name: z.string().nullish(),
  avatar: z.string().nullish(),
});
const Shown = Status.extend({
  content: z.string(),
  created_at: z.coerce.date(),
  in_reply_to_id: z.coerce.string().nullish(),
  media_attachments: z.array(z.object({ id: z.coerce.string() })).nullish(),
});
type Shown = z.output<typeof Shown>;
const Count = z.int().nullish();
const Counted = Status.extend({
  favourites_count: Count,
  reblogs_count: Count,
  replies_count: Count,
  quotes_count: Count, // since Mastodon 4.5
});
const Context = z.object({
  descendants: z.array(Shown.extend({ account: Account, favourites_count: Count, visibility: z.string().nullish() })),
});
const FoundStatuses = z.object({ statuses: z.array(Status) });
const FoundAccounts = z.object({ accounts: z.array(Account) });
/** Ids of the media that were uploaded for this post: a status that shows one of them is this post. */
const Saved = z.object({ mediaIds: z.array(z.string()) });
type Line = { http: Http; values: { instance: string } };

/** Own statuses that are read to find a post: 400, newest first. */
const PAGE = 40;
const PAGES = 10;
/** Some servers accept statuses of a hundred kilobytes, and show a thread without pages. */
const ANSWER_BYTES = 4 * 1024 * 1024;
const MENTIONS = 10;

export const releaseOf = ({ id, url, uri }: z.output<typeof Status>): Published => ({ id, url: url ?? uri ?? '' });
export const uploadedBefore = (saved: unknown): readonly string[] => Saved.safeParse(saved).data?.mediaIds ?? [];
export const statusAt = (id: string): string => `/v1/statuses/${encodeURIComponent(id)}`;
/** The account of a channel is `id@host`: several servers have the same ids. */
const localId = (account: string): string => account.split('@')[0]!;
export const accountAt = (account: string): string => `/v1/accounts/${encodeURIComponent(localId(account))}`;

/** The id that a status has at the server of this channel: one of another server is looked for by its address. */
export async function idHere({ http, values }: Line, { id, url }: Published): Promise<string> {
  if (!URL.canParse(url) || new URL(url).origin === new URL(values.instance).origin) return id;
  const { statuses } = await http.get('/v2/search', FoundStatuses, {
    query: { q: url, type: 'statuses', resolve: 'true', limit: '1' },
  });
  if (!statuses[0]) throw refused('rejected', `The server of this account does not find ${url}`);
  return statuses[0].id;
}

interface Sought {
  post: Post;
  saved: unknown;
  parent: string | undefined;
}

/**
 * Looks for a post among own statuses. One with media that an attempt uploaded is this post; others are similar when
 * text, parent and number of media are equal.
 */
export async function findAmong(
  statuses: AsyncIterable<Shown> | readonly Shown[],
  { post, saved, parent }: Sought,
): Promise<Published | Published[]> {
  const own = new Set(uploadedBefore(saved));
  const similar: Published[] = [];
  for await (const status of statuses) {
    const media = status.media_attachments ?? [];
    if (media.some(({ id }) => own.has(id))) return releaseOf(status);
    const sameParent = (status.in_reply_to_id ?? undefined) === parent;
    if (sameParent && media.length === post.media.length && sameText(status.content, post.text))
      similar.push(releaseOf(status));
  }
  return similar;
}

/** Yields the own statuses since `since`, newest first. Throws when there are too many later ones to reach it. */
export async function* statusesSince(http: Http, account: string, since: Date): AsyncGenerator<Shown> {
  const seen = new Set<string>();
  let last: string | undefined;
  for (let page = 0; page < PAGES; page += 1) {
    const statuses = await http.get(`${accountAt(account)}/statuses`, z.array(Shown), {
      answerBytes: ANSWER_BYTES,
      query: { limit: String(PAGE), exclude_reblogs: 'true', ...(last !== undefined && { max_id: last }) },
    });
    const fresh = statuses.filter((status) => !seen.has(status.id));
    if (fresh.length === 0 && statuses.length < PAGE) return; // snac ignores `max_id`: its second page equals the first
    for (const status of fresh) {
      if (status.created_at < since) return;
      seen.add(status.id);
      yield status;
    }
    last = statuses.at(-1)?.id;
  }
  throw refused('unavailable', `The account posted more than ${PAGE * PAGES} statuses since then`);
}

/** Who sees a status; of kinds that only its server has we know that not everybody does. */
const Seen = Status.extend({ visibility: z.enum(['public', 'unlisted', 'private', 'direct']).catch('private') });
/** The visibility of an answer to a status: that of the status; undefined, so the usual one, where anybody sees it. */
export async function visibilityBelow(http: Http, id: string): Promise<string | undefined> {
  const { visibility } = await http.get(statusAt(id), Seen);
  return visibility === 'public' ? undefined : visibility;
}

const contextOf = (http: Http, id: string) =>
  http.get(`${statusAt(id)}/context`, Context, { answerBytes: ANSWER_BYTES });

/**
 * Looks for an own status below a post since then. Some servers show answers in no other list, and some of them at most
 * so many.
 */
export async function findBelow(
  { http, account, since }: { http: Http; account: string } & Pick<LookUp, 'since'>,
  id: string,
  sought: Sought,
  most = Infinity,
): Promise<Published | Published[]> {
  const { descendants } = await contextOf(http, id);
  const own = descendants.filter((one) => one.account.id === localId(account) && one.created_at >= since);
  const found = await findAmong(own, sought);
  if (descendants.length >= most && Array.isArray(found) && found.length === 0)
    throw refused('unavailable', `The server shows ${most} of the answers to this post`);
  return found;
}

/** Reads the comments below a post, which no server divides into pages. Private messages are none. */
export async function readComments(http: Http, id: string, host: string): Promise<CommentTold[]> {
  const { descendants } = await contextOf(http, id);
  return descendants
    .filter(({ visibility }) => visibility !== 'private' && visibility !== 'direct')
    .map(({ account, in_reply_to_id: parent, ...status }) => ({
      id: status.id,
      text: shownText(status.content),
      author: {
        id: account.id,
        name: account.display_name || account.username,
        handle: `@${addressOf(account, host)}`,
        picture: account.avatar,
      },
      createdAt: status.created_at,
      parentId: parent == null || parent === id ? undefined : parent,
      url: status.url,
      likes: status.favourites_count,
    }));
}

/** `name@host`, also of an account of the server itself. */
const addressOf = ({ username, acct }: z.output<typeof Account>, host: string): string =>
  acct?.includes('@') ? acct : `${acct ?? username}@${host}`;

export async function findAccounts({ http, values }: Line, q: string): Promise<AsTold<Mention>[]> {
  const { accounts } = await http.get('/v2/search', FoundAccounts, {
    query: { q, type: 'accounts', resolve: 'false', limit: String(MENTIONS) },
  });
  const { host } = new URL(values.instance);
  return accounts.map((one) => ({
    id: addressOf(one, host),
    label: one.display_name || one.username,
    image: one.avatar,
  }));
}

export const countsOf = (http: Http, posts: readonly Published[]) =>
  countsOfEach(posts, async ({ id }) => {
    const status = await http.find(statusAt(id), Counted);
    const {
      favourites_count: likes,
      reblogs_count: reposts,
      replies_count: comments,
      quotes_count: quotes,
    } = status ?? {};
    return status && { likes, reposts, comments, quotes };
  });
