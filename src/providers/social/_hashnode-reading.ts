import { z } from 'zod';
import type { CommentTold, Operations } from './_contract.ts';
import { asks, data, edges } from './_hashnode-api.ts';
import { countsOfEach } from './_told.ts';
import { listing } from './_tools.ts';

const PAGE = 20;

const Me = data({
  me: z.object({
    id: z.string(),
    username: z.string(),
    name: z.string().nullish(),
    profilePicture: z.string().nullish(),
  }),
});
const Publications = data({
  me: z.object({ publications: edges(z.object({ id: z.string(), title: z.string() })) }),
});
const Tagged = edges(z.object({ tags: z.array(z.object({ slug: z.string(), name: z.string() })).nullish() }));
const UsedTags = data({ me: z.object({ publications: edges(z.object({ posts: Tagged })) }), feed: Tagged });

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

const commentRead = ({ id, content, author, dateAdded, totalReactions }: z.output<typeof Comment>): CommentTold => ({
  id,
  text: content.text,
  author: {
    id: author.id,
    name: author.name,
    handle: `@${author.username}`,
    picture: author.profilePicture || undefined,
  },
  createdAt: dateAdded,
  likes: totalReactions,
});

/** The account, its publications, comments, and what is told of articles. */
export const hashnodeReading = {
  async profile({ http }) {
    const { me } = (await http.post('/', Me, asks('query { me { id username name profilePicture } }'))).data;
    const { id, username, name, profilePicture: picture } = me;
    return { id, name: name || username, handle: `@${username}`, picture };
  },
  commentReads: { lists: 'top' },
  async comments({ http, published: { id }, cursor: after }) {
    const query = `query ($id: ID!, $after: String) { post(id: $id) { comments(first: ${PAGE}, after: $after) { edges { node { ${COMMENT} replies(first: ${PAGE}) { edges { node { ${COMMENT} } } } } } pageInfo { endCursor hasNextPage } } } }`;
    const answer = await http.post('/', Commented, asks(query, { id, after }));
    const { edges: top, pageInfo } = answer.data.post.comments;
    const comments = top.flatMap(({ node }) => [
      commentRead(node),
      ...node.replies.edges.map((reply) => ({ ...commentRead(reply.node), parentId: node.id })),
    ]);
    return { comments, next: pageInfo.hasNextPage ? pageInfo.endCursor : undefined };
  },
  metrics: ({ http, posts }) =>
    countsOfEach(posts, async ({ id }) => {
      const query = 'query ($id: ID!) { post(id: $id) { views reactionCount responseCount replyCount } }';
      const { post } = (await http.post('/', Counted, asks(query, { id }))).data;
      if (!post) return undefined;
      const { views, reactionCount: reactions, responseCount, replyCount } = post;
      return { views, reactions, comments: responseCount + replyCount };
    }),
  tools: {
    publications: listing('Lists the publications of the account', async ({ http }) => {
      const query = 'query { me { publications(first: 50) { edges { node { id title } } } } }';
      const { publications } = (await http.post('/', Publications, asks(query))).data.me;
      return publications.edges.map(({ node: { id, title } }) => ({ id, name: title }));
    }),
    tags: listing(
      'Lists tags: those of own articles, then those of articles that Hashnode shows now',
      async ({ http }) => {
        const tags = 'edges { node { tags { slug name } } }';
        const query = `query { me { publications(first: 10) { edges { node { posts(first: 20) { ${tags} } } } } } feed(first: 50) { ${tags} } }`;
        const { me, feed } = (await http.post('/', UsedTags, asks(query))).data;
        const lists = [...me.publications.edges.map(({ node }) => node.posts), feed];
        const all = lists.flatMap((list) => list.edges.flatMap(({ node }) => node.tags ?? []));
        return [...new Map(all.map(({ slug, name }) => [slug, name]))].map(([value, label]) => ({ value, label }));
      },
    ),
  },
} satisfies Operations;
