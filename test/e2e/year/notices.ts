import { DAY, GRID, HOUR, MINUTE, type Org, type Person, type Way, type Ways } from './cast.ts';
import { isWithin, nextAt, timeOf } from './clocks.ts';

// What people are to be told and when, by the contract: interface (notification categories, NO12 to NO29), S174 to S181,
// S238 and the rules of bursts and quiet hours.

/** Categories with their defaults, their name in a subject, and whether their mails can be collected. */
const CATEGORIES: Record<string, { ways: Required<Ways>; label: string; isCollected: boolean }> = {
  post_published: { ways: { email: true, push: false, inApp: true }, label: 'Published posts', isCollected: true },
  post_failed: { ways: { email: true, push: true, inApp: true }, label: 'Failed posts', isCollected: false },
  replies: { ways: { email: true, push: false, inApp: true }, label: 'Replies', isCollected: true },
  announcements: { ways: { email: true, push: false, inApp: true }, label: 'Announcements', isCollected: false },
  streak_reminders: { ways: { email: true, push: false, inApp: true }, label: 'Streaks', isCollected: false },
  analytics_alerts: { ways: { email: true, push: false, inApp: true }, label: 'Analytics', isCollected: true },
};
const DIGEST_TIME = 8 * HOUR;
const BURST = 10 * MINUTE;

export interface Notice {
  org: Org;
  category: string;
  title: string;
  content: string;
  to: readonly Person[];
  /** Of a broadcast, which heeds no category. */
  ways?: readonly Way[];
}
interface Line {
  org: Org;
  category: string;
  title: string;
  content: string;
}
/** What a recorder should have: times are those of the grid. */
export interface Mail {
  at: number;
  to: string;
  subject: string;
  titles: readonly string[];
}
export interface Push {
  at: number;
  to: string;
  title: string;
  /** Of several, the title of one of them. */
  bodies: readonly string[];
}
export interface Row {
  at: number;
  to: string;
  title: string;
  content: string;
}
interface Window {
  person: Person;
  kind: string;
  due: number;
  lines: Line[];
}

export const ceil = (at: number): number => Math.ceil(at / GRID) * GRID;

function waysOf({ wishes }: Person, category: string, isBroadcast: boolean): Record<Way, boolean> {
  const goes = (way: Way): boolean => {
    const master = wishes.master[way] ?? true;
    return master && (isBroadcast || (wishes.categories[category]?.[way] ?? CATEGORIES[category]!.ways[way]));
  };
  return { email: goes('email'), push: goes('push'), inApp: goes('inApp') };
}
/** The instant itself, or the end of the quiet hours that it is in. */
function afterQuiet({ wishes: { quietHours }, zone }: Person, at: number): number {
  return quietHours && isWithin(zone, at, quietHours) ? nextAt(zone, at, timeOf(quietHours.to)) : at;
}

