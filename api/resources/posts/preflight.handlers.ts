import { CreateBody, type PreflightEntry, type SentBody } from '../../../src/publishing/posts/index.ts';
import { authorOf } from '../../http/own.ts';
import { type AuthKind, type Call, routesOf } from '../../http/route.ts';
import { checkEdits } from './handlers.ts';
import { PreflightReport, presentPreflight } from './preflight.shape.ts';

const route = routesOf('posts');

/** Judges a create body, and refuses edits of posts that the caller may not change. */
export async function judgePosts(
  call: Pick<Call<'posts'>, 'rooms' | 'principal'>,
  body: SentBody,
): Promise<PreflightEntry[]> {
  const { rooms, principal } = call;
  const { entries, edits } = await rooms.posts.preflightPosts(principal.orgId, body, authorOf(principal));
  await checkEdits(call, edits);
  return entries;
}

/** Judges what create would be sent; every path of it is the same. */
export const preflightRoute = <const Path extends `/${string}`>(path: Path, auth: readonly [AuthKind, ...AuthKind[]]) =>
  route({
    method: 'post',
    path,
    summary: 'Check posts before they are created',
    description:
      'Takes the body of create, stores nothing and calls no network. An entry that is valid is accepted by create.',
    auth,
    impersonation: 'allowed',
    permission: 'posts:create',
    body: CreateBody,
    answer: PreflightReport,
    handle: (call) => judgePosts(call, call.body),
    present: presentPreflight,
  });
