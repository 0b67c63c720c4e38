import type { Json, Sql } from '../../platform/db/index.ts';
import type { Mail } from '../../delivery/email/index.ts';
import type { NewPush } from '../../delivery/push/index.ts';
import { newId } from '../../platform/kernel/index.ts';
import { permissionsOf } from '../access/index.ts';
import { completePreferences, type Preferences, type Toggles } from '../identity/index.ts';
import type { ConsoleLink } from './told.ts';
import type { NotificationsDeps } from './deps.ts';
import { mailOf } from './mail.ts';
import type { PersonRow } from './people-store.ts';
import { afterQuiet, type MailWindow, mailWindow, QUIET, waysOf, zoneOfPerson } from './rules.ts';
import { insertNotifications, type NewNotification } from './store.ts';
import { insertLines, type WindowLine, openWindows, type WindowKey } from './window-store.ts';

/** Something to be told to people. */
export interface Notice {
  orgId: string;
  /** Nobody is told of one source twice. */
  source: string;
  category: string;
  title: string;
  content: string;
  link: ConsoleLink | null;
  data: Readonly<Record<string, Json>>;
  to: readonly PersonRow[];
  /** Ways that are used at all; absent: all. */
  ways?: Partial<Toggles>;
  /** Whatever the category says, under the masters (NO24, NO25); no mail to those who have unsubscribed from it. */
  overrides?: boolean;
}

type Lined = WindowLine & MailWindow;
/** What is to be written, collected over all notices. */
interface Written {
  rows: NewNotification[];
  lines: Lined[];
  pushes: NewPush[];
  people: Map<string, PersonRow>;
}

/**
 * Writes what people see, the mails and the pushes, in the caller's transaction and in a number of statements that does
 * not depend on how many there are. Answers the users who see something new in the application.
 */
export async function deliver(deps: NotificationsDeps, tx: Sql, notices: readonly Notice[]): Promise<string[]> {
  const { rows, lines, pushes, people } = collect(deps, notices);
  if (rows.length > 0) await insertNotifications(tx, rows);
  if (lines.length > 0) await sendOrCollect(deps, tx, lines, people);
  await deps.push.queueAll(tx, pushes);
  return rows.map(({ userId }) => userId);
}

function collect(deps: NotificationsDeps, notices: readonly Notice[]): Written {
  const written: Written = { rows: [], lines: [], pushes: [], people: new Map() };
  const preferences = new Map<string, Preferences>();
  for (const notice of notices)
    for (const person of notice.to) {
      let wishes = preferences.get(person.userId);
      if (!wishes) preferences.set(person.userId, (wishes = completePreferences(person.chosen)));
      written.people.set(memberOf(person), person);
      collectFor(deps, written, { notice, person, wishes });
    }
  return written;
}

function collectFor(
  { email, push }: Pick<NotificationsDeps, 'email' | 'push'>,
  written: Written,
  { notice, person, wishes }: { notice: Notice; person: PersonRow; wishes: Preferences },
): void {
  const { orgId, source, category, title, content, data, ways = {}, overrides = false } = notice;
  const wanted = waysOf(wishes, category, overrides);
  const goes = (way: keyof Toggles) => wanted[way] && (ways[way] ?? true);
  const { userId, roleKey, granted } = person;
  const mayOpen = notice.link && permissionsOf(roleKey, false, granted).has(notice.link.permission);
  const link = notice.link && mayOpen ? notice.link.path : null;
  const said = { orgId, userId, category, title, content, link };
  if (goes('inApp')) written.rows.push({ id: newId(), source, data, ...said });

  const now = person.now.getTime();
  const zone = zoneOfPerson(person.timezone);
  const window =
    goes('email') && email.enabled && !person.isUndeliverable
      ? mailWindow(wishes, { orgId, category, now, zone })
      : undefined;
  if (window) written.lines.push({ ...said, ...window });
  if (!goes('push') || !push.enabled) return;
  const dueAt = afterQuiet(now, wishes.quietHours, zone);
  if (dueAt > now) written.lines.push({ ...said, kind: 'quiet-push', dueAt, isBurst: false });
  else written.pushes.push(said);
}

const memberOf = ({ orgId, userId }: { orgId: string; userId: string }): string => `${orgId} ${userId}`;
const keyOf = ({ userId, kind }: WindowKey): string => `${userId} ${kind}`;

/** The windows that a line may be collected in. */
const windowsOf = (line: Lined): Lined[] => (line.endsQuiet === true ? [line, { ...line, kind: QUIET }] : [line]);

/**
 * Collects lines in their windows; the first line of a burst leaves at once, and opens the window for those behind it.
 * Where that one ends with quiet hours, they wait with what these hold: it is one mail.
 */
async function sendOrCollect(
  deps: NotificationsDeps,
  tx: Sql,
  lines: readonly Lined[],
  people: ReadonlyMap<string, PersonRow>,
): Promise<void> {
  const windows = new Map(lines.flatMap(windowsOf).map((window) => [keyOf(window), window]));
  const opened = await openWindows(tx, [...windows.values()]);
  const fresh = new Set(opened.filter(({ isNew }) => isNew).map(keyOf));
  const ends = new Map(opened.map((window) => [keyOf(window), window.dueAt.getTime()]));
  const collected: WindowLine[] = [];
  const mails: Promise<Mail>[] = [];
  for (const line of lines) {
    const key = keyOf(line);
    // one that was opened earlier may end before they begin
    const endsQuiet = line.endsQuiet === true && ends.get(key) === line.dueAt;
    if (!line.isBurst || !fresh.delete(key)) collected.push(endsQuiet ? { ...line, kind: QUIET } : line);
    else mails.push(mailOfLine(deps, line, people.get(memberOf(line))!));
  }
  if (collected.length > 0) await insertLines(tx, collected);
  await deps.email.queueAll(tx, await Promise.all(mails));
}

const mailOfLine = (
  deps: NotificationsDeps,
  { orgId, ...line }: WindowLine,
  { orgName, email, name }: PersonRow,
): Promise<Mail> =>
  mailOf(deps, {
    to: { userId: line.userId, email, name },
    heading: line.title,
    groups: [{ orgName, lines: [line], more: 0 }],
    of: [line.category],
    orgId,
  });
