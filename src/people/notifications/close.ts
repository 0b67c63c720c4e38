import type { Mail } from '../../delivery/email/index.ts';
import type { NewPush } from '../../delivery/push/index.ts';
import { completePreferences } from '../identity/index.ts';
import { CATEGORIES, labelOf } from './categories.ts';
import type { NotificationsDeps } from './deps.ts';
import { mailOf } from './mail.ts';
import { waysOf } from './rules.ts';
import { type ClosedLine, closeWindows } from './window-store.ts';

const MOST_LINES = 50;
/** Windows of one commit for each one of `limit`: what a statement costs is shared by more of them. */
const WINDOWS_AT_ONCE = 4;

/**
 * Closes windows that are due, each with one mail or one push of what it collected, in one commit; without lines that
 * its reader still wants there is none. Answers how many were closed; `limit` or more: there may be more that are due.
 */
export const closeDueWindows = (deps: NotificationsDeps, limit: number): Promise<number> =>
  deps.sql.begin(async (tx) => {
    const { closed, lines } = await closeWindows(tx, limit * WINDOWS_AT_ONCE);
    const windows = [...Map.groupBy(lines.filter(isStillWanted), ({ userId, kind }) => `${userId} ${kind}`).values()];
    const [pushed, mailed] = [windows.filter(isPush), windows.filter((window) => !isPush(window))];
    const mailable = mailed.filter(([first]) => !first!.isUndeliverable);
    if (mailable.length > 0)
      await deps.email.queueAll(tx, await Promise.all(mailable.map((window) => mailOfWindow(deps, window))));
    await deps.push.queueAll(tx, pushed.map(pushOf));
    return closed;
  });

const isPush = ([first]: readonly ClosedLine[]): boolean => first!.kind === 'quiet-push';

/** Asked again: its reader may have said otherwise since it was collected. */
function isStillWanted({ category, kind, chosen }: ClosedLine): boolean {
  const wishes = completePreferences(chosen);
  const wanted = waysOf(wishes, category, category === 'announcements'); // those are broadcasts alone
  if (kind === 'quiet-push') return wanted.push;
  return wanted.email && !(wishes.digest === 'Never' && CATEGORIES[category]?.isInDigest === true);
}

/** How many there are of all, of which the first of each organization and category are at hand. */
const countOf = (lines: readonly ClosedLine[]): number =>
  [...new Map(lines.map(({ orgId, category, count }) => [`${orgId} ${category}`, count])).values()].reduce(
    (sum, count) => sum + count,
    0,
  );

function headingOf(lines: readonly ClosedLine[], count: number): string {
  const [first] = lines;
  if (first!.kind === 'digest') return `Your digest: ${count} ${count === 1 ? 'notification' : 'notifications'}`;
  if (count === 1) return first!.title;
  const categories = new Set(lines.map(({ category }) => category));
  if (categories.size > 1) return `${count} notifications`;
  return `${labelOf(first!.category)}: ${count}${first!.kind.startsWith('burst') ? ' more' : ''}`;
}

function mailOfWindow(deps: NotificationsDeps, window: readonly ClosedLine[]): Promise<Mail> {
  const { userId, email, name, kind, orgId } = window[0]!;
  const orgs = [...Map.groupBy(window, (line) => line.orgId).values()];
  return mailOf(deps, {
    to: { userId, email, name },
    orgId: orgs.length === 1 ? orgId : null,
    heading: headingOf(window, countOf(window)),
    groups: orgs.map((lines) => {
      const shown = lines.slice(0, MOST_LINES);
      return { orgName: lines[0]!.orgName, lines: shown, more: countOf(lines) - shown.length };
    }),
    of: kind === 'digest' ? ['digest'] : [...new Set(window.map(({ category }) => category))],
  });
}

function pushOf(window: readonly ClosedLine[]): NewPush {
  const { userId, category, title, content, link } = window[0]!;
  const count = countOf(window);
  return count === 1
    ? { userId, category, title, content, link }
    : { userId, category, title: headingOf(window, count), content: title, link: null };
}
