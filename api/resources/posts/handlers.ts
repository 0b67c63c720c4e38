import { z } from 'zod';
import { organizationActor } from '../../../actors/organization/contract.ts';
import { postActor } from '../../../actors/post/contract.ts';
import type { Actors } from '../../../src/platform/actor-runtime/index.ts';
import { AppError, invalidField, isId, tenantKey } from '../../../src/platform/kernel/index.ts';
import {
  type BriefPost,
  CreateBody,
  EditBody,
  type ListFilter,
  type ListPart,
  type NewPost,
  type Place,
  type PostRow,
  PostSettings,
  type SentBody,
} from '../../../src/publishing/posts/index.ts';
import { authorOf, ownOnly } from '../../http/own.ts';
import { requirePermission } from '../../http/permit.ts';
import { countedPosts } from '../../http/program.ts';
import { type AuthKind, type Call, routesOf } from '../../http/route.ts';
import { presentTimeline, Range, State, Timeline } from './shape.ts';

const route = routesOf('clock', 'posts');

// The posts of the console and of the public API differ in path, credential and shape; what they do is declared once.

const MINUTE = 60_000;
const DAY = 86_400_000;
export interface Listed<Post = PostRow> {
  posts: readonly Post[];
  nextCursor?: string | null;
}
type ListCall = Call<'posts' | 'clock', undefined, z.output<typeof Range>>;
/** Names a place in a list, as `cursor` takes it. */
export const cursorOf = ({ at, seq }: Place): string => `${at}_${seq}`;
/** The posts of a range, or a part of them. */
export const listPosts = (call: ListCall): Promise<Listed> => listBy(call.rooms.posts.listPosts, call);
/** The same with less of each. */
export const listBriefly = (call: ListCall): Promise<Listed<BriefPost & Place>> =>
  listBy(call.rooms.posts.listBriefly, call);

async function listBy<Post>(
  list: (orgId: string, filter: ListFilter) => Promise<ListPart<Post>>,
  { rooms, principal, query }: ListCall,
): Promise<Listed<Post>> {
  const isPart = !isWholeList({ query });
  const { posts, next } = await list(principal.orgId, {
    ...rangeOf(query, rooms.clock.now()),
    ...(isPart && { limit: query.limit ?? 1_000, after: query.cursor }),
  });
  return { posts, ...(isPart && { nextCursor: next ? cursorOf(next) : null }) };
}
/** Neither a part of a range is asked for nor what follows one. */
export const isWholeList = ({ query }: { query: Pick<z.output<typeof Range>, 'limit' | 'cursor'> }): boolean =>
  query.limit === undefined && query.cursor === undefined;
/** A range without dates moves with the clock, a minute at a time, so that a list can be the same twice. */
export function revisionOfList({ rooms, query }: ListCall): string {
  const { from, to } = rangeOf(query, rooms.clock.now());
  return `${from.toISOString()} ${to.toISOString()}`;
}
function rangeOf({ startDate, endDate, customer, state }: z.output<typeof Range>, at: Date) {
  const now = new Date(Math.floor(at.getTime() / MINUTE) * MINUTE);
  const from = startDate ?? new Date((endDate ?? now).getTime() - 30 * DAY);
  const to = endDate ?? new Date((startDate ?? now).getTime() + 30 * DAY);
  if (to < from) throw invalidField('endDate', 'must not be before startDate', 'too_small');
  if (to.getTime() - from.getTime() > 400 * DAY)
    throw invalidField('endDate', 'must be at most 400 days after startDate', 'too_long');
  if (state !== undefined && state !== '' && !State.safeParse(state).success)
    throw invalidField('state', 'must be one of QUEUE, PUBLISHED, ERROR, DRAFT', 'invalid_value');
  return { from, to, ...(customer && { customerId: customer }), ...(state && { state }) };
}

