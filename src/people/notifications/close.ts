import type { Mail } from '../../delivery/email/index.ts';
import type { NewPush } from '../../delivery/push/index.ts';
import { isUnavailable, runEach, type Sql } from '../../platform/db/index.ts';
import { completePreferences, type Preferences } from '../identity/index.ts';
import { CATEGORIES, labelOf } from './categories.ts';
import type { NotificationsDeps } from './deps.ts';
import { mailOf } from './mail.ts';
import { QUIET, waysOf } from './rules.ts';
import { type ClosedPart, closeWindows, findDueWindows, type WindowKey } from './window-store.ts';

const MOST_LINES = 50;
/** Windows of one commit for each one of `limit`: what a statement costs is shared by more of them. */
const WINDOWS_AT_ONCE = 4;
/** Commits of one call: the database closes the windows of the next while this process writes the mails of one. */
const COMMITS = 4;

/**
 * Closes windows that are due, each with one mail or one push of what it collected, in one commit; without lines that
 * its reader still wants there is none. Answers how many were closed; `limit` or more: there may be more that are due.
 * One that fails holds up no other: where a commit of many fails, each has one of its own.
 */
export async function closeDueWindows(deps: NotificationsDeps, limit: number): Promise<number> {
  const { sql, log } = deps;
  try {
    return await closeByCommits(deps, limit * WINDOWS_AT_ONCE, COMMITS);
  } catch (error) {
    if (isUnavailable(error)) throw error;
  }
  return runEach<WindowKey>(limit, {
    find: (most, tried) => findDueWindows(sql, most, tried),
    work: (window) => sql.begin(async (tx) => sendClosed(deps, tx, (await closeWindows(tx, 1, window)).parts)),
    failed: (err, { userId, kind }) =>
      log.warn({ err, userId, kind }, 'a window of notifications could not be closed, tried again'),
  });
}

async function closeByCommits(deps: NotificationsDeps, most: number, commits: number): Promise<number> {
  let next: Promise<number> | undefined;
  const own = deps.sql.begin(async (tx) => {
    const { closed, parts } = await closeWindows(tx, most);
    if (closed === most && commits > 1) {
      next = closeByCommits(deps, most, commits - 1);
      next.catch(() => undefined); // heard of below; it may fail before this one ends
    }
    await sendClosed(deps, tx, parts);
    return closed;
  });
  try {
    return (await own) + ((await next) ?? 0);
  } finally {
    await next;
  }
}

async function sendClosed(deps: NotificationsDeps, tx: Sql, parts: readonly ClosedPart[]): Promise<void> {
  // a digest that waited for the end of quiet hours is one mail with what these held
  const windows = [
    ...Map.groupBy(parts, ({ userId, kind }) => `${userId} ${kind === 'digest' ? QUIET : kind}`).values(),
  ]
    .map(wantedOf)
    .filter(({ length }) => length > 0);
  const [pushed, mailed] = [windows.filter(isPush), windows.filter((window) => !isPush(window))];
  const mailable = mailed.filter(([first]) => !first!.isUndeliverable);
  if (mailable.length > 0)
    await deps.email.queueAll(tx, await Promise.all(mailable.map((window) => mailOfWindow(deps, window))));
  await deps.push.queueAll(tx, pushed.map(pushOf));
}

const isDigest = ({ kind }: ClosedPart): boolean => kind === 'digest';
const isPush = ([first]: readonly ClosedPart[]): boolean => first!.kind === 'quiet-push';

/** What its reader still wants of a window, in the order in which it came: they may have said otherwise since. */
function wantedOf(window: readonly ClosedPart[]): ClosedPart[] {
  const wishes = completePreferences(window[0]!.chosen);
  return window
    .map((part) => ({
      ...part,
      lines: part.lines.filter((line) => isWanted(wishes, part.kind, line.category)).sort((a, b) => a.seq - b.seq),
    }))
    .filter(({ lines }) => lines.length > 0)
    .sort((a, b) => a.lines[0]!.seq - b.lines[0]!.seq);
}

function isWanted(wishes: Preferences, kind: string, category: string): boolean {
  const wanted = waysOf(wishes, category, category === 'announcements'); // those are broadcasts alone
  if (kind === 'quiet-push') return wanted.push;
  return wanted.email && !(wishes.digest === 'Never' && CATEGORIES[category]?.isInDigest === true);
}

const categoriesOf = (window: readonly ClosedPart[]): string[] => [
  ...new Set(window.flatMap(({ lines }) => lines.map(({ category }) => category))),
];
/** How many there are of all, of which the first of each category are at hand. */
const countOfPart = ({ lines }: ClosedPart): number =>
  lines.reduce(
    (sum, { category, count }, n) => (lines.findIndex((one) => one.category === category) === n ? sum + count : sum),
    0,
  );
const countOf = (window: readonly ClosedPart[]): number => window.reduce((sum, part) => sum + countOfPart(part), 0);

function headingOf(window: readonly ClosedPart[], count: number): string {
  const [{ kind, lines }] = window as [ClosedPart];
  if (window.every(isDigest)) return `Your digest: ${count} ${count === 1 ? 'notification' : 'notifications'}`;
  if (count === 1) return lines[0]!.title;
  if (categoriesOf(window).length > 1) return `${count} notifications`;
  return `${labelOf(lines[0]!.category)}: ${count}${kind.startsWith('burst') ? ' more' : ''}`;
}

function mailOfWindow(deps: NotificationsDeps, window: readonly ClosedPart[]): Promise<Mail> {
  const { userId, email, name, orgId } = window[0]!;
  const groups = [...Map.groupBy(window, (part) => part.orgId).values()].map((parts) => {
    const shown = parts
      .flatMap(({ lines }) => lines)
      .sort((a, b) => a.seq - b.seq)
      .slice(0, MOST_LINES);
    return { orgName: parts[0]!.orgName, lines: shown, more: countOf(parts) - shown.length };
  });
  return mailOf(deps, {
    to: { userId, email, name },
    orgId: groups.length === 1 ? orgId : null,
    heading: headingOf(window, countOf(window)),
    groups,
    of: [...(window.some(isDigest) ? ['digest'] : []), ...categoriesOf(window.filter((part) => !isDigest(part)))],
  });
}

function pushOf(window: readonly ClosedPart[]): NewPush {
  const { userId, lines } = window[0]!;
  const orgId = window.length === 1 ? window[0]!.orgId : null;
  const { category, title, content, link } = lines[0]!;
  const count = countOf(window);
  return count === 1
    ? { userId, orgId, category, title, content, link }
    : { userId, orgId, category, title: headingOf(window, count), content: title, link: null };
}
