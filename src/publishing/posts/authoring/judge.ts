import { AppError, invalidField } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import type { NetworkRules } from '../channels-port.ts';
import { getPost } from '../reading/find.ts';
import type { PostRow } from '../reading/row.ts';
import type { PostMedia } from '../row.ts';
import { filesOfSettings } from '../setting-files.ts';
import { type ChannelSummary, findChannelSummaries } from './channels.ts';
import { contentFault, findIssues, type JudgedThread } from './faults.ts';
import type { PostChange } from './input.ts';

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
  deps: { media: Pick<PostsDeps['media'], 'facts'> },
  orgId: string,
  thread: UnjudgedThread,
): Promise<void> {
  const lists = thread.items.map(({ media }) => media);
  checkContent(thread, await findFacts(deps, orgId, lists));
}

type Facts = Awaited<ReturnType<PostsDeps['media']['facts']>>;
const findFacts = async (
  { media }: { media: Pick<PostsDeps['media'], 'facts'> },
  orgId: string,
  lists: readonly (readonly PostMedia[])[],
): Promise<Facts> => (lists.some((list) => list.length > 0) ? media.facts(orgId, lists) : []);

function checkContent({ items, ...of }: UnjudgedThread, facts: Facts): void {
  const files = (n: number) => (facts[n] ?? []).map((one) => one ?? undefined);
  const thread = { ...of, items: items.map((item, n) => ({ ...item, files: files(n) })) };
  const fault = contentFault(thread, findIssues(thread));
  if (fault) throw fault;
}

type Item = Pick<PostRow, 'content' | 'media'>;

/** The items of a thread, or one of them alone, as a change of the first of `rows` leaves them. */
export const itemsAfter = (
  [first, ...others]: readonly PostRow[],
  { content, media, thread }: { [K in keyof Item]?: Item[K] | undefined } & { thread?: readonly Item[] | undefined },
): UnjudgedThread['items'] =>
  [{ content: content ?? first!.content, media: media ?? first!.media }, ...(thread ?? others)].map((item, n) => ({
    content: item.content,
    media: item.media,
    at: n === 0 ? '' : `thread.${n - 1}.`,
    isLater: n > 0 || first!.rootPostId !== null,
  }));

/** Posts as they were judged: the version of each. */
export type JudgedVersions = Readonly<Record<string, number>>;

/**
 * Holds a thread as it is stored, and as `change` would leave it, against the limits of its network. Its files may have
 * been deleted since it was stored: 400 for one that cannot be published any more. Items that are out are not judged.
 * Answers which versions were judged.
 */
export async function judgeStored(
  deps: Pick<PostsDeps, 'sql' | 'channels' | 'media'>,
  orgId: string,
  postId: string,
  change: Pick<PostChange, 'content' | 'media' | 'settings' | 'thread'> = {},
): Promise<JudgedVersions> {
  const rows = await getPost(deps, orgId, postId);
  const { channelId, settings: stored } = rows[0]!;
  const channel = await channelOf(deps, orgId, channelId);
  const { values, merge } = change.settings ?? { values: {}, merge: true };
  const settings = { ...(merge && stored), ...values };
  // limits of today, or a file that is gone, are no reason to stop what is behind an item that is out
  const isRootOut = rows[0]!.state === 'PUBLISHED';
  const items = itemsAfter(rows, change).filter((_, n) => rows[n]?.state !== 'PUBLISHED');
  const rules = rulesOf(deps, channel);
  const named = isRootOut ? [] : filesOfSettings(rules.fileSettings, settings);
  const fields = [
    ...items.map(({ at, media }) => ({ fieldOf: (n: number) => `${at}image.${n}.path`, media })),
    ...named.map(({ setting, item }) => ({ fieldOf: () => `settings.${setting}`, media: [item] })),
  ];
  const facts = await findFacts(
    deps,
    orgId,
    fields.map(({ media }) => media),
  );
  const gone = fields.flatMap(({ fieldOf }, n) =>
    (facts[n] ?? []).flatMap((one, index) => (one === null ? [fieldOf(index)] : [])),
  );
  if (gone[0] !== undefined) throw invalidField(gone[0], 'this file is no longer in the library');
  checkContent({ rules, channel, settings, settingsAt: 'settings', items, isRootOut }, facts);
  return Object.fromEntries(rows.map(({ id, version }) => [id, version]));
}
