import { AppError, invalidField, isId } from '../../../platform/kernel/index.ts';
import type { FileFacts, Issue } from '../../../providers/registry/index.ts';
import type { PostsDeps } from '../deps.ts';
import type { FilesField } from '../ports.ts';
import type { NetworkRules } from '../channels-port.ts';
import type { Recurrence } from '../recurrence.ts';
import { tooLongAgo } from '../rules.ts';
import { filesOfSettings } from '../setting-files.ts';
import { tagsOfCampaigns } from '../campaigns/store.ts';
import type { CreateBody, ElementBody } from './body.ts';
import { type ChannelSummary, findChannelSummaries } from './channels.ts';
import { contentFault, findIssues, type JudgedThread } from './faults.ts';
import { checkFollowUps, pickedIn } from './follow-ups.ts';
import { rulesOf } from './judge.ts';
import { type Existing, findExisting } from './named.ts';
import { asksRecurrence, usesProfileZone, wishedRecurrence } from './recurrence-wish.ts';
import { refusalOfEdit } from './verdict.ts';

// The judgement of create bodies. Create throws the first fault that it finds, preflight and bulk list them all.

/** One element of `posts`, judged. */
export interface JudgedElement {
  element: ElementBody;
  /** Undefined: the organization has none of that id, or its provider is not offered any more. */
  to: { channel: ChannelSummary; rules: NetworkRules } | undefined;
  /** The name of the channel, also where nothing can go there. */
  channel: ChannelSummary | undefined;
  /** The post that the element edits. */
  root: Existing | undefined;
  /** What is to go out; of a draft what would. */
  thread: JudgedThread | undefined;
  /** What the network would refuse of the thread; undefined of a draft, which is not judged before it is queued. */
  issues: Issue[] | undefined;
  /** How its posts recur, where the body says so. */
  recurrence: Recurrence | undefined;
  /** Why it cannot be stored, in the order in which create says it. */
  faults: AppError[];
}
export interface JudgedBody {
  body: CreateBody;
  elements: JudgedElement[];
  /** The posts of the organization that the body names. */
  existing: ReadonlyMap<string, Existing>;
  /** Of the campaign that it names. */
  campaignTag: string | undefined;
  now: Date;
}

type Needs = Pick<PostsDeps, 'sql' | 'clock' | 'channels' | 'media' | 'profiles'>;

/** Bodies that are judged before others get their turn in this process. */
const AT_ONCE = 20;

/** Judges create bodies of `userId`: five statements at most, however many there are. Nothing is stored. */
export async function judgeBodies(
  deps: Needs,
  orgId: string,
  bodies: readonly CreateBody[],
  userId: string,
): Promise<JudgedBody[]> {
  const { sql, clock, media, profiles } = deps;
  const elements = bodies.flatMap(({ posts }) => posts);
  const asked = elements.flatMap(({ integration, settings }) => [integration.id, ...pickedIn(settings)]);
  const ids = [...new Set(asked.filter(isId))];
  const named = bodies.flatMap(namedPosts);
  // which settings of an element name a file is known with its channel: those of any network are judged at once
  const fileSettings = [...new Set(deps.channels.preparing().fileSettings.map(({ setting }) => setting))];
  const fields = bodies.flatMap(({ posts: sent }) => sent.map((element, n) => fieldsOf(element, n, fileSettings)));
  const campaignIds = [...new Set(bodies.flatMap(({ campaignId }) => campaignId || []))];
  const [summaries, posts, files, profile, campaigns] = await Promise.all([
    ids.length === 0 ? [] : findChannelSummaries(sql, { orgId, ids }),
    named.length === 0 ? [] : findExisting(sql, orgId, named),
    judgeEach(media, orgId, fields),
    bodies.some(usesProfileZone) ? profiles.profile(userId) : undefined,
    tagsOfCampaigns(sql, orgId, campaignIds),
  ]);
  const channels = new Map(summaries.map((channel) => [channel.id, channel]));
  const existing = new Map(posts.map((one) => [one.id, one]));
  const now = clock.now();
  const judged: JudgedBody[] = [];
  let next = 0;
  for (const body of bodies) {
    if (judged.length > 0 && judged.length % AT_ONCE === 0) await clock.sleep(0);
    const campaignTag = campaigns.get(body.campaignId ?? '');
    judged.push({
      body,
      existing,
      campaignTag,
      now,
      elements: body.posts.map((element, n) =>
        judgeElement(deps, {
          body,
          element,
          at: `posts.${n}`,
          channels,
          channel: channels.get(element.integration.id),
          root: existing.get(element.value[0]!.id ?? ''),
          files: files[next++]!,
          profileZone: profile?.timezone ?? 'UTC',
          campaignTag,
          now,
        }),
      ),
    });
  }
  return judged;
}