/** The actor of a post. */
export const postOf = (actors: Actors, orgId: string, postId: string) => actors(postActor, tenantKey(orgId, postId));
/** A post to be updated by whoever asks. */
export async function updatable(
  { rooms, actors, principal }: Pick<Call<'posts'>, 'rooms' | 'actors' | 'principal'>,
  postId: string,
) {
  await ownOnly(principal, () => rooms.posts.findAuthor(principal.orgId, postId));
  return postOf(actors, principal.orgId, postId);
}
export type OfPost<B> = Call<'posts', B, undefined, { id: string }>;

/** Refuses with 403 who may not edit these posts, which a body names beside new ones. */
export async function checkEdits(
  { rooms, principal }: Pick<Call<'posts'>, 'rooms' | 'principal'>,
  postIds: readonly string[],
): Promise<void> {
  if (postIds.length > 0) requirePermission(principal, 'posts:update');
  await Promise.all(postIds.map((postId) => ownOnly(principal, () => rooms.posts.findAuthor(principal.orgId, postId))));
}

/** A body of the type `update` makes no post: each element names one. */
async function createPosts(call: Call<'posts', SentBody>) {
  requirePermission(call.principal, call.body.type === 'update' ? 'posts:update' : 'posts:create');
  return admitBodies(call, [call.body]);
}

/**
 * Judges create bodies, and has their posts and their edits of posts that they name admitted as one act. `refused`
 * words the refusal of the body at that place, `made` says more of the posts than the bodies do.
 */
export async function admitBodies(
  call: Pick<Call<'posts'>, 'rooms' | 'actors' | 'principal' | 'idempotency'>,
  bodies: readonly SentBody[],
  {
    refused = (error) => error,
    made = (posts) => posts,
  }: { refused?: (error: unknown, n: number) => unknown; made?: (posts: NewPost[]) => NewPost[] } = {},
): Promise<{ postId: string; integration: string }[]> {
  const { rooms, actors, idempotency, principal } = call;
  const { orgId } = principal;
  const by = authorOf(principal);
  const composed: Awaited<ReturnType<typeof rooms.posts.prepareCreate>>[] = [];
  for (const [n, body] of bodies.entries())
    composed.push(
      await rooms.posts.prepareCreate(orgId, body, by.userId).catch((error: unknown) => {
        throw refused(error, n);
      }),
    );
  const composedPosts = composed.flatMap((one) => one.posts);
  const posts = made(composedPosts);
  const ids = new Map(composedPosts.map(({ id }, n) => [id, posts[n]!.id]));
  const edits = composed.flatMap((one) => one.edits);
  const reply = composed
    .flatMap((one) => one.reply)
    .map(({ postId, integration }) => ({ postId: ids.get(postId) ?? postId, integration }));
  await checkEdits(
    call,
    edits.map(({ postId }) => postId),
  );
  await actors(organizationActor, orgId).admit({
    posts,
    ...(edits.length > 0 && { edits: edits.map(({ postId, change }) => ({ postId, change: { ...change, by } })) }),
    createdBy: by.userId,
    schedulesFreely: by.schedulesFreely,
    ...countedPosts(principal),
    ...(idempotency && {
      idempotency: {
        scope: idempotency.scope,
        key: idempotency.key,
        claim: idempotency.claim,
        status: 201,
        reply: JSON.stringify(reply),
      },
    }),
  });
  return reply;
}

/** `If-Match: "<version>"` as a number; absent or `*`: any version. */
function versionOf(header: string | undefined): number | undefined {
  if (header === undefined || header.trim() === '*') return undefined;
  const version = /^(?:W\/)?"?(\d{1,9})"?$/.exec(header.trim())?.[1];
  if (version === undefined)
    throw invalidField('if-match', 'must be the version of the post in quotes', 'invalid_format');
  return Number(version);
}
/** Edits a post; `merge` keeps settings that are not named. */
export async function applyEdit(call: OfPost<EditBody>, merge: boolean): Promise<PostRow[]> {
  const { rooms, body, request } = call;
  const [orgId, postId] = [call.principal.orgId, call.params.id];
  const post = await updatable(call, postId);
  const change = await rooms.posts.prepareEdit(orgId, postId, body, {
    userId: call.principal.userId,
    merge,
    version: versionOf(request.headers['if-match']),
  });
  await post.edit({ ...change, by: authorOf(call.principal) });
  return rooms.posts.getPost(orgId, postId);
}
const Reply = z.array(z.strictObject({ postId: z.string(), integration: z.string() }));
const Group = z.object({ group: z.string().min(1).max(255) });

