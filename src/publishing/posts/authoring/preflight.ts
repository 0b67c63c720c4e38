import { AppError, type FieldError, isId } from '../../../platform/kernel/index.ts';
import { limitsOfItem } from '../../../providers/registry/index.ts';
import type { PostsDeps } from '../deps.ts';
import { type CreateBody, readBody, type SentBody } from './body.ts';
import { type ChannelSummary, findChannelSummaries } from './channels.ts';
import { findIssues } from './faults.ts';
import type { PostAuthor } from './input.ts';
import { judgeBodies, type JudgedElement } from './judgement.ts';
import { findOutlooks } from './outlook.ts';
import { faultsOf } from './verdict.ts';
import { type Outlook, type Warning, warningsOf } from './warnings.ts';

/** The judgement of one element, before anything is stored (S116). */
export interface PreflightEntry {
  /** The channel as it was sent, and its provider and name where there is one. */
  channelId: string;
  providerId: string | null;
  name: string | null;
  isValid: boolean;
  hasSettingsFault: boolean;
  /** The first fault that is none of the settings. */
  fault: string | undefined;
  isEmpty: boolean;
  isTooLong: boolean;
  maximumCharacters: number | null;
  warnings: Warning[];
  /** Why create would refuse it. */
  issues: FieldError[];
}
/** The judgement of one body. */
export interface Preflight {
  entries: PreflightEntry[];
  /** The posts that the body would edit. */
  edits: string[];
}

type Needs = Pick<PostsDeps, 'sql' | 'clock' | 'channels' | 'media' | 'billing' | 'profiles'>;

/**
 * Judges create bodies as create does, each for itself, and says what is worth knowing beside it, as if all of them were
 * stored together. The number of statements does not depend on theirs: six at most, and one more each where a campaign
 * or the zone of the author counts, where own pictures are named as thumbnails, where contents are too much to be read,
 * and where the approval of an edit depends on what it changes. No network is called, and nothing is stored.
 */
export async function preflightPosts(
  deps: Needs,
  orgId: string,
  bodies: readonly SentBody[],
  by: PostAuthor,
): Promise<Preflight[]> {
  const read = bodies.map(readOrFaults);
  const [judged, summaries] = await Promise.all([
    judgeBodies(
      deps,
      orgId,
      read.flatMap((one) => ('body' in one ? one.body : [])),
      by.userId,
    ),
    channelsOf(
      deps,
      orgId,
      read.flatMap((one) => ('faults' in one ? one.sent : [])),
    ),
  ]);
  const byBody = new Map(judged.map((one) => [one.body, one]));
  const asked = read.map((one) => ({ ...one, judged: 'body' in one ? byBody.get(one.body) : undefined }));
  const outlooks = await findOutlooks(
    deps,
    orgId,
    asked.flatMap((one) => (one.judged ? { ...one.judged, sent: one.sent } : [])),
    by,
  );
  return asked.map((one): Preflight => {
    if ('faults' in one) return { entries: unreadable(one.sent, one.faults, summaries), edits: [] };
    const { elements } = one.judged!; // each that was read was judged
    return {
      entries: elements.map((element) => entryOf(element, outlooks.get(element))),
      edits: elements.flatMap(({ root }) => root?.id ?? []),
    };
  });
}

type ReadBody = { sent: SentBody; body: CreateBody } | { sent: SentBody; faults: FieldError[] };
/** Contents that are too much to be read are a fault of the posts, and no refusal of the question. */
function readOrFaults(sent: SentBody): ReadBody {
  try {
    return { sent, body: readBody(sent) };
  } catch (error) {
    if (error instanceof AppError) return { sent, faults: faultsOf(error) };
    throw error;
  }
}

type Channels = ReadonlyMap<string, ChannelSummary>;
async function channelsOf({ sql }: Pick<Needs, 'sql'>, orgId: string, bodies: readonly SentBody[]): Promise<Channels> {
  const ids = [...new Set(bodies.flatMap(({ posts }) => posts.map(({ integration }) => integration.id)).filter(isId))];
  const found = ids.length === 0 ? [] : await findChannelSummaries(sql, { orgId, ids });
  return new Map(found.map((channel) => [channel.id, channel]));
}

/** The entries of a body whose contents are too much to be read: none of its posts would be stored. */
const unreadable = ({ posts }: SentBody, faults: FieldError[], channels: Channels): PreflightEntry[] =>
  posts.map(({ integration: { id } }, n) => ({
    channelId: id,
    providerId: channels.get(id)?.providerId ?? null,
    name: channels.get(id)?.name ?? null,
    isValid: false,
    hasSettingsFault: false,
    fault: faults[0]?.message,
    isEmpty: false,
    isTooLong: faults.some(({ field }) => isWithin(field, `posts.${n}`)),
    maximumCharacters: null,
    warnings: [],
    issues: faults,
  }));

function entryOf(element: JudgedElement, outlook: Outlook | undefined): PreflightEntry {
  const { element: sent, channel, to, thread, faults } = element;
  const issues = element.issues ?? (thread ? findIssues(thread) : []);
  const own = faults.flatMap(faultsOf);
  const isOfSettings = ({ field }: FieldError) => thread !== undefined && isWithin(field, thread.settingsAt);
  const [root] = thread?.items ?? [];
  const settings = to && { ...to.channel.settings, ...sent.settings };
  const limits = settings && limitsOfItem(to.rules, settings, false);
  const beside = root && root.files.length > 0 ? limits?.textWithFiles : undefined;
  return {
    channelId: sent.integration.id,
    providerId: channel?.providerId ?? null,
    name: channel?.name ?? null,
    isValid: faults.length === 0,
    hasSettingsFault: own.some(isOfSettings),
    fault: own.find((one) => !isOfSettings(one))?.message,
    isEmpty: issues.some(({ field, rule }) => field.endsWith('.content') && rule === 'required'),
    isTooLong: issues.some(({ field, rule }) => field.endsWith('.content') && rule === 'max_length'),
    maximumCharacters: limits ? Math.min(limits.text, beside ?? Infinity) : null,
    warnings: outlook ? warningsOf(outlook) : [],
    issues: own,
  };
}
const isWithin = (field: string, at: string): boolean => field === at || field.startsWith(`${at}.`);
