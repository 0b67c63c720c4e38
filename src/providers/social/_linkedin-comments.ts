import { z } from 'zod';
import type { CommentPage, CommentRead, Connection, LookUp, NewComment, Published } from './_contract.ts';
import { addressOf, encodedUrn } from './_linkedin.ts';
import { wholeList } from './_lists.ts';
import { topOf } from './_top.ts';

const PAGE = 50;
const MOST_PAGES = 20;

const Made = z.object({ commentUrn: z.string() });
const Comment = z.object({
  commentUrn: z.string(),
  actor: z.string(),
  message: z.object({ text: z.string().default('') }),
  created: z.object({ time: z.number() }),
  parentComment: z.string().nullish(),
  likesSummary: z.object({ totalLikes: z.number().nullish() }).nullish(),
  commentsSummary: z.object({ aggregatedTotalComments: z.number().nullish() }).nullish(),
});
type Comment = z.output<typeof Comment>;
const Comments = z.object({
  elements: z.array(Comment),
  paging: z.object({ start: z.int(), count: z.int(), total: z.int().nullish() }).nullish(),
});

const below = (urn: string): string => `/rest/socialActions/${encodedUrn(urn)}/comments`;
const commentAt = (post: string, id: string): string => `${addressOf(post)}?commentUrn=${encodeURIComponent(id)}`;
const made = (post: string, id: string, top: string | undefined): Published => ({
  id,
  url: commentAt(post, id),
  ...(top !== undefined && { saved: top }),
});

type Commenting = Pick<Connection, 'http'> & NewComment & { author: string };

export async function sendComment({ http, author, post, published, ...call }: Commenting): Promise<Published> {
  const top = topOf(call);
  const { commentUrn } = await http.post(below(top ?? published.id), Made, {
    json: {
      actor: author,
      object: published.id,
      message: { text: post.plain },
      ...(top !== undefined && { parentComment: top }),
    },
    creates: true,
  });
  return made(published.id, commentUrn, top);
}

/** Lists the author's comments since then with the same text at the same place. LinkedIn tells them in any order. */
export async function findComments({
  http,
  author,
  post,
  published,
  since,
  ...call
}: Commenting & Pick<LookUp, 'since'>): Promise<Published[]> {
  const top = topOf(call);
  const all = await wholeList(MOST_PAGES, async (start) => {
    const query = { start, count: String(PAGE) };
    const { elements: items } = await http.get(below(top ?? published.id), Comments, { query });
    return { items, next: items.length < PAGE ? undefined : String(Number(start ?? 0) + PAGE) };
  });
  return all
    .filter(
      ({ actor, message, created, parentComment }) =>
        actor === author &&
        message.text === post.plain &&
        created.time >= since.getTime() &&
        (parentComment ?? undefined) === top,
    )
    .map(({ commentUrn }) => made(published.id, commentUrn, top));
}

type Reading = Pick<Connection, 'http'> & { published: Published; cursor?: string | undefined };

/** Reads a page of the comments, each followed by its answers. LinkedIn tells no names of people, only their ids. */
export async function readComments({ http, published: { id }, cursor = '0' }: Reading): Promise<CommentPage> {
  const start = Number(cursor) || 0;
  const { elements, paging } = await http.get(below(id), Comments, {
    query: { start: String(start), count: String(PAGE) },
  });
  const comments: CommentRead[] = [];
  for (const one of elements) {
    comments.push(readComment(id, one));
    if (!one.commentsSummary?.aggregatedTotalComments) continue;
    const answers = await http.get(below(one.commentUrn), Comments, { query: { count: String(PAGE) } });
    comments.push(...answers.elements.map((answer) => readComment(id, answer)));
  }
  const isLast = elements.length < PAGE || (paging?.total ?? Infinity) <= start + PAGE;
  return { comments, ...(!isLast && { next: String(start + PAGE) }) };
}

const AUTHOR = /^urn:li:(?:person|organization(?:Brand)?):/;
const readComment = (post: string, comment: Comment): CommentRead => ({
  id: comment.commentUrn,
  text: comment.message.text,
  author: {
    id: comment.actor.replace(AUTHOR, ''),
    name: /:organization:/.test(comment.actor) ? 'LinkedIn page' : 'LinkedIn member',
  },
  createdAt: new Date(comment.created.time),
  url: commentAt(post, comment.commentUrn),
  ...(comment.parentComment && { parentId: comment.parentComment, saved: comment.parentComment }),
  ...(comment.likesSummary?.totalLikes != null && { likes: comment.likesSummary.totalLikes }),
});
