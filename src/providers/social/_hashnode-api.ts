import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import { refused } from '../kit/declare/fallback.ts';
import type { Http } from '../kit/wire/http.ts';
import { fitted } from './_articles.ts';
import type { CommentPage, CommentRead, Media, PostCounts, Published } from './_contract.ts';

/** Codes of errors. INTERNAL_SERVER_ERROR is not among them: it says nothing about what was done. */
const CODES: Readonly<Record<string, ProviderFailure>> = {
  UNAUTHENTICATED: 'reauthorize',
  FORBIDDEN: 'rejected',
  BAD_USER_INPUT: 'rejected',
};
const Code = z
  .string()
  .transform((code) => CODES[code])
  .pipe(z.custom<ProviderFailure>((failure) => failure !== undefined));
const errors = <S extends z.ZodType>(code: S) =>
  z.tuple([z.object({ extensions: z.object({ code }) })]).rest(z.unknown());
export const failure: z.ZodType<ProviderFailure> = z.union([
  z.object({ errors: errors(Code) }).transform((answer) => answer.errors[0].extensions.code),
  // a query for what is gone has data, which is null there
  z.object({ data: z.null().optional(), errors: errors(z.literal('NOT_FOUND')) }).transform(() => 'rejected' as const),
]);

export const TYPES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp', 'image/avif'];
const RULES = { maxBytes: 8_000_000, types: TYPES };
const RECENT = 20;
const PAGE = 20;

/** The answer to a query with these fields. */
export const data = <S extends z.ZodRawShape>(fields: S) => z.object({ data: z.object(fields) });
export const edges = <S extends z.ZodType>(node: S) => z.object({ edges: z.array(z.object({ node })) });
export const asks = (query: string, variables: Readonly<Record<string, unknown>> = {}) => ({
  json: { query, variables },
});

const Presigned = data({
  createImageUploadURL: z.object({
    presignedPost: z.object({ url: z.url(), fields: z.object({ key: z.string() }).catchall(z.string()) }),
  }),
});
export async function upload(http: Http, file: Media): Promise<{ url: string }> {
  const picture = await fitted(file, RULES);
  const query =
    'mutation ($input: CreateImageUploadInput!) { createImageUploadURL(input: $input) { presignedPost { url fields } } }';
  const answer = await http.post('/', Presigned, asks(query, { input: { contentType: picture.contentType } }));
  const { url, fields } = answer.data.createImageUploadURL.presignedPost;
  await http.post(url, z.unknown(), { multipart: { ...fields, file: picture } });
  return { url: `https://cdn.hashnode.com/${fields.key}` };
}

const Drafted = data({ draft: z.object({ id: z.string() }).nullish() });
const Newest = data({
  publication: z.object({
    posts: edges(z.object({ id: z.string(), url: z.string(), title: z.string(), publishedAt: z.coerce.date() })),
  }),
});
/** A draft is gone once it is published: then its post is among the newest, when the answer is not an old one. */
export async function findPublished(
  http: Http,
  { draft, publication, title, since }: { draft: string; publication: string; title: string; since: Date },
): Promise<readonly Published[] | undefined> {
  const left = await http.post('/', Drafted, asks('query ($id: ObjectId!) { draft(id: $id) { id } }', { id: draft }));
  if (left.data.draft) return undefined;
  const query = `query ($id: ObjectId!) { publication(id: $id) { posts(first: ${RECENT}) { edges { node { id url title publishedAt } } } } }`;
  const { posts } = (await http.post('/', Newest, asks(query, { id: publication }))).data.publication;
  const found = posts.edges.flatMap(({ node }) => (node.title === title && node.publishedAt >= since ? [node] : []));
  if (found.length === 0)
    throw refused('unavailable', 'The draft is published or deleted, and its article not shown yet');
  return found.map(({ id, url }) => ({ id, url }));
}

const Counted = data({
  post: z
    .object({
      views: z.number().nullish(),
      reactionCount: z.number(),
      responseCount: z.number(),
      replyCount: z.number(),
    })
    .nullish(),
});
export async function countsOf(http: Http, id: string): Promise<PostCounts[]> {
  const query = 'query ($id: ID!) { post(id: $id) { views reactionCount responseCount replyCount } }';
  const post = (await http.post('/', Counted, asks(query, { id }))).data.post;
  if (!post) return [];
  const { views, reactionCount: reactions, responseCount, replyCount } = post;
  return [{ id, counts: { ...(views != null && { views }), reactions, comments: responseCount + replyCount } }];
}

const Comment = z.object({
  id: z.string(),
  content: z.object({ text: z.string() }),
  author: z.object({ id: z.string(), name: z.string(), username: z.string(), profilePicture: z.string().nullish() }),
  dateAdded: z.coerce.date(),
  totalReactions: z.number(),
});
const Commented = data({
  post: z.object({
    comments: edges(Comment.extend({ replies: edges(Comment) })).extend({
      pageInfo: z.object({ endCursor: z.string().nullish(), hasNextPage: z.boolean() }),
    }),
  }),
});
const COMMENT = 'id content { text } author { id name username profilePicture } dateAdded totalReactions';
export async function readComments(http: Http, id: string, after: string | undefined): Promise<CommentPage> {
  const query = `query ($id: ID!, $after: String) { post(id: $id) { comments(first: ${PAGE}, after: $after) { edges { node { ${COMMENT} replies(first: ${PAGE}) { edges { node { ${COMMENT} } } } } } pageInfo { endCursor hasNextPage } } } }`;
  const answer = await http.post('/', Commented, asks(query, { id, after }));
  const { edges: top, pageInfo } = answer.data.post.comments;
  return {
    comments: top.flatMap(({ node }) => [
      commentRead(node),
      ...node.replies.edges.map((reply) => ({ ...commentRead(reply.node), parentId: node.id })),
    ]),
    ...(pageInfo.hasNextPage && pageInfo.endCursor && { next: pageInfo.endCursor }),
  };
}

const commentRead = ({ id, content, author, dateAdded, totalReactions }: z.output<typeof Comment>): CommentRead => ({
  id,
  text: content.text,
  author: {
    id: author.id,
    name: author.name,
    handle: `@${author.username}`,
    ...(author.profilePicture && { picture: author.profilePicture }),
  },
  createdAt: dateAdded,
  likes: totalReactions,
});
