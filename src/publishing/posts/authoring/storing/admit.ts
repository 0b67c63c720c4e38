import type { PostQuota } from '../../../../entitlements/index.ts';
import { asCallerError, type Sql } from '../../../../platform/db/index.ts';
import type { PostsDeps } from '../../deps.ts';
import type { Admitted, Create } from '../input.ts';

/**
 * Stores creates in one commit with those of other organizations; each whole or not at all, and with a `quota` only
 * while that holds.
 */
export const admitPosts = (
  { admit, events, log }: Pick<PostsDeps, 'admit' | 'events' | 'log'>,
  orgId: string,
  creates: readonly Create[],
  quota?: PostQuota,
): Promise<readonly Admitted[]> =>
  Promise.all(
    creates.map((create) =>
      admit({ orgId, create, quota }).then(
        (admitted) => {
          if (!admitted.refused && !admitted.stale && create.posts.length > 0)
            events?.postsCreated({ orgId, posts: create.posts.length });
          return admitted;
        },
        (error: unknown) => {
          const refused = asCallerError(error);
          if (refused.code === 'internal')
            log.error({ err: error, orgId }, 'storing a create failed, the others are stored without it');
          return { refused };
        },
      ),
    ),
  );

/**
 * Those of the posts that are there, deleted or not. Each is looked up by its key: the planner would rather read all
 * posts of the org.
 */
export async function findKnownPosts(
  { sql }: { sql: Sql },
  orgId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await sql<{ id: string }[]>`
    select wanted.id
    from unnest(${[...ids]}::uuid[]) as wanted (id)
    where (select p.org_id from posts p where p.id = wanted.id) = ${orgId}`;
  return new Set(rows.map(({ id }) => id));
}
