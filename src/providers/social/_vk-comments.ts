import { z } from 'zod';
import { sameText } from '../kit/protocols/text.ts';
import type { CommentPage, CommentRead, Connection, NewComment, Published } from './_contract.ts';
import { ANSWER_BYTES, answered, commentAt, Count, partsOf, seconds } from './_vk-wall.ts';

const PAGE = '50';
/** As a whole: else the text of a comment may end after its first 90 characters. */
const WHOLE = '0';
const Reply = z.object({
  id: z.int(),
  from_id: z.int(),
  date: seconds,
  text: z.string(),
  likes: Count,
  reply_to_comment: z.int().optional(),
  deleted: z.boolean().optional(),
});
const Comment = Reply.extend({ thread: z.object({ items: z.array(Reply).default([]) }).optional() });
const Comments = z.object({
  count: z.int(),
  items: z.array(Comment),
  profiles: z
    .array(
      z.object({
        id: z.int(),
        first_name: z.string(),
        last_name: z.string(),
        screen_name: z.string().optional(),
        photo_50: z.url().optional(),
      }),
    )
    .default([]),
  groups: z
    .array(
      z.object({ id: z.int(), name: z.string(), screen_name: z.string().optional(), photo_50: z.url().optional() }),
    )
    .default([]),
});

/** A page of comments with the first answers to each; `offset` counts those without a parent. */
function pageOf(
  published: string,
  { count, items, profiles, groups }: z.output<typeof Comments>,
  offset: number,
): CommentPage {
  const authors = new Map<number, CommentRead['author']>([
    ...profiles.map(({ id, first_name, last_name, screen_name: handle, photo_50: picture }) => {
      const author = { id: String(id), name: `${first_name} ${last_name}`, handle, picture };
      return [id, author] as const;
    }),
    ...groups.map(({ id, name, screen_name: handle, photo_50: picture }) => {
      return [-id, { id: String(-id), name, handle, picture }] as const;
    }),
  ]);
  const read = (one: z.output<typeof Reply>, parent?: number): CommentRead[] =>
    one.deleted
      ? []
      : [
          {
            ...commentAt(published, one.id),
            text: one.text,
            author: authors.get(one.from_id) ?? { id: String(one.from_id), name: '' },
            createdAt: one.date,
            ...(parent !== undefined && { parentId: commentAt(published, one.reply_to_comment ?? parent).id }),
            ...(one.likes && { likes: one.likes.count }),
          },
        ];
  const next = offset + items.length;
  return {
    comments: items.flatMap((one) => [
      ...read(one),
      ...(one.thread?.items ?? []).flatMap((answer) => read(answer, one.id)),
    ]),
    ...(items.length > 0 && next < count && { next: String(next) }),
  };
}

type Commenting = Pick<Connection, 'http' | 'account'> & NewComment;

export async function writeComment({ http, post, published, parent }: Commenting): Promise<Published> {
  const { owner: owner_id, post: post_id } = partsOf(published.id);
  const form = {
    owner_id,
    post_id,
    message: post.text,
    guid: post.id,
    reply_to_comment: parent && partsOf(parent.id).comment,
  };
  const Made = answered(z.object({ comment_id: z.int() }));
  const { response } = await http.post('/wall.createComment', Made, { form, creates: true });
  return commentAt(published.id, response.comment_id);
}

export async function ownComments({ http, account, post, published, parent, since }: Commenting & { since: Date }) {
  const { owner: owner_id, post: post_id } = partsOf(published.id);
  const query = {
    owner_id,
    post_id,
    sort: 'desc',
    count: PAGE,
    preview_length: WHOLE,
    thread_items_count: '10',
  };
  const { response } = await http.get('/wall.getComments', answered(Comments), { query, answerBytes: ANSWER_BYTES });
  const below = parent && partsOf(parent.id).comment;
  const answersOf = ({ id, thread }: z.output<typeof Comment>) =>
    (thread?.items ?? []).filter(({ reply_to_comment: to = id }) => String(to) === below);
  return (below === undefined ? response.items : response.items.flatMap(answersOf))
    .filter(({ from_id, date, text }) => String(from_id) === account && date >= since && sameText(text, post.text))
    .map(({ id }) => commentAt(published.id, id));
}

export async function readComments({
  http,
  published: { id },
  cursor = '0',
}: Pick<Connection, 'http'> & { published: Published; cursor?: string | undefined }): Promise<CommentPage> {
  const { owner: owner_id, post: post_id } = partsOf(id);
  const query = {
    owner_id,
    post_id,
    need_likes: '1',
    extended: '1',
    fields: 'screen_name,photo_50',
    preview_length: WHOLE,
    thread_items_count: '10',
    count: PAGE,
    offset: cursor,
  };
  const { response } = await http.get('/wall.getComments', answered(Comments), { query, answerBytes: ANSWER_BYTES });
  return pageOf(id, response, Number(cursor));
}
