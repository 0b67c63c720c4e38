import { AppError, invalidField } from '../../../platform/kernel/index.ts';
import { isBehindEnd, type Recurrence } from '../recurrence.ts';
import { tooLongAgo } from '../rules.ts';
import { marksOf } from '../state.ts';
import type { CreateBody, ElementBody } from './body.ts';
import type { ChannelSummary } from './channels.ts';
import type { ElementFields, JudgedFiles } from './element-files.ts';
import { type Existing, idsOfWished } from './named.ts';
import { asksRecurrence, wishedRecurrence } from './recurrence-wish.ts';
import { pastDate, REFUSALS, refusalOfEdit, seriesFault } from './verdict.ts';

// What can be wrong with an element of a create body beside what its network says of its thread.

/** An element of a body, and what it is judged by. */
export interface GivenElement {
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

/** How the posts of an element recur; undefined: the body does not say it. */
export function recurrenceOf({ body, root, profileZone, now }: GivenElement): Recurrence | undefined {
  if (!asksRecurrence(body)) return undefined;
  const at = body.type === 'now' ? now : (body.date ?? root?.publishDate ?? now);
  return wishedRecurrence(
    body,
    { at, local: at === body.date ? body.local : undefined, before: root?.recurrence },
    profileZone,
  );
}

/** A campaign is named once, for all elements. */
export function* checkCampaign({ body: { campaignId }, at, campaignTag }: GivenElement): Generator<AppError> {
  if (at === 'posts.0' && campaignId && campaignTag === undefined)
    yield invalidField('campaignId', 'names no campaign of this organization', 'unknown_id');
}

export function* checkDates({ body: { type, date }, root, now }: GivenElement): Generator<AppError> {
  if (date && (type === 'schedule' || (type === 'update' && root?.state === 'QUEUE'))) {
    const fault = dateFault(date, now);
    if (fault) yield fault;
  }
}

export function* checkChannel({ body: { type }, at, channel }: GivenElement): Generator<AppError> {
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

/** What keeps the element from editing the post that it names. */
export function* checkRoot({ body, element, at, root, campaignTag, now }: GivenElement): Generator<AppError> {
  const { type } = body;
  const date = type === 'now' ? now : body.date;
  const field = `${at}.value.0.id`;
  if (!root) {
    if (type === 'update') yield invalidField(field, 'names no post of this organization', 'unknown_id');
    return;
  }
  const first = body.posts.findIndex(({ value }) => value[0]!.id === root.id);
  if (at !== `posts.${first}`) yield invalidField(field, `names the same post as posts.${first}`, 'duplicate');
  if (root.rootPostId !== null)
    yield invalidField(field, 'names an item inside a thread, not its first post', 'unknown_id');
  if (root.channelId !== element.integration.id)
    yield invalidField(`${at}.integration.id`, 'the post belongs to another channel', 'other_channel');
  const refused = verdictOf(root, type !== 'update' || date !== undefined);
  if (refused) yield refusalOfEdit(refused, field);
  const { group = root.group } = element;
  if (leavesBrake(root, { group, tags: body.tags, campaignTag }))
    yield refusalOfEdit(
      'braked',
      group === root.group ? (body.tags.length > 0 ? 'tags' : 'campaignId') : `${at}.group`,
    );
  if (!asksRecurrence(body)) {
    if (isBehindEnd(root, date)) yield seriesFault('date');
  } else if (root.repeatedAt !== null) yield REFUSALS.repeated();
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

/** Whether another group or other tags let the post out of the brake that holds it, as the change judges it. */
function leavesBrake(
  root: Existing,
  { group, tags, campaignTag }: Pick<CreateBody, 'tags'> & { group: string; campaignTag: string | undefined },
): boolean {
  if (root.brakes === null) return false;
  const isRelabelled = tags.length > 0 || campaignTag !== undefined;
  if (!isRelabelled && group === root.group) return false;
  // only tags of campaigns stand for a brake, and a campaign takes the place of another one
  const stay = tags.length > 0 ? idsOfWished(tags, root.brakingTags ?? []) : isRelabelled ? [] : root.tagIds;
  const marks = marksOf(group, campaignTag === undefined ? stay : [...stay, campaignTag]);
  return !root.brakes.some((mark) => marks.includes(mark));
}

/** 400 for a date that is too long ago to be meant (S104). */
export const dateFault = (date: Date, now: Date, field = 'date'): AppError | undefined =>
  tooLongAgo(date, now) ? pastDate(field) : undefined;
