import { isConverted, limitsOfItem } from '../../../providers/registry/index.ts';
import type { LoginFacts, Paced } from '../channels-port.ts';
import { firstCommentOf } from './follow-ups.ts';
import type { JudgedElement } from './judgement.ts';
import type { FoundPace } from './neighbours.ts';

/** What is worth knowing before an element is stored, though it is accepted (S116). */
export interface Warning {
  code: WarningCode;
  message: string;
}
export const WARNING_CODES = [
  'token_expires_before',
  'channel_refresh_needed',
  'duplicate_content',
  'rate_budget',
  'media_will_be_converted',
  'dst_shift',
  'limit_exceeded',
  'first_comment_ignored',
  'approval_needed',
  'not_compared',
] as const;
type WarningCode = (typeof WARNING_CODES)[number];

/** An element that can be warned of, and what was found out about it. */
export interface Outlook extends JudgedElement {
  to: NonNullable<JudgedElement['to']>;
  thread: NonNullable<JudgedElement['thread']>;
  /** When it would go out; undefined for a draft without a date. */
  date: Date | undefined;
  login: LoginFacts | undefined;
  /** The same text and media: a post of the channel within a day, or another entry of the body. */
  duplicate: 'post' | 'entry' | undefined;
  budgets: readonly PaceBudget[];
  /** It would wait for approval. */
  isHeld: boolean;
  /** What the clocks of its zone do at its local date. */
  shift: 'skipped' | 'doubled' | undefined;
  /** That the plan has no room for it, or with billing for all new posts of the bodies. */
  overLimit: string | undefined;
}
/** How full a window of its network is; `before`: posts of the same body that take places in it, too. */
export interface PaceBudget extends Paced {
  found: FoundPace;
  before: number;
}

/** One check for each kind of warning. */
const WARNINGS: readonly ((outlook: Outlook) => Iterable<Warning>)[] = [
  warnOfChannel,
  warnOfLogin,
  warnOfDuplicate,
  warnOfBudgets,
  warnOfMedia,
  warnOfShift,
  warnOfLimit,
  warnOfFirstComment,
  warnOfApproval,
];
export const warningsOf = (outlook: Outlook): Warning[] => WARNINGS.flatMap((warn) => [...warn(outlook)]);

function* warnOfChannel({ to: { channel } }: Outlook): Generator<Warning> {
  if (!channel.refreshNeeded) return;
  const message = `${channel.name} needs a new login: the post waits until somebody connects the channel again`;
  yield { code: 'channel_refresh_needed', message };
}

function* warnOfLogin({ to: { channel }, date, login }: Outlook): Generator<Warning> {
  if (!login?.endsAt || !date || login.endsAt > date || channel.refreshNeeded) return;
  const message = `The login of ${channel.name} ends at ${login.endsAt.toISOString()}, before the post goes out: connect the channel again`;
  yield { code: 'token_expires_before', message };
}

function* warnOfDuplicate({ to: { channel }, duplicate }: Outlook): Generator<Warning> {
  if (!duplicate) return;
  const twin = duplicate === 'post' ? 'has a post' : 'gets another entry of this body';
  const message = `${channel.name} ${twin} with the same text and media within 24 hours of this date`;
  yield { code: 'duplicate_content', message };
}

/** Warns when a tenth of the pace is left, or nothing. */
function* warnOfBudgets({ to: { rules }, date, budgets }: Outlook): Generator<Warning> {
  if (!date) return;
  for (const { posts, ms, per, found, before } of budgets) {
    const { until, taken } = found;
    const runs = until !== null && new Date(until) > date;
    const planned = per === 'account' ? found.used : 0;
    const left = Math.max(posts - before - Math.max(planned, runs ? (taken ?? 0) : 0), 0);
    if (left > Math.floor(posts / 10)) continue;
    const begins = runs ? undefined : found.first === null ? date : new Date(found.first);
    const next = begins ? new Date(begins.getTime() + ms) : new Date(until!); // it runs
    const allowed = `${rules.title} takes ${posts} ${posts === 1 ? 'post' : 'posts'} in ${lengthOf(ms)} of one ${per}`;
    const goes = left > 0 ? `it goes out at ${date.toISOString()}` : `it goes out at ${next.toISOString()} or later`;
    yield { code: 'rate_budget', message: `${allowed}, and ${left} are left at the date of this post: ${goes}` };
  }
}
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const;
function lengthOf(ms: number): string {
  const [unit, length] = UNITS.find(([, one]) => ms % one === 0) ?? (['second', 1_000] as const);
  return ms === length ? `a ${unit}` : `${Math.round(ms / length)} ${unit}s`;
}

function* warnOfMedia({ to: { rules, channel }, thread }: Outlook): Generator<Warning> {
  const settings = { ...channel.settings, ...thread.settings };
  for (const { at, files, isLater } of thread.items) {
    const limits = limitsOfItem(rules, settings, isLater);
    const converted = files.flatMap((file, n) => (file && isConverted(limits, file) ? [`${at}image.${n}`] : []));
    if (converted.length === 0) continue;
    const message = `${rules.title} does not take these pictures as they are, so they are converted: ${converted.join(', ')}`;
    yield { code: 'media_will_be_converted', message };
  }
}

function* warnOfShift({ shift, date }: Outlook): Generator<Warning> {
  if (!shift || !date) return;
  const what = shift === 'skipped' ? 'do not show this time on that day' : 'show this time twice on that day';
  yield { code: 'dst_shift', message: `The clocks of the time zone ${what}: it goes out at ${date.toISOString()}` };
}

function* warnOfFirstComment({ to: { rules }, thread }: Outlook): Generator<Warning> {
  if (rules.hasComments || firstCommentOf(thread.settings) === undefined) return;
  yield { code: 'first_comment_ignored', message: `${rules.title} has no comments, so the first comment is left out` };
}

function* warnOfLimit({ overLimit }: Outlook): Generator<Warning> {
  if (overLimit === undefined) return;
  yield { code: 'limit_exceeded', message: `${overLimit}; none of the posts of this body would be stored` };
}

function* warnOfApproval({ isHeld }: Outlook): Generator<Warning> {
  if (isHeld) yield { code: 'approval_needed', message: 'The post is held until somebody approves it' };
}
