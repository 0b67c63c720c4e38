import { z } from 'zod';
import type { Values } from '../kit/declare/fields.ts';
import type { CommentTold, Published } from './_contract.ts';

/** Where version 4 of the API (Lemmy 1.0) differs from version 3 (0.19). */
const VERSIONS = {
  v3: {
    at: '/api/v3',
    login: '/user/login',
    me: '/site',
    image: '/pictrs/image',
    own: '/user',
    person: '/user',
    posts: { sort: 'New' },
    comments: { sort: 'New' },
    list: { type_: 'All', sort: 'New' },
    search: 'q',
    users: 'Users',
    communities: 'Communities',
  },
  v4: {
    at: '/api/v4',
    login: '/account/auth/login',
    me: '/account',
    image: '/api/v4/image',
    own: '/person/content',
    person: '/person',
    posts: { type_: 'posts' },
    comments: { type_: 'comments' },
    list: { type_: 'all', sort: 'new' },
    search: 'search_term',
    users: 'users',
    communities: 'communities',
  },
} as const;
export type Version = keyof typeof VERSIONS;
/** The version that the server had at the login. */
const versionOf = (values: Values): Version => (values['api'] === 'v4' ? 'v4' : 'v3');
export const api = (values: Values) => VERSIONS[versionOf(values)];

/** A post that is gone. */
export const Absent = z.object({ error: z.enum(['couldnt_find_post', 'not_found']) });

const Person = z
  .object({
    id: z.number(),
    name: z.string(),
    display_name: z.string().nullish(),
    avatar: z.url().nullish(),
    actor_id: z.url().optional(), // version 3
    ap_id: z.url().optional(),
    post_count: z.number().optional(),
    comment_count: z.number().optional(),
  })
  .transform(({ actor_id, ap_id, ...person }) => ({ ...person, address: ap_id ?? actor_id ?? '' }));
type Person = z.output<typeof Person>;
/** `@ann@lemmy.example` */
export const handleOf = ({ name, address }: Person): string =>
  address === '' ? `@${name}` : `@${name}@${new URL(address).host}`;

const count = z.number().optional();
const Counted = z.object({
  upvotes: count,
  downvotes: count,
  comments: count,
  post_count: count,
  comment_count: count,
});
const LocalUser = z.object({ local_user_view: z.object({ person: Person, counts: Counted.optional() }) });
const Account = LocalUser.transform(({ local_user_view: { person, counts } }) => ({ ...person, ...counts }));
/** Version 3 tells the account beside the site, and the site alone where nobody is logged in. */
export const Me = z.union([
  z.object({ my_user: Account }).transform(({ my_user }) => my_user),
  Account,
  z.object({ site_view: z.object({}), my_user: z.null().optional() }).transform(() => 'nobody' as const),
]);

const date = z.coerce.date();
const Post = Counted.extend({
  id: z.number(),
  name: z.string(),
  community_id: z.number(),
  url: z.string().nullish(),
  body: z.string().nullish(),
  ap_id: z.url(),
  published: date.optional(), // version 3
  published_at: date.optional(),
});
const PostView = z
  .object({ post: Post, counts: Counted.optional() })
  .transform(({ post: { published, published_at: at, ...post }, counts }) => ({
    ...post,
    ...counts,
    at: at ?? published,
  }));
export const PostReply = z.object({ post_view: PostView });

const Comment = Counted.extend({
  id: z.number(),
  post_id: z.number(),
  content: z.string(),
  path: z.string(),
  deleted: z.boolean().optional(),
  removed: z.boolean().optional(),
  ap_id: z.url(),
  published: date.optional(), // version 3
  published_at: date.optional(),
});
export const CommentView = z
  .object({ comment: Comment, creator: Person, counts: Counted.optional() })
  .transform(({ comment: { published, published_at: at, ...comment }, creator, counts }) => ({
    ...comment,
    ...counts,
    creator,
    parentId: parentIn(comment.path),
    at: at ?? published ?? new Date(0),
  }));
export const CommentReply = z.object({ comment_view: CommentView });
/** `0.5.7` is the path of comment 7, which answers comment 5. */
const parentIn = (path: string): string | undefined => {
  const parent = path.split('.').at(-2);
  return parent === '0' ? undefined : parent;
};

const next_page = z.string().nullish();
const itemsOf = <S extends z.ZodType>(item: S) => z.object({ items: z.array(item), next_page });
export const Posts = z.union([
  z.object({ posts: z.array(PostView) }).transform(({ posts }) => posts),
  itemsOf(PostView).transform(({ items }) => items),
]);
export const Comments = z.union([
  z.object({ comments: z.array(CommentView) }).transform(({ comments }) => ({ items: comments, next_page: undefined })),
  itemsOf(CommentView),
]);

const People = z.array(z.object({ person: Person }));
export const FoundPeople = z.union([
  z.object({ users: People }).transform(({ users }) => users),
  z.object({ persons: People }).transform(({ persons }) => persons),
]);
const Community = z.object({
  id: z.number(),
  name: z.string(),
  title: z.string().nullish(),
  nsfw: z.boolean().optional(),
});
export const FoundCommunities = z.object({ communities: z.array(z.object({ community: Community })) });
export const FoundPost = z.union([
  z.object({ post: z.object({ post: z.object({ id: z.number() }) }) }).transform(({ post }) => post.post.id),
  z.object({ post: z.object({ id: z.number() }) }).transform(({ post }) => post.id),
]);
const Uploaded = z.object({ files: z.tuple([z.object({ file: z.string() })]) });
/** The address of an uploaded picture: of version 3 by its name at the server. */
export const imageAt = (service: string) =>
  z.union([
    Uploaded.transform(({ files }) => `${service}/pictrs/image/${encodeURIComponent(files[0].file)}`),
    z.object({ image_url: z.url() }).transform(({ image_url: url }) => url),
  ]);

export const postAt = (service: string, id: number): Published => ({ id: String(id), url: `${service}/post/${id}` });
export const commentAt = (service: string, id: number): Published => ({
  id: String(id),
  url: `${service}/comment/${id}`,
});
export const readComment = ({
  id,
  content,
  creator,
  at,
  parentId,
  ap_id,
  upvotes,
}: z.output<typeof CommentView>): CommentTold => ({
  id: String(id),
  text: content,
  author: {
    id: String(creator.id),
    name: creator.display_name || creator.name,
    handle: handleOf(creator),
    picture: creator.avatar,
  },
  createdAt: at,
  parentId,
  url: ap_id,
  likes: upvotes,
});