/** The fields of an element that name files: the media of each item, then the settings. */
interface ElementFields<F> {
  media: F[];
  settings: { setting: string; field: F }[];
}
type JudgedFiles = readonly { facts: FileFacts | undefined; fault: AppError | undefined }[];

const fieldsOf = (
  { value, settings }: ElementBody,
  n: number,
  fileSettings: readonly string[],
): ElementFields<FilesField> => ({
  media: value.map(({ image }, index) => ({ at: `posts.${n}.value.${index}.image`, items: image })),
  settings: filesOfSettings(fileSettings, settings).map(({ setting, item }) => ({
    setting,
    field: { at: `posts.${n}.settings.${setting}`, items: [item], isOne: true },
  })),
});

/** Judges the files of all elements in one statement. */
async function judgeEach(
  media: PostsDeps['media'],
  orgId: string,
  elements: readonly ElementFields<FilesField>[],
): Promise<ElementFields<JudgedFiles>[]> {
  const fields = elements.flatMap((one) => [...one.media, ...one.settings.map(({ field }) => field)]);
  const judged = fields.some(({ items }) => items.length > 0) ? await media.judgeFiles(orgId, fields) : [];
  let next = 0;
  return elements.map((one) => ({
    media: one.media.map(() => judged[next++] ?? []),
    settings: one.settings.map(({ setting }) => ({ setting, field: judged[next++] ?? [] })),
  }));
}

/** The ids of a body that may name posts. */
const namedPosts = (body: CreateBody): string[] =>
  body.posts.flatMap(({ value }) => value.flatMap(({ id }) => (id !== undefined && isId(id) ? [id] : [])));

interface Given {
  body: CreateBody;
  element: ElementBody;
  /** Its field. */
  at: string;
  /** Those that the bodies name. */
  channels: ReadonlyMap<string, ChannelSummary>;
  channel: ChannelSummary | undefined;
  root: Existing | undefined;
  files: ElementFields<JudgedFiles>;
  profileZone: string;
  campaignTag: string | undefined;
  now: Date;
}

function judgeElement(deps: Needs, given: Given): JudgedElement {
  const { body, element, at, channels, channel, root, files } = given;
  const faults = [...checkCampaign(given), ...checkDates(given), ...checkChannel(given)];
  const wish = recurrenceOrFault(given);
  const recurrence = wish instanceof AppError ? undefined : wish;
  if (wish instanceof AppError) faults.push(wish);
  const rules = channel && rulesOrFault(deps, channel);
  if (rules instanceof AppError) faults.push(rules);
  if (!channel || !rules || rules instanceof AppError)
    return { element, to: undefined, channel, root, thread: undefined, issues: undefined, recurrence, faults };
  const thread: JudgedThread = {
    rules,
    channel,
    settings: element.settings,
    settingsAt: `${at}.settings`,
    items: element.value.map(({ content }, index) => ({
      content,
      files: files.media[index]!.map(({ facts }) => facts),
      at: `${at}.value.${index}.`,
      isLater: index > 0,
    })),
  };
  const issues = isQueued(body, root) ? findIssues(thread) : undefined;
  const settings = settingsFault(deps, thread, channels);
  const content = issues && contentFault(thread, issues);
  const named = files.settings.flatMap(({ setting, field }) =>
    !settings && rules.fileSettings?.includes(setting) ? [field] : [],
  );
  faults.push(
    ...(settings ? [settings] : []),
    ...checkRoot(given),
    ...(content ? [content] : []),
    ...[...files.media, ...named].flat().flatMap(({ fault }) => fault ?? []),
  );
  return { element, to: { channel, rules }, channel, root, thread, issues, recurrence, faults };
}

