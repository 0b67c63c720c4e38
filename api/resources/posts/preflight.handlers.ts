import { CreateBody, type PreflightEntry, type SentBody } from '../../../src/publishing/posts/index.ts';
import { authorOf } from '../../http/own.ts';
import { type AuthKind, type Call, routesOf } from '../../http/route.ts';
import { checkEdits } from './handlers.ts';
import { PreflightReport, presentPreflight } from './preflight.shape.ts';

const route = routesOf('posts');

/** Judges create bodies together, and refuses edits of posts that the caller may not change; an answer for each body. */
export async function judgePosts(
  call: Pick<Call<'posts'>, 'rooms' | 'principal'>,
  bodies: readonly SentBody[],
): Promise<PreflightEntry[][]> {
  const { rooms, principal } = call;
  const judged = await rooms.posts.preflightPosts(principal.orgId, bodies, authorOf(principal));
  await checkEdits(
    call,
    judged.flatMap(({ edits }) => edits),
  );
  return judged.map(({ entries }) => entries);
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
    handle: async (call) => (await judgePosts(call, [call.body])).flat(),
    present: presentPreflight,
  });
