import { z } from 'zod';
import { refused } from '../kit/declare/fallback.ts';
import type { Field } from '../kit/declare/fields.ts';
import { shownText } from '../../platform/content/index.ts';
import { WITHOUT_FILES } from './_bounds.ts';
import type { CommentTold, Operations } from './_contract.ts';
import { sinceThen } from './_lists.ts';
import { Entry, publishedAs } from './_wordpress-post.ts';

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
/** Ids are those of one site, which the account names (`profile`). */
const siteOf = (account: string) => account.slice(account.indexOf('@') + 1);
const placeAt = ({ domain }: { domain: string }) => ({ type: 'comments', site: domain });
/** Letters that a site changes where it shows a text: those of smileys, of `(tm)`, and the x of `2x3`. */
const CHANGED = /:[a-z]{3,7}:|:-?[DPox]|8-?[O)]|\(tm\)|(?<=\d)x(?=\d)/g;
/** The letters and digits that a text and what the site shows of it share; `Wordpress` gets a capital P there. */
const lettersOf = (text: string): string =>
  text
    .replace(CHANGED, '')
    .replace(/[^\p{L}\p{N}]+/gu, '')
    .toLowerCase();
const commentRead = ({
  id,
  link: url,
  author,
  author_name: name,
  author_avatar_urls: pictures,
  content,
  date_gmt: createdAt,
  parent,
}: z.output<typeof Comment>): CommentTold => ({
  id: String(id),
  text: shownText(content.rendered),
  author: { id: String(author), name: shownText(name), picture: pictures?.['96'] || undefined },
  createdAt,
  url,
  parentId: parent === 0 ? undefined : String(parent),
});

/** Comments below posts of the site. */
export const wordpressComments = {
  comment: {
    once: 'read-back',
    replies: true,
    limits: WITHOUT_FILES,
    unless: [{ status: 'draft' }], // `rest_comment_draft_post`
    async send({ http, values, account, published, parent, post }) {
      if (siteOf(published.account ?? account) !== siteOf(account))
        throw refused('rejected', 'The post is at another site');
      const json = { post: Number(published.id), content: post.text, ...(parent && { parent: Number(parent.id) }) };
      return publishedAs(placeAt(values), await http.post('/wp/v2/comments', Entry, { json, creates: true }));
    },
    async find({ http, values, account, published: { id }, parent, post, since }) {
      const [author] = account.split('@');
      // one that is held for moderation is made, too, and is not listed by itself
      const query = { post: id, author, status: 'all', order: 'desc', per_page: String(PAGE) };
      const comments = await http.get('/wp/v2/comments', z.array(Comment), { query });
      return sinceThen(comments, PAGE, (one) => one.date_gmt >= since)
        .filter((one) => one.parent === Number(parent?.id ?? 0))
        .filter(({ content }) => lettersOf(shownText(content.rendered)) === lettersOf(post.plain))
        .map((one) => publishedAs(placeAt(values), one));
    },
  },
  async comments({ http, published: { id }, cursor = '1' }) {
    const { body, headers } = await http.get('/wp/v2/comments', Page, {
      query: { post: id, order: 'desc', per_page: String(PAGE), page: cursor },
      replyHeaders: ['x-wp-totalpages'],
    });
    const isLast = Number(cursor) >= (headers['x-wp-totalpages'] ?? 1);
    return { comments: body.map(commentRead), next: isLast ? undefined : String(Number(cursor) + 1) };
  },
  async hide({ http, comment: { id }, hidden }) {
    await http.post(`/wp/v2/comments/${id}`, z.unknown(), { json: { status: hidden ? 'hold' : 'approved' } });
  },
} satisfies Operations<z.ZodType, Record<'domain' | 'username' | 'password', Field>>;
