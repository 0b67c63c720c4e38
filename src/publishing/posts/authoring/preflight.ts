import { AppError, type FieldError, isId } from '../../../platform/kernel/index.ts';
import { limitsOfItem } from '../../../providers/registry/index.ts';
import { findHeldEdits } from '../approval/consent-of-edit.ts';
import type { PostsDeps } from '../deps.ts';
import type { LoginFacts, Paced } from '../channels-port.ts';
import { pacesFor } from '../rules.ts';
import { type CreateBody, dateShiftOf, readBody, type SentBody } from './body.ts';
import { type ChannelSummary, findChannelSummaries } from './channels.ts';
import { findIssues } from './faults.ts';
import { elementItems, statusOf, typedSettings } from './compose.ts';
import type { PostAuthor } from './input.ts';
import { judgeBodies, type JudgedBody, type JudgedElement } from './judgement.ts';
import { findNeighbours, findTwins, type Neighbours } from './neighbours.ts';
import { faultsOf } from './verdict.ts';
import { type PaceBudget, type Outlook, type Warning, warningsOf } from './warnings.ts';

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
export interface Preflight {
  entries: PreflightEntry[];
  /** The posts that the body would edit. */
  edits: string[];
}

type Needs = Pick<PostsDeps, 'sql' | 'clock' | 'channels' | 'media' | 'billing' | 'profiles'>;

/**
 * Judges a create body as create does, and says what is worth knowing beside it. Six statements at most, and one
 * more where the approval of an edit depends on what it changes; no network is called, and nothing is stored.
 */
export async function preflightPosts(deps: Needs, orgId: string, sent: SentBody, by: PostAuthor): Promise<Preflight> {
  const body = readOrFaults(sent);
  if ('faults' in body) return { entries: await unreadable(deps, orgId, sent, body.faults), edits: [] };
  const [judged] = (await judgeBodies(deps, orgId, [body.read], by.userId)) as [JudgedBody]; // one for each body
  const outlooks = await lookAhead(deps, orgId, judged, { by, shift: dateShiftOf(sent) });
  return {
    entries: judged.elements.map((element) => entryOf(element, outlooks.get(element))),
    edits: judged.elements.flatMap(({ root }) => root?.id ?? []),
  };
}

/** Contents that are too much to be read are a fault of the posts, and no refusal of the question. */
function readOrFaults(sent: SentBody): { read: CreateBody } | { faults: FieldError[] } {
  try {
    return { read: readBody(sent) };
  } catch (error) {
    if (error instanceof AppError) return { faults: faultsOf(error) };
    throw error;
  }
}

