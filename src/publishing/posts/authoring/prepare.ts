import { invalidField } from '../../../platform/kernel/index.ts';
import type { PostsDeps } from '../deps.ts';
import { getPost } from '../reading/find.ts';
import type { PostRow } from '../reading/row.ts';
import { isBehindEnd, type Recurrence } from '../recurrence.ts';
import type { FilesField } from '../ports.ts';
import type { NetworkRules } from '../channels-port.ts';
import { post, type PostMedia } from '../row.ts';
import { filesOfSettings } from '../setting-files.ts';
import { tagsOfCampaigns } from '../campaigns/store.ts';
import { cleanEdit, type EditBody, readBody, type SentBody } from './body.ts';
import { findChannelSummaries } from './channels.ts';
import { compose, type Composed, idsOfItems, shortensLinks, typedSettings, withTag } from './compose.ts';
import { placedSettings } from './element-files.ts';
import { dateFault } from './element-faults.ts';
import { checkFollowUps, pickedIn } from './follow-ups.ts';
import type { PostChange } from './input.ts';
import { channelOf, itemsAfter, judgeThread, rulesOf } from './judge.ts';
import { judgeBodies } from './judgement.ts';
import { tagsOf } from './named.ts';
import { asksRecurrence, usesProfileZone, wishedRecurrence } from './recurrence-wish.ts';
import { firstOf, openChecks, seriesFault } from './verdict.ts';

type Needs = Pick<PostsDeps, 'sql' | 'clock' | 'channels' | 'media' | 'profiles'>;

/** Judges a create body of `userId` whole and says what it means; makes missing tags. Nothing else is stored yet. */
export async function prepareCreate(deps: Needs, orgId: string, sent: SentBody, userId: string): Promise<Composed> {
  const [judged] = await judgeBodies(deps, orgId, [readBody(sent)], userId);
  const fault = firstOf(judged!.elements.flatMap(({ faults }) => faults));
  if (fault) throw fault;
  const [tagIds] = await tagsOf(deps, orgId, [judged!.body.tags]); // written only for a body that is accepted
  return compose(judged!, tagIds!);
}

/** Judges an edit of `userId` and says what it changes; `merge` keeps settings that are not named. */
export async function prepareEdit(
  deps: Needs,
  orgId: string,
  postId: string,
  sent: EditBody,
  { userId, merge, version }: { userId: string; merge: boolean; version?: number | undefined },
): Promise<PostChange> {
  const { inter, recurrence: rule, campaignId, ...body } = cleanEdit(sent);
  const checks = openChecks();
  const rows = await getPost(deps, orgId, postId);
  const stored = rows.find(({ id }) => id === postId)!;
  if (stored.rootPostId !== null && body.thread)
    checks.refuse(invalidField('thread', 'only the first post of a thread has one', 'not_root'));
  const wished = { inter, recurrence: rule, date: body.publishDate };
  const recurrence = await checks.settle(editedRecurrence(deps, userId, stored, wished));
  if (recurrence === undefined && isBehindEnd(stored, body.publishDate)) checks.refuse(seriesFault('publishDate'));
  const channel = await channelOf(deps, orgId, stored.channelId);
  const rules = rulesOf(deps, channel);
  const shortLinks = shortensLinks(channel, undefined);
  const settings = body.settings ? { ...(merge && stored.settings), ...body.settings } : stored.settings;
  const given = body.settings;
  if (given) {
    checks.take(() => rules.checkSettings(settings, 'settings'));
    await checks.settle(checkFollowUpsOfEdit(deps, orgId, { sent: given, settings, merge }, rules));
  }
  const { image } = body;
  const ids = new Set(rows.map(({ id }) => id));
  const itemIds = idsOfItems(
    (body.thread ?? []).map(({ id }) => ({ named: id })),
    (id) => id !== postId && ids.has(id),
  );
  const thread = body.thread?.map(({ image: media, delay, ...item }, n) => ({
    ...post.pick('item', item),
    id: itemIds[n]!,
    media,
    delayMinutes: delay,
  }));
  // a failed one, too: a retry sends what it is then
  const isJudged = ['QUEUE', 'ERROR'].includes(stored.state) || stored.detail === 'awaiting_approval';
  if (isJudged) {
    const items = itemsAfter(rows, { content: body.content, media: image, thread });
    await checks.settle(judgeThread(deps, orgId, { rules, channel, settings, settingsAt: 'settings', items }));
    const late =
      stored.state === 'QUEUE' && body.publishDate && dateFault(body.publishDate, deps.clock.now(), 'publishDate');
    if (late) checks.refuse(late);
  }
  const fresh = image?.filter((one) => !stored.media.some((old) => isSame(old, one))) ?? [];
  const freshSettings = freshSettingFiles(rules, stored.settings, settings);
  const judged = await deps.media.judgeFiles(orgId, [
    { at: 'image', items: fresh.length > 0 ? image! : [] },
    ...(thread ?? []).map((item, n) => ({ at: `thread.${n}.image`, items: item.media })),
    ...freshSettings.map(({ field }) => field),
  ]);
  checks.refuse(...judged.flat().flatMap(({ fault }) => fault ?? []));
  const campaignTag = await checks.settle(editedCampaign(deps, orgId, campaignId));
  checks.end();
  const paths = judged.map((files) => files.map(({ path }) => path));
  const placedFiles = freshSettings.map(({ setting }, n) => ({ setting, field: judged.at(n - freshSettings.length)! }));
  return {
    ...post.pick('edit', body),
    ...post.pick('thread', body),
    ...(version !== undefined && { version }),
    ...(image && { media: placed(image, paths[0]!) }),
    ...(body.settings && {
      settings: {
        values: typedSettings({ ...body.settings, ...placedSettings(settings, placedFiles) }, channel.providerId),
        merge,
      },
    }),
    ...(shortLinks !== undefined && { shortLinks }),
    ...(await editedTags(deps, orgId, { tags: body.tags, campaignTag })),
    ...(thread && { thread: thread.map((item, n) => ({ ...item, media: placed(item.media, paths[n + 1]!) })) }),
    ...(recurrence !== undefined && { recurrence }),
    ...(!isJudged && { unjudged: true }),
  };
}

