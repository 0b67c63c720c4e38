import { type AppError, isId } from '../../../platform/kernel/index.ts';
import type { Issue } from '../../../providers/registry/index.ts';
import { tagsOfCampaigns } from '../campaigns/store.ts';
import type { PostsDeps } from '../deps.ts';
import type { NetworkRules } from '../channels-port.ts';
import type { Recurrence } from '../recurrence.ts';
import type { CreateBody, ElementBody } from './body.ts';
import { type ChannelSummary, findChannelSummaries } from './channels.ts';
import {
  checkCampaign,
  checkChannel,
  checkDates,
  checkRoot,
  type GivenElement,
  recurrenceOf,
} from './element-faults.ts';
import { filesOfElement, judgeFilesOfElements, withPaths } from './element-files.ts';
import { contentFault, findIssues, type JudgedThread } from './faults.ts';
import { checkFollowUps, pickedIn } from './follow-ups.ts';
import { rulesOf } from './judge.ts';
import { type Existing, findExisting } from './named.ts';
import { usesProfileZone } from './recurrence-wish.ts';
import { openChecks } from './verdict.ts';

// The judgement of create bodies, with every fault of each: create throws the first one, which names the fields of all.

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
  faults: readonly AppError[];
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

/**
 * Judges create bodies of `userId`: five statements at most, and one more where own pictures are named as thumbnails,
 * however many there are. Nothing is stored.
 */
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
  const fields = bodies.flatMap(({ posts: sent }) =>
    sent.map((element, n) => filesOfElement(element, n, fileSettings)),
  );
  const campaignIds = [...new Set(bodies.flatMap(({ campaignId }) => campaignId || []))];
  const [summaries, posts, files, profile, campaigns] = await Promise.all([
    ids.length === 0 ? [] : findChannelSummaries(sql, { orgId, ids }),
    named.length === 0 ? [] : findExisting(sql, orgId, named),
    judgeFilesOfElements(media, orgId, fields),
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

/** The ids of a body that may name posts. */
const namedPosts = (body: CreateBody): string[] =>
  body.posts.flatMap(({ value }) => value.flatMap(({ id }) => (id !== undefined && isId(id) ? [id] : [])));

function judgeElement(deps: Needs, given: GivenElement): JudgedElement {
  const { body, element, at, channels, channel, root, files } = given;
  const checks = openChecks();
  checks.refuse(...checkCampaign(given), ...checkDates(given), ...checkChannel(given));
  const recurrence = checks.take(() => recurrenceOf(given));
  const rules = channel && checks.take(() => rulesOf(deps, channel));
  const { refusals: faults } = checks;
  if (!channel || !rules)
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
  const content = issues && contentFault(thread, issues);
  const before = faults.length;
  checks.take(() => rules.checkSettings(thread.settings, thread.settingsAt));
  checks.take(() =>
    checkFollowUps(thread.settings, thread.settingsAt, rules, { channels, rulesOf: deps.channels.rules }),
  );
  const named = files.settings.filter(
    ({ setting }) => faults.length === before && rules.fileSettings?.includes(setting),
  );
  checks.refuse(
    ...checkRoot(given),
    ...(content ? [content] : []),
    ...[...files.media, ...named.map(({ field }) => field)].flat().flatMap(({ fault }) => fault ?? []),
  );
  const stored = withPaths(element, { media: files.media, settings: named });
  return { element: stored, to: { channel, rules }, channel, root, thread, issues, recurrence, faults };
}

/** Whether the posts of an element are to be published, and have to be held against their network. */
export const isQueued = ({ type }: CreateBody, root: Existing | undefined): boolean =>
  type === 'schedule' ||
  type === 'now' ||
  (type === 'update' && (root?.state !== 'DRAFT' || root.detail === 'awaiting_approval'));
