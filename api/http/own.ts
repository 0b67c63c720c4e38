import { schedulesFreely, updatesOnlyOwn } from '../../src/people/access/index.ts';
import { AppError } from '../../src/platform/kernel/index.ts';
import type { PostAuthor } from '../../src/publishing/posts/index.ts';
import type { Principal } from './route.ts';

/** The caller as who makes or changes a post; a key, a token or an agent acts as its owner. */
export const authorOf = ({ userId, roleKey, isSuperAdmin, permissions, agent }: Principal): PostAuthor => ({
  userId,
  ...(agent !== undefined && { agent }),
  schedulesFreely: schedulesFreely(roleKey, isSuperAdmin, permissions),
});

/**
 * Refuses with 403 who may update only what they made themselves, and did not make this; `author` is asked for nobody
 * else, and undefined for a row that is not there.
 */
export async function ownOnly(
  { roleKey, isSuperAdmin, userId }: Principal,
  author: () => Promise<string | null | undefined>,
): Promise<void> {
  if (!updatesOnlyOwn(roleKey, isSuperAdmin)) return;
  const by = await author();
  if (by !== undefined && by !== userId)
    throw new AppError('forbidden', 'Your role may change only what you created yourself');
}
