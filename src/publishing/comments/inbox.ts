import { atMost } from '../../platform/flow/index.ts';
import { AppError, invalidField, isId, pageOf, ProviderError, type RowPage } from '../../platform/kernel/index.ts';
import type { SocialAdapter } from '../../providers/registry/index.ts';
import { type CommentsDeps, unknownComment } from './deps.ts';
import { hastenSweep } from './due-store.ts';
import {
  type CommentFilter,
  type CommentRow,
  findRow,
  type FoundRow,
  listRows,
  oldComments,
  updateRow,
} from './inbox-store.ts';
import { isRead, readingOf } from './rules.ts';

/** How long somebody waits for a network that hides a comment. */
const ANSWER_MS = 20_000;

/** Finds a comment, or throws 404. */
export async function getComment({ sql }: Pick<CommentsDeps, 'sql'>, orgId: string, id: string): Promise<FoundRow> {
  const row = isId(id) ? await findRow(sql, orgId, id) : undefined;
  if (!row) throw unknownComment();
  return row;
}

/** What somebody looks for, and the place of a page. */
export interface CommentsQuery {
  integrationId?: string | undefined;
  postId?: string | undefined;
  unanswered?: boolean | undefined;
  limit: number;
  cursor?: string | undefined;
}

/**
 * Lists comments below the posts of an organization, newest first (S186).
 * @throws AppError 404 for a channel that is not there, 400 for one whose network has no comments
 */
export async function listComments(
  deps: Pick<CommentsDeps, 'sql' | 'channels'>,
  orgId: string,
  { integrationId, postId, unanswered, limit, cursor }: CommentsQuery,
): Promise<RowPage<CommentRow>> {
  if (integrationId !== undefined) await readableChannel(deps, orgId, integrationId);
  if (postId !== undefined && !isId(postId)) return { items: [], nextCursor: null };
  const filter: CommentFilter = { channelId: integrationId, postId, unanswered, after: cursor };
  return pageOf(await listRows(deps.sql, orgId, filter, limit + 1), limit);
}

/** A channel whose network has comments that can be read. */
async function readableChannel({ channels }: Pick<CommentsDeps, 'channels'>, orgId: string, channelId: string) {
  const { adapter, ...channel } = await channels.get(orgId, channelId);
  if (!adapter || readingOf(adapter) === 'none')
    throw invalidField('integrationId', `${titleOf(adapter)} has no comments that can be read`, 'unsupported');
  return { adapter, channel };
}
const titleOf = (adapter: SocialAdapter | undefined): string => adapter?.title ?? 'The network of this channel';

/** Has the comments of a channel read as soon as possible. */
export async function queueSync(
  deps: Pick<CommentsDeps, 'sql' | 'channels'>,
  orgId: string,
  channelId: string,
): Promise<void> {
  const { adapter, channel } = await readableChannel(deps, orgId, channelId);
  if (!isRead(adapter, channel.settings))
    throw invalidField(
      'integrationId',
      'comments of this channel are read with `syncComments: true` in its settings only',
      'off',
    );
  checkUsable(channel);
  await hastenSweep(deps.sql, orgId, channelId);
}

/** Refuses a channel that cannot call its network. */
export function checkUsable({ disabled, refreshNeeded }: { disabled: boolean; refreshNeeded: boolean }): void {
  if (disabled) throw new AppError('conflict', 'The channel is disabled');
  if (refreshNeeded) throw new AppError('conflict', 'The channel needs a new login');
}

/**
 * Sets a comment to done or not, and hides it at its network or shows it again.
 * @throws AppError 400 where the network hides nothing, 502 where it fails
 */
export async function changeComment(
  deps: Pick<CommentsDeps, 'sql' | 'clock' | 'channels'>,
  orgId: string,
  id: string,
  change: { done?: boolean | undefined; hidden?: boolean | undefined },
): Promise<CommentRow> {
  const comment = await getComment(deps, orgId, id);
  if (change.hidden !== undefined) await hide(deps, orgId, comment, change.hidden);
  await updateRow(deps.sql, orgId, id, change);
  return getComment(deps, orgId, id);
}

async function hide(
  { clock, channels }: Pick<CommentsDeps, 'clock' | 'channels'>,
  orgId: string,
  { channelId, externalId, reply }: CommentRow,
  hidden: boolean,
): Promise<void> {
  const { adapter, ...channel } = await channels.get(orgId, channelId);
  if (!adapter?.hide) throw invalidField('hidden', `${titleOf(adapter)} hides no comments`, 'unsupported');
  if (externalId === null || reply?.state === 'pending') throw new AppError('conflict', 'This reply is not published');
  checkUsable(channel);
  const isOver = await atMost(clock, ANSWER_MS, async (over) => {
    const { social } = await channels.connect(orgId, channelId, undefined, over);
    await social.hide!({ id: externalId }, hidden);
  });
  if (!isOver) throw new ProviderError('unavailable', `${adapter.title} did not answer in time`);
}

/** Forgets comments that were written long ago; answers how many. */
export const dropOldComments = ({ sql, days }: Pick<CommentsDeps, 'sql' | 'days'>, limit: number): Promise<number> =>
  oldComments.drop(sql, days, limit);