function recurrenceOrFault({ body, root, profileZone, now }: Given): Recurrence | AppError | undefined {
  if (!asksRecurrence(body)) return undefined;
  const at = body.type === 'now' ? now : (body.date ?? root?.publishDate ?? now);
  try {
    return wishedRecurrence(body, { at, local: at === body.date ? body.local : undefined }, profileZone);
  } catch (error) {
    return refusal(error);
  }
}

/** Whether the posts of an element are to be published, and have to be held against their network. */
export const isQueued = ({ type }: CreateBody, root: Existing | undefined): boolean =>
  type === 'schedule' ||
  type === 'now' ||
  (type === 'update' && (root?.state !== 'DRAFT' || root.detail === 'awaiting_approval'));

/** A campaign is named once, for all elements. */
function* checkCampaign({ body: { campaignId }, at, campaignTag }: Given): Generator<AppError> {
  if (at === 'posts.0' && campaignId && campaignTag === undefined)
    yield invalidField('campaignId', 'names no campaign of this organization', 'unknown_id');
}

function* checkDates({ body: { type, date }, root, now }: Given): Generator<AppError> {
  if (date && (type === 'schedule' || (type === 'update' && root?.state === 'QUEUE'))) {
    const fault = dateFault(date, now);
    if (fault) yield fault;
  }
}

function* checkChannel({ body: { type }, at, channel }: Given): Generator<AppError> {
  const field = `${at}.integration.id`;
  if (!channel)
    yield new AppError('invalid_request', 'Integration not found', {
      errors: [{ field, message: 'Integration not found', rule: 'unknown_id' }],
    });
  else if (channel.disabled && (type === 'schedule' || type === 'now'))
    yield new AppError('invalid_request', `Integration is disabled: ${channel.name}`, {
      errors: [{ field, message: 'Integration is disabled', rule: 'disabled' }],
    });
}

function rulesOrFault(deps: Needs, channel: ChannelSummary): NetworkRules | AppError {
  try {
    return rulesOf(deps, channel);
  } catch (error) {
    return refusal(error);
  }
}

function settingsFault(
  deps: Needs,
  { rules, settings, settingsAt }: JudgedThread,
  channels: ReadonlyMap<string, ChannelSummary>,
): AppError | undefined {
  try {
    rules.checkSettings(settings, settingsAt);
    checkFollowUps(settings, settingsAt, rules, { channels, rulesOf: deps.channels.rules });
    return undefined;
  } catch (error) {
    return refusal(error);
  }
}
function refusal(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

/** What keeps the element from editing the post that it names. */
function* checkRoot({ body: { type, date }, element, at, root }: Given): Generator<AppError> {
  const field = `${at}.value.0.id`;
  if (!root) {
    if (type === 'update') yield invalidField(field, 'names no post of this organization', 'unknown_id');
    return;
  }
  if (root.rootPostId !== null)
    yield invalidField(field, 'names an item inside a thread, not its first post', 'unknown_id');
  if (root.channelId !== element.integration.id)
    yield invalidField(`${at}.integration.id`, 'the post belongs to another channel', 'other_channel');
  const refused = verdictOf(root, type !== 'update' || date !== undefined);
  if (refused) yield refusalOfEdit(refused, field);
}

/** What a change would be refused for as the post is now; the change looks again under its locks. */
function verdictOf(
  { state, detail, isInFlight }: Existing,
  isMoved: boolean,
): 'published' | 'in_flight' | 'undecided' | undefined {
  if (state === 'PUBLISHED') return 'published';
  if (isInFlight) return 'in_flight';
  return state === 'ERROR' && detail === 'unconfirmed' && isMoved ? 'undecided' : undefined;
}

/** 400 for a date that is too long ago to be meant (S104). */
export const dateFault = (date: Date, now: Date, field = 'date'): AppError | undefined =>
  tooLongAgo(date, now)
    ? new AppError('date_in_past', 'The date is more than a day ago', {
        errors: [{ field, message: 'is more than a day ago', rule: 'date' }],
      })
    : undefined;