interface Dialect<One extends z.ZodType> {
  prefix: '' | '/public/v1';
  auth: readonly [AuthKind, ...AuthKind[]];
  /** One post with its thread. */
  one: One;
  present: (rows: readonly PostRow[]) => z.input<One>;
}

/** The routes of both dialects. */
export const postRoutes = <One extends z.ZodType>(dialect: Dialect<One>) => [
  ...contentRoutes(dialect),
  ...removalRoutes(dialect),
  ...stateRoutes(dialect),
  ...outcomeRoutes(dialect),
];

const contentRoutes = <One extends z.ZodType>({ prefix, auth, one, present }: Dialect<One>) => [
  route({
    method: 'post',
    path: `${prefix}/posts`,
    summary: 'Create or edit posts',
    description:
      'Creates posts for several channels at once, and edits those that the body names. Needs the permission posts:create; with the type `update`, which makes no post, posts:update.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:create',
    orPermission: 'posts:update',
    planLimit: 'posts_per_month',
    idempotent: true,
    creates: true,
    body: CreateBody,
    answer: Reply,
    handle: createPosts,
    present: (reply) => reply,
  }),
  route({
    method: 'get',
    path: `${prefix}/posts/:id`,
    summary: 'Get a post with its thread',
    auth,
    permission: 'posts:read',
    answer: one,
    handle: ({ rooms, principal, params }) => rooms.posts.getPost(principal.orgId, params.id),
    present,
  }),
  ...(['put', 'patch'] as const).map((method) =>
    route({
      method,
      path: `${prefix}/posts/:id`,
      summary: `Edit an unpublished post and ${method === 'put' ? 'replace' : 'merge'} its settings`,
      auth,
      impersonation: 'allowed',
      permission: 'posts:update',
      body: EditBody,
      answer: one,
      handle: (call) => applyEdit(call, method === 'patch'),
      present,
    }),
  ),
];

/** Deletes a post with what follows it in its thread. */
export const cancelPost = ({ actors, principal }: Pick<Call<never>, 'actors' | 'principal'>, postId: string) =>
  postOf(actors, principal.orgId, postId).cancel({ by: authorOf(principal) });

const removalRoutes = ({ prefix, auth }: Pick<Dialect<z.ZodType>, 'prefix' | 'auth'>) => [
  route({
    method: 'delete',
    path: `${prefix}/posts/:id`,
    summary: 'Delete a post or group',
    description: 'A post goes with its thread; nothing of it is published any more.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:delete',
    params: z.object({ id: z.string().min(1).max(255) }),
    answer: z.strictObject({ id: z.string() }),
    async handle({ rooms, actors, principal, params: { id } }) {
      const { orgId } = principal;
      const known =
        isId(id) &&
        (await rooms.posts.getPost(orgId, id).then(
          () => true,
          (error: unknown) => {
            if (error instanceof AppError && error.code === 'not_found') return false;
            throw error;
          },
        ));
      if (known) await cancelPost({ actors, principal }, id);
      else await actors(organizationActor, orgId).removeGroup({ group: id });
      return { id };
    },
    present: (removed) => removed,
  }),
  route({
    method: 'delete',
    path: `${prefix}/posts/group/:group`,
    summary: 'Delete all posts of a group',
    auth,
    impersonation: 'allowed',
    permission: 'posts:delete',
    params: Group,
    answer: z.strictObject({ id: z.string(), deleted: z.int().optional() }),
    async handle({ actors, principal: { orgId }, params: { group } }) {
      return { id: group, ...(await actors(organizationActor, orgId).removeGroup({ group })) };
    },
    present: ({ id, deleted }) => ({ id, ...(prefix === '' && { deleted }) }),
  }),
];

