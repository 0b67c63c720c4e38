import type { PostsDeps } from '../../deps.ts';
import type { PostChange } from '../input.ts';
import { type JudgedVersions, judgeStored } from '../judge.ts';
import { runChange, type Seen } from '../thread.ts';
import { checkDone, pastDate } from '../verdict.ts';
import { editWithin } from './edit-statement.ts';

// What people do to posts. Final before publishing; 409 while the post is on its way, 409 `already_published` after.

export interface Changed {
  state: string;
  publishDate: Date;
}
const changedOf = ({ state, publishDate }: Seen): Changed => ({
  state: state ?? '',
  publishDate: publishDate ?? new Date(0),
});

/**
 * Changes a post that is not out and not on its way: content of the item, date and status of its whole thread.
 * @throws AppError `not_found`, `conflict`, `already_published`, `date_in_past`, `invalid_content`, `invalid_request`
 *   for a disabled channel
 */
export async function editPost(deps: PostsDeps, orgId: string, postId: string, change: PostChange): Promise<Changed> {
  const target = { orgId, postId };
  // new content was judged before it came here, unless the post was a draft then
  let judged: boolean | JudgedVersions =
    !change.unjudged && (change.content !== undefined || change.thread !== undefined);
  for (;;) {
    const found = await runChange(deps, (sql) => editWithin(deps, sql, target, change, judged));
    if (found?.verdict === 'unjudged') {
      judged = await judgeStored(deps, orgId, postId, change); // again where it is another one by then
      continue;
    }
    if (found?.verdict === 'too_old' && !change.publishDate)
      throw pastDate('status', 'of the post is more than a day ago: give it another publishDate first');
    const isLimited = found?.verdict === 'over_limit' && deps.billing.enabled;
    return changedOf(checkDone(found, isLimited ? await deps.billing.quota(orgId) : undefined));
  }
}