/** The entries of a body whose contents are too much to be read: none of its posts would be stored. */
async function unreadable(
  { sql }: Pick<Needs, 'sql'>,
  orgId: string,
  { posts }: SentBody,
  faults: FieldError[],
): Promise<PreflightEntry[]> {
  const ids = [...new Set(posts.map(({ integration }) => integration.id).filter(isId))];
  const found = ids.length === 0 ? [] : await findChannelSummaries(sql, { orgId, ids });
  const channels = new Map(found.map((channel) => [channel.id, channel]));
  return posts.map(({ integration: { id } }, n) => ({
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
}

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

/** Whether an element is in the queue once it is stored, unless it is held. */
const isQueued = (type: SentBody['type'], root: JudgedElement['root']): boolean =>
  type === 'update' ? root?.state === 'QUEUE' : type !== 'draft';

/** Shorter windows say nothing about a day. */
const LEAST_WINDOW_MS = 60_000;
/** The windows that a post takes a place in, as far as they say something about a day. */
const dayPaces = <P extends Pick<Paced, 'of' | 'ms'>>(paces: readonly P[]): P[] =>
  pacesFor(paces, 'posts').filter(({ ms }) => ms >= LEAST_WINDOW_MS);

/** Finds out what may come to each element that has a channel. */
async function lookAhead(
  deps: Needs,
  orgId: string,
  { body, elements, now }: JudgedBody,
  { by, shift }: { by: PostAuthor; shift: Outlook['shift'] },
): Promise<Map<JudgedElement, Outlook>> {
  const dateOf = ({ root }: JudgedElement) => (body.type === 'now' ? now : (body.date ?? root?.publishDate));
  const known = elements.flatMap((one) =>
    one.to && one.thread ? [{ ...one, of: one, to: one.to, thread: one.thread, date: dateOf(one) }] : [],
  );
  const asked = known.filter(({ to: { channel, rules }, date }) => {
    const ends = channel.tokenExpiresAt !== null && date !== undefined && channel.tokenExpiresAt <= date;
    return ends || dayPaces(rules.pace).length > 0;
  });
  const channelIds = [...new Set(asked.map(({ to }) => to.channel.id))];
  const isHeld = ({ approvalRequired }: ChannelSummary) =>
    approvalRequired === 'all' || (approvalRequired === 'members' && !by.schedulesFreely);
  const [logins, overLimit, heldEdits] = await Promise.all([
    channelIds.length === 0 ? [] : deps.channels.loginFacts(orgId, channelIds),
    findOverLimit(deps, orgId, elements),
    findHeldEdits(
      deps.sql,
      orgId,
      known.flatMap(({ root, element, to: { channel } }, n) => {
        if (!root) return [];
        const settings = typedSettings(element.settings, channel.providerId);
        return { n, root, status: statusOf(body), isHeld: isHeld(channel), items: elementItems(element), settings };
      }),
    ),
  ]);
  const byChannel = new Map(logins.map((login) => [login.channelId, login]));
  const windowsOf = ({ to }: Pick<Outlook, 'to'>) => dayPaces(byChannel.get(to.channel.id)?.paces ?? []);
  const dated = known.flatMap(({ date, ...one }, n) => (date ? [{ ...one, n, date }] : []));
  const planned = dated.map(({ n, to, date, root, element: { value } }) => ({
    n,
    channelId: to.channel.id,
    date,
    content: value[0]!.content,
    media: value[0]!.image,
    postId: root?.id,
    goesOut: isQueued(body.type, root),
  }));
  const neighbours = await findNeighbours(deps.sql, orgId, {
    planned,
    paces: dated.flatMap(({ n, to, date }) =>
      windowsOf({ to }).map(({ key, ms }) => ({ n, channelId: to.channel.id, date, key, ms })),
    ),
    edited: known.flatMap(({ root }) => root?.id ?? []),
  });
  const duplicates = new Set(neighbours.duplicates);
  const twins = findTwins(planned);
  const taken = new Map<string, number>();
  return new Map(
    known.map(({ of, ...one }, n) => [
      of,
      {
        ...one,
        login: byChannel.get(one.to.channel.id),
        duplicate: duplicates.has(n) ? 'post' : twins.has(n) ? 'entry' : undefined,
        budgets: budgetsOf(n, windowsOf(one), neighbours, taken),
        isHeld: one.root ? heldEdits.has(n) : isQueued(body.type, undefined) && isHeld(one.to.channel),
        shift,
        overLimit: one.root ? undefined : overLimit,
      },
    ]),
  );
}

/** `taken` counts, for each window, the elements before this one. */
function budgetsOf(
  n: number,
  windows: LoginFacts['paces'],
  { paces }: Neighbours,
  taken: Map<string, number>,
): PaceBudget[] {
  return windows.flatMap((window) => {
    const before = taken.get(window.key) ?? 0;
    taken.set(window.key, before + 1);
    const found = paces.find((one) => one.n === n && one.key === window.key);
    return found ? [{ ...window, found, before }] : [];
  });
}

/** The limit of posts, where the new posts of a body are more than it leaves room for. */
async function findOverLimit(
  { billing }: Needs,
  orgId: string,
  elements: readonly JudgedElement[],
): Promise<number | undefined> {
  const wanted = elements.filter(({ root }) => !root).length;
  if (!billing.enabled || wanted === 0) return undefined;
  const { max, used } = await billing.quota(orgId);
  return used + wanted > max ? max : undefined;
}