/** Queues a draft, or takes a post out of the queue. */
export async function changeStatus(call: OfPost<{ status: 'draft' | 'schedule' }>) {
  const post = await updatable(call, call.params.id);
  const { state } = await post.setStatus({ ...call.body, by: authorOf(call.principal) });
  return { id: call.params.id, state: State.parse(state) };
}

/** Merges settings into those of a post. */
export async function mergeSettings(call: OfPost<{ settings: z.output<typeof PostSettings> }>) {
  const post = await updatable(call, call.params.id);
  const { orgId, userId } = call.principal;
  const change = await call.rooms.posts.prepareEdit(orgId, call.params.id, call.body, { userId, merge: true });
  const { publishDate } = await post.edit({ ...change, by: authorOf(call.principal) });
  return { postId: call.params.id, publishDate };
}
export const presentMerged = ({ postId, publishDate }: { postId: string; publishDate: Date }) => ({
  postId,
  publishDate: publishDate.toISOString(),
});

const stateRoutes = ({ prefix, auth }: Pick<Dialect<z.ZodType>, 'prefix' | 'auth'>) => [
  route({
    method: 'put',
    path: `${prefix}/posts/:id/status`,
    summary: 'Queue a draft or unqueue a post',
    auth,
    impersonation: 'allowed',
    permission: 'posts:update',
    body: z.strictObject({ status: z.enum(['draft', 'schedule']) }),
    answer: z.strictObject({ id: z.string(), state: State }),
    handle: changeStatus,
    present: (changed) => changed,
  }),
  route({
    method: 'put',
    path: `${prefix}/posts/:id/settings`,
    summary: 'Merge settings into those of a post',
    auth,
    impersonation: 'allowed',
    permission: 'posts:update',
    body: z.strictObject({ settings: PostSettings }),
    answer: z.strictObject({ postId: z.string(), publishDate: z.string() }),
    handle: mergeSettings,
    present: presentMerged,
  }),
];

/** What became of a post at its network, and what a person may do about it. */
const outcomeRoutes = <One extends z.ZodType>({ prefix, auth, one, present }: Dialect<One>) => [
  route({
    method: 'get',
    path: `${prefix}/posts/:id/timeline`,
    summary: 'Get the timeline of a post',
    description: 'What happened to it and why, and what the webhooks answered that were told of it.',
    auth,
    permission: 'posts:read',
    answer: Timeline,
    handle: ({ rooms, principal, params }) => rooms.posts.getTimeline(principal.orgId, params.id),
    present: presentTimeline,
  }),
  route({
    method: 'post',
    path: `${prefix}/posts/:id/retry`,
    summary: 'Retry a failed post',
    description: 'One whose answer was lost only with `confirm`.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:update',
    body: z.strictObject({ confirm: z.boolean().optional() }),
    answer: one,
    async handle(call) {
      await (
        await updatable(call, call.params.id)
      ).retry({
        confirm: call.body.confirm ?? false,
        by: authorOf(call.principal),
      });
      return call.rooms.posts.getPost(call.principal.orgId, call.params.id);
    },
    present,
  }),
  route({
    method: 'get',
    path: `${prefix}/posts/:id/missing`,
    summary: 'Find matching posts on the network',
    description: 'Those that may be this one, when its answer was lost.',
    auth,
    permission: 'posts:read',
    answer: z.array(z.strictObject({ id: z.string(), url: z.string() })),
    handle: ({ rooms, principal, params }) => rooms.posts.findMissing(principal.orgId, params.id),
    present: (found) => [...found],
  }),
  route({
    method: 'put',
    path: `${prefix}/posts/:id/release-id`,
    summary: 'Set the published id of a post',
    description: 'Names the post of the network that this one is.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:update',
    body: z.strictObject({ releaseId: z.string().trim().min(1).max(2_000) }),
    answer: z.strictObject({ id: z.string(), releaseId: z.string() }),
    async handle(call) {
      const { releaseId } = call.body;
      await (await updatable(call, call.params.id)).setRelease({ releaseId, by: authorOf(call.principal) });
      return { id: call.params.id, releaseId };
    },
    present: (named) => named,
  }),
];
