import { AppError } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import type { NetworkRules } from '../ports.ts';
import { getPost } from '../reading/find.ts';
import { type ChannelSummary, findChannelSummaries } from './channels.ts';
import { judgeContent } from './compose.ts';

/** The channel that a post goes to, for judging what is to go there. */
export async function channelOf(
  { sql }: Pick<PostsDeps, 'sql'>,
  orgId: string,
  channelId: string,
): Promise<ChannelSummary> {
  const [channel] = await findChannelSummaries(sql, { orgId, ids: [channelId] });
  if (!channel) throw new AppError('invalid_request', 'Integration not found');
  return channel;
}

export const rulesOf = (
  { channels }: Pick<PostsDeps, 'channels'>,
  { providerId, providerVersion, serverLimits }: ChannelSummary,
): NetworkRules => channels.rules(providerId, providerVersion, serverLimits);

/** Holds a thread as it is stored against the limits of its network. */
export async function judgeStored(
  deps: Pick<PostsDeps, 'sql' | 'channels' | 'media'>,
  orgId: string,
  postId: string,
): Promise<void> {
  const rows = await getPost(deps, orgId, postId);
  const channel = await channelOf(deps, orgId, rows[0]!.channelId);
  const { settings } = rows[0]!;
  const items = rows.map((row, n) => ({
    ...row,
    at: n === 0 ? '' : `thread.${n - 1}.`,
    isLater: row.rootPostId !== null,
  }));
  await judgeContent(deps, orgId, [
    { rules: rulesOf(deps, channel), channel, settings, settingsAt: 'settings', items },
  ]);
}