export function openNotices() {
  const mails: Mail[] = [];
  const pushes: Push[] = [];
  const rows: Row[] = [];
  const windows = new Map<string, Window>();

  /** Opens a window, or finds the one that is open; true: it is new. */
  function open(person: Person, kind: string, due: number): { window: Window; isNew: boolean } {
    const key = `${person.id} ${kind}`;
    const found = windows.get(key);
    const window = found ?? { person, kind, due, lines: [] };
    window.due = Math.min(window.due, due);
    windows.set(key, window);
    return { window, isNew: !found };
  }

  function mail(at: number, person: Person, line: Line): void {
    const { wishes, zone } = person;
    const isCollected = CATEGORIES[line.category]!.isCollected;
    if (isCollected && wishes.digest === 'Never') return;
    if (isCollected && wishes.digest !== 'Instant') {
      const end = afterQuiet(person, nextAt(zone, at, DIGEST_TIME, wishes.digest === 'Weekly'));
      open(person, 'digest', end).window.lines.push(line);
      return;
    }
    const quietEnd = afterQuiet(person, at);
    if (quietEnd > at) return void open(person, 'quiet', quietEnd).window.lines.push(line);
    // what is told on the grid is heard a moment later
    const due = afterQuiet(person, at + BURST + 1);
    const { window, isNew } = open(person, `burst ${line.org.id} ${line.category}`, due);
    if (isNew) mails.push({ at, to: person.email, subject: line.title, titles: [line.title] });
    // what ends with quiet hours is in the mail of these
    else if (due > at + BURST + 1 && window.due === due) open(person, 'quiet', due).window.lines.push(line);
    else window.lines.push(line);
  }
  function push(at: number, person: Person, line: Line): void {
    if (!person.hasDevice) return;
    const quietEnd = afterQuiet(person, at);
    if (quietEnd > at) open(person, 'quiet-push', quietEnd).window.lines.push(line);
    else pushes.push({ at, to: person.id, title: line.title, bodies: [line.content] });
  }

  /** `held`: what quiet hours held, of a digest that ends with them. */
  function close(at: number, { person, kind: own, lines }: Window, held: readonly Line[] = []): void {
    const isWanted = ({ category }: Line): boolean => {
      const ways = waysOf(person, category, category === 'announcements');
      if (own === 'quiet-push') return ways.push;
      return ways.email && !(person.wishes.digest === 'Never' && CATEGORIES[category]!.isCollected);
    };
    const kind = held.some(isWanted) ? 'quiet' : own;
    const wanted = [...lines, ...held].filter(isWanted);
    const [first] = wanted;
    if (!first) return;
    const count = wanted.length;
    const titles = wanted.map(({ title }) => title).toSorted();
    const categories = new Set(wanted.map(({ category }) => category));
    const label = CATEGORIES[first.category]!.label;
    const subject =
      kind === 'digest'
        ? `Your digest: ${count} notification${count === 1 ? '' : 's'}`
        : count === 1
          ? first.title
          : categories.size > 1
            ? `${count} notifications`
            : `${label}: ${count}${kind.startsWith('burst') ? ' more' : ''}`;
    if (kind !== 'quiet-push') mails.push({ at, to: person.email, subject, titles });
    else pushes.push({ at, to: person.id, title: subject, bodies: count === 1 ? [first.content] : titles });
  }

  return {
    mails,
    pushes,
    rows,
    tell(at: number, { org, category, title, content, to, ways = ['email', 'push', 'inApp'] }: Notice): void {
      const isBroadcast = category === 'announcements';
      for (const person of new Set(to)) {
        const wanted = waysOf(person, category, isBroadcast);
        const line = { org, category, title, content };
        if (wanted.inApp && ways.includes('inApp')) rows.push({ at, to: person.id, title, content });
        if (wanted.email && ways.includes('email')) mail(at, person, line);
        if (wanted.push && ways.includes('push')) push(at, person, line);
      }
    },
    /** Ends windows that are over. */
    closeDue(at: number): void {
      const due = [...windows].filter(([, window]) => window.due <= at);
      const find = (person: Person, kind: string) =>
        due.find(([, window]) => window.person === person && window.kind === kind)?.[1];
      for (const [key, window] of due) {
        windows.delete(key);
        if (window.kind === 'digest') close(at, window, find(window.person, 'quiet')?.lines);
        else if (window.kind !== 'quiet' || !find(window.person, 'digest')) close(at, window);
      }
    },
    /** When the next window with something in it ends. */
    nextEnd: (): number =>
      Math.min(...[...windows.values()].filter(({ lines }) => lines.length > 0).map(({ due }) => ceil(due))),
    /** What is to be there of rows that are kept for so many days. */
    kept: (from: number): Row[] => rows.filter(({ at }) => at >= from),
  };
}
export type Notices = ReturnType<typeof openNotices>;
export const keptFrom = (lastRun: number, days: number): number => lastRun - days * DAY;
