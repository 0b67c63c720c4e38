import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { withoutQueries } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { LookUp, NewComment, Operations, Published } from './_contract.ts';
import {
  Absent,
  api,
  commentAt,
  Comments,
  FoundCommunities,
  FoundPeople,
  FoundPost,
  handleOf,
  Me,
  postAt,
  PostReply,
  Posts,
  readComment,
} from './_lemmy-api.ts';
import type { credentials } from './_lemmy-login.ts';
import { sinceThen } from './_lists.ts';
import { seriesOfNow } from './_series.ts';
import { countsOfEach } from './_told.ts';
import { searching } from './_tools.ts';

const NEWEST = 50;
const PAGE = String(NEWEST);
type Fields = Readonly<Record<string, string>>;
type Values = Fields & { service: string };
type Line = { http: Http; values: Values };
type Looking = Line & Pick<LookUp, 'since'> & { account: string };

/** The number of a person at the server, of `Profile.id`. */
const personOf = (account: string) => account.split('@')[0];

/** The number of a post at this server; one of another server is fetched by its address. */
export async function idHere({ http, values }: Line, { id, url }: Published): Promise<number> {
  if (url === '' || url.startsWith(`${values.service}/`)) return Number(id);
  return http.get(`${api(values).at}/resolve_object`, FoundPost, { query: { q: url } });
}

/**
 * Lists the own posts since then with this title in this community. One that shows a picture of an attempt is certain.
 */
export async function ownPosts({
  http,
  values,
  account,
  since,
  target: { title, id: community },
  images,
}: Looking & { target: { title: string; id: number }; images: readonly string[] }): Promise<Published | Published[]> {
  const { at, own, posts } = api(values);
  const newest = await http.get(at + own, Posts, { query: { person_id: personOf(account), limit: PAGE, ...posts } });
  const shown = newest.find(({ url, body }) => images.some((image) => url === image || body?.includes(image)));
  if (shown) return postAt(values.service, shown.id);
  return sinceThen(newest, NEWEST, (one) => !!one.at && one.at >= since)
    .filter((one) => one.name === title && one.community_id === community)
    .map(({ id }) => postAt(values.service, id));
}

/**
 * A text without what Lemmy changes in its addresses: it takes out parameters that track people, and may write a slash
 * behind the host.
 */
const comparable = (text: string): string => withoutQueries(text).replaceAll('/', '');

/** Lists the own comments since then with this text at the same place. */
export async function ownComments({
  published,
  parent,
  post,
  since,
  ...call
}: Looking & NewComment): Promise<Published[]> {
  const { http, values, account } = call;
  const { at, own, comments } = api(values);
  const postId = await idHere(call, published);
  const query = { person_id: personOf(account), limit: PAGE, ...comments };
  const { items } = await http.get(at + own, Comments, { query });
  return sinceThen(items, NEWEST, (one) => one.at >= since)
    .filter((one) => one.post_id === postId && one.parentId === parent?.id)
    .filter(({ content }) => comparable(content) === comparable(post.text))
    .map(({ id }) => commentAt(values.service, id));
}

/** The connected account with its counts. Version 3 refuses no token here: it answers as to a stranger. */
async function ownAccount({ http, values }: Line) {
  const me = await http.get(api(values).at + api(values).me, Me);
  if (me === 'nobody') throw refused('reauthorize', 'Lemmy does not accept this login any more');
  return me;
}

type Search = { http: Http; values: Fields; query: string };
function search<S extends z.ZodType>({ http, values, query }: Search, type: 'users' | 'communities', reply: S) {
  const version = api(values);
  return http.get(`${version.at}/search`, reply, {
    query: { [version.search]: query, type_: version[type], limit: '10' },
  });
}

/** The account, what is said below posts, and searches. */
export const lemmyReading = {
  async profile({ http, values }) {
    const me = await ownAccount({ http, values });
    return {
      id: `${me.id}@${new URL(values.service).host}`,
      name: me.display_name || me.name,
      handle: handleOf(me),
      server: values.service,
      picture: me.avatar,
    };
  },
  commentReads: { lists: 'some' },
  /** Version 3 answers the comments in one page. */
  async comments({ http, values, published: { id }, cursor }) {
    const { at, list } = api(values);
    const { items, next_page: next } = await http.get(`${at}/comment/list`, Comments, {
      query: { post_id: id, ...list, max_depth: '8', limit: PAGE, page_cursor: cursor },
    });
    return { comments: items.filter(({ deleted, removed }) => !deleted && !removed).map(readComment), next };
  },
  metrics: ({ http, values, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const found = await http.find(`${api(values).at}/post`, PostReply, { query: { id }, absent: Absent });
      const { upvotes: likes, downvotes: dislikes, comments } = found?.post_view ?? {};
      return found && { likes, dislikes, comments };
    }),
  async channelMetrics({ http, values, clock }) {
    const { post_count: posts, comment_count: comments } = await ownAccount({ http, values });
    return seriesOfNow(clock, { posts, comments });
  },
  async mentions(call) {
    const found = await search(call, 'users', FoundPeople);
    return found.map(({ person }) => ({ id: person.address, label: handleOf(person), image: person.avatar }));
  },
  mention: ({ id, label }) =>
    /^https:\/\/[\w./@~:-]+$/.test(id) && /^@[\w.-]+@[\w.:-]+$/.test(label)
      ? `[${label.replaceAll('_', '\\_')}](${id})`
      : undefined,
  tools: {
    subreddits: searching('Searches communities by a word', async ({ word, ...line }) => {
      const { communities } = await search({ ...line, query: word }, 'communities', FoundCommunities);
      return communities.map(({ community: { id, name, title } }) => ({ id: String(id), name, title: title ?? name }));
    }),
  },
} satisfies Operations<z.ZodType, typeof credentials>;
