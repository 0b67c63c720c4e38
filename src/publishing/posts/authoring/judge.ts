import { AppError } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import type { NetworkRules } from '../ports.ts';
import { getPost } from '../reading/find.ts';
import type { PostMedia } from '../row.ts';
import { type ChannelSummary, findChannelSummaries } from './channels.ts';
import { contentFault, findIssues, type JudgedThread } from './faults.ts';

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

/** A thread whose files have still to be looked at. */
export interface UnjudgedThread extends Omit<JudgedThread, 'items'> {
  items: readonly (Omit<JudgedThread['items'][number], 'files'> & { media: readonly PostMedia[] })[];
}

/** 400 `invalid_content` for what the network would refuse of a thread (S108), naming every field. */
export async function judgeThread(
  { media }: { media: Pick<PostsDeps['media'], 'facts'> },
  orgId: string,
  { items, ...of }: UnjudgedThread,
): Promise<void> {
  const lists = items.map((item) => item.media);
  const facts = lists.some((list) => list.length > 0) ? await media.facts(orgId, lists) : [];
  const thread = { ...of, items: items.map((item, n) => ({ ...item, files: facts[n] ?? [] })) };
  const fault = contentFault(thread, findIssues(thread));
  if (fault) throw fault;
}

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
    content: row.content,
    media: row.media,
    at: n === 0 ? '' : `thread.${n - 1}.`,
    isLater: row.rootPostId !== null,
  }));
  await judgeThread(deps, orgId, { rules: rulesOf(deps, channel), channel, settings, settingsAt: 'settings', items });
}
