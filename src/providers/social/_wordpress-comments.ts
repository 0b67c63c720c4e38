import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import { textOfHtml } from '../kit/protocols/text.ts';
import type { Http } from '../kit/wire/http.ts';
import type { CommentPage, CommentRead, LookUp, NewComment, Published } from './_contract.ts';
import { Entry, placeOf, publishedAs } from './_wordpress-post.ts';

const PAGE = 100;
const Comment = Entry.extend({
  author: z.number(),
  author_name: z.string(),
  author_avatar_urls: z.record(z.string(), z.string()).nullish(),
  content: z.object({ rendered: z.string() }),
  /** In UTC, without a zone. */
  date_gmt: z.string().transform((date) => new Date(`${date}Z`)),
  /** 0: below the post. */
  parent: z.number(),
});
const Page = z.object({
  body: z.array(Comment),
  headers: z.object({ 'x-wp-totalpages': z.coerce.number().optional() }),
});
type Site = { http: Http; values: { domain: string } };

const placeAt = ({ domain }: Site['values']) => ({ type: 'comments', site: domain });

export async function sendComment({ http, values, published, parent, post }: Site & NewComment): Promise<Published> {
  if (placeOf(published).site !== values.domain) throw refused('rejected', 'The post is at another site');
  const json = { post: Number(published.id), content: post.text, ...(parent && { parent: Number(parent.id) }) };
  return publishedAs(placeAt(values), await http.post('/wp/v2/comments', Entry, { json, creates: true }));
}

/** Own comments below the post since then, of the same text. Sites change quotes and dashes when they show a text. */
export async function ownComments({
  http,
  values,
  account,
  published: { id },
  parent,
  post,
  since,
}: Site & NewComment & LookUp & { account: string }): Promise<Published[]> {
  const [author] = account.split('@');
  const comments = await http.get('/wp/v2/comments', z.array(Comment), {
    query: { post: id, author, order: 'desc', per_page: String(PAGE) },
  });
  return comments
    .filter((one) => one.date_gmt >= since && one.parent === Number(parent?.id ?? 0))
    .filter(({ content }) => lettersOf(textOfHtml(content.rendered)) === lettersOf(post.plain))
    .map((one) => publishedAs(placeAt(values), one));
}
const lettersOf = (text: string): string => text.replace(/[\s\p{P}]+/gu, '');

export async function readComments(http: Http, id: string, cursor = '1'): Promise<CommentPage> {
  const { body, headers } = await http.get('/wp/v2/comments', Page, {
    query: { post: id, order: 'desc', per_page: String(PAGE), page: cursor },
    replyHeaders: ['x-wp-totalpages'],
  });
  const isLast = Number(cursor) >= (headers['x-wp-totalpages'] ?? 1);
  return { comments: body.map(commentRead), ...(!isLast && { next: String(Number(cursor) + 1) }) };
}

const commentRead = ({
  id,
  link: url,
  author,
  author_name: name,
  author_avatar_urls: pictures,
  content,
  date_gmt: createdAt,
  parent,
}: z.output<typeof Comment>): CommentRead => ({
  id: String(id),
  text: textOfHtml(content.rendered),
  author: { id: String(author), name: textOfHtml(name), ...(pictures?.['96'] && { picture: pictures['96'] }) },
  createdAt,
  url,
  ...(parent !== 0 && { parentId: String(parent) }),
});