/** The tag of the campaign that an edit names; null: it takes the post out of campaigns, undefined: it says nothing. */
async function editedCampaign(
  deps: Needs,
  orgId: string,
  campaignId: EditBody['campaignId'],
): Promise<string | null | undefined> {
  if (!campaignId) return campaignId === undefined ? undefined : null;
  const [tag] = (await tagsOfCampaigns(deps.sql, orgId, [campaignId])).values();
  if (tag === undefined) throw invalidField('campaignId', 'names no campaign of this organization', 'unknown_id');
  return tag;
}

/**
 * The tags of a post after an edit: those that it names, else those that the post has then; a campaign that it names, or
 * null, takes the place of the campaigns among them.
 */
async function editedTags(
  deps: Needs,
  orgId: string,
  { tags, campaignTag }: Pick<EditBody, 'tags'> & { campaignTag: string | null | undefined },
): Promise<Pick<PostChange, 'tagIds' | 'campaignTag'>> {
  if (tags === undefined) return campaignTag === undefined ? {} : { campaignTag };
  const [named] = await tagsOf(deps, orgId, [tags]);
  return { tagIds: withTag(named!, campaignTag ?? undefined) };
}

/** An object without a rule says nothing, as in the body of create; null ends a series. */
const isEmptyRule = (recurrence: EditBody['recurrence']): boolean =>
  recurrence?.rrule === undefined && recurrence != null;

/** What an edit says of how its post recurs; null: once, undefined: nothing. */
async function editedRecurrence(
  deps: Needs,
  userId: string,
  { rootPostId, publishDate, recurrence: before }: PostRow,
  wished: Pick<EditBody, 'inter' | 'recurrence'> & { date: Date | undefined },
): Promise<Recurrence | null | undefined> {
  const { inter } = wished;
  const recurrence = isEmptyRule(wished.recurrence) ? undefined : wished.recurrence;
  if (inter === undefined && recurrence === undefined) return undefined;
  if (rootPostId !== null)
    throw invalidField(
      inter === undefined ? 'recurrence' : 'inter',
      'only the first post of a thread recurs',
      'not_root',
    );
  if (!asksRecurrence(wished)) return null;
  const zone = usesProfileZone(wished) ? (await deps.profiles.profile(userId)).timezone : 'UTC';
  return wishedRecurrence(wished, { at: wished.date ?? publishDate, before }, zone);
}

/** Of settings that are merged, what is stored already was judged when it came. */
async function checkFollowUpsOfEdit(
  deps: Needs,
  orgId: string,
  { sent, settings, merge }: Record<'sent' | 'settings', Readonly<Record<string, unknown>>> & { merge: boolean },
  rules: NetworkRules,
): Promise<void> {
  if (merge && !Object.keys(sent).some((key) => key === 'firstComment' || key.startsWith('plug--'))) return;
  const ids = pickedIn(settings);
  const picked = ids.length === 0 ? [] : await findChannelSummaries(deps.sql, { orgId, ids });
  const channels = new Map(picked.map((channel) => [channel.id, channel]));
  checkFollowUps(settings, 'settings', rules, { channels, rulesOf: deps.channels.rules });
}

/** The fields of settings that name another file than the stored ones: those were judged when they came. */
function freshSettingFiles(
  { fileSettings }: NetworkRules,
  stored: PostRow['settings'],
  settings: PostRow['settings'],
): { setting: string; field: FilesField }[] {
  const old = new Map(filesOfSettings(fileSettings, stored).map(({ setting, item }) => [setting, item]));
  return filesOfSettings(fileSettings, settings).flatMap(({ setting, item }) => {
    const before = old.get(setting);
    return before && isSame(before, item)
      ? []
      : [{ setting, field: { at: `settings.${setting}`, items: [item], isOne: true } }];
  });
}

/** Media with the paths that were judged; without any they are as they were. */
const placed = <M extends PostMedia>(media: readonly M[], paths: readonly string[]): M[] =>
  media.map((item, n) => ({ ...item, path: paths[n] ?? item.path }));

const isSame = (a: PostMedia, b: PostMedia) =>
  a.path === b.path && a.id === b.id && (a.thumbnail ?? null) === (b.thumbnail ?? null);
