import { idFrom } from '../../../src/platform/kernel/index.ts';
import { Random } from '../../support/random.ts';

// Who takes part in a year, and what they do in it: all of it by one number.

export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;
/** Everything begins on five minutes, so that sweeps that are due every five are due each time. */
export const GRID = 5 * MINUTE;
/** A Thursday; the year behind it has all changes of clocks. */
export const START = Date.UTC(2026, 0, 1);
/** `YEAR_DAYS`: fewer of them, for whoever looks for a fault. */
export const DAYS = Number(process.env['YEAR_DAYS'] ?? 366);

const FREQUENCIES = ['Instant', 'Daily', 'Weekly', 'Never'] as const;
export type Role = 'owner' | 'admin' | 'editor' | 'member' | 'viewer';
export type Way = 'email' | 'push' | 'inApp';
export type Ways = Partial<Record<Way, boolean>>;
export interface Wishes {
  master: Ways;
  categories: Record<string, Ways>;
  digest: (typeof FREQUENCIES)[number];
  quietHours: { from: string; to: string } | null;
}
export interface Org {
  id: string;
  name: string;
  zone: string;
  /** It has a webhook for everything. */
  isHooked: boolean;
}
export interface Person {
  id: string;
  email: string;
  zone: string;
  wishes: Wishes;
  roles: readonly { org: Org; role: Role }[];
  hasDevice: boolean;
}
/** `counts`: its network tells numbers; `words`: comments; `plain`: neither. */
export interface Channel {
  id: string;
  org: Org;
  network: 'counts' | 'words' | 'plain';
  name: string;
}
export interface Post {
  id: string;
  channel: Channel;
  maker: Person;
  at: number;
}
export interface Comment {
  id: string;
  author: string;
  text: string;
  at: number;
}
export type Happening =
  | { kind: 'post' | 'failed'; post: Post }
  | { kind: 'comments'; post: Post; comments: readonly Comment[] }
  | { kind: 'broadcast'; org: Org; title: string; channels: readonly ('email' | 'push' | 'in-app')[] }
  | { kind: 'wishes'; person: Person; wishes: Wishes };

const ZONES = `
  Africa/Cairo Africa/Casablanca Africa/Johannesburg Africa/Lagos Africa/Nairobi America/Anchorage America/Caracas
  America/Chicago America/Denver America/Halifax America/Havana America/Los_Angeles America/New_York
  America/Santiago America/Sao_Paulo America/St_Johns Asia/Calcutta Asia/Dubai Asia/Jerusalem Asia/Kabul
  Asia/Katmandu Asia/Rangoon Asia/Shanghai Asia/Tehran Asia/Tokyo Atlantic/Azores Australia/Adelaide
  Australia/Darwin Australia/Eucla Australia/Lord_Howe Australia/Sydney Europe/Berlin Europe/Lisbon Europe/London
  Europe/Moscow Pacific/Apia Pacific/Auckland Pacific/Chatham Pacific/Honolulu Pacific/Kiritimati`
  .trim()
  .split(/\s+/);
const ROLES: readonly Role[] = ['owner', 'admin', 'editor', 'editor', 'member', 'member', 'member', 'viewer'];
const CATEGORIES = [
  'post_published',
  'post_failed',
  'replies',
  'announcements',
  'streak_reminders',
  'analytics_alerts',
];
/** Members with this role may make posts. */
export const MAKERS: readonly Role[] = ['owner', 'admin', 'editor', 'member'];

/** The time of a day on the grid, as `22:05`. */
const timeText = (minutes: number): string =>
  `${String(Math.floor(minutes / 60) % 24).padStart(2, '0')}:${String(minutes % 60).padStart(2, '0')}`;

function wishesFrom(random: Random, digest: Wishes['digest']): Wishes {
  const ways = (share: number): Ways => {
    const drawn: Ways = {};
    for (const way of ['email', 'push', 'inApp'] as const) if (random.chance(share)) drawn[way] = random.chance(0.5);
    return drawn;
  };
  const quiet = () => ({
    from: timeText(5 * random.between((18 * 60) / 5, (23 * 60) / 5)),
    to: timeText(5 * random.between((5 * 60) / 5, (12 * 60) / 5)),
  });
  const atNoon = { from: '12:00', to: '14:30' };
  return {
    master: random.chance(0.2) ? ways(0.4) : {},
    categories: Object.fromEntries(CATEGORIES.filter(() => random.chance(0.3)).map((name) => [name, ways(0.6)])),
    digest,
    quietHours: random.chance(0.5) ? (random.chance(0.2) ? atNoon : quiet()) : null,
  };
}

/** Five organizations, forty people in forty zones, thirty channels. */
export function castOf(seed: number) {
  const random = new Random(seed, 'cast');
  const orgs = ['Europe/Berlin', 'America/New_York', 'Asia/Tokyo', 'Australia/Sydney', 'Asia/Calcutta'].map(
    (zone, n): Org => ({ id: idFrom(`${seed} org ${n}`), name: `Org ${n}`, zone, isHooked: n < 2 }),
  );
  const people = ZONES.map((zone, n): Person => {
    const org = orgs[n % orgs.length]!;
    const role = ROLES[Math.floor(n / orgs.length)]!;
    const other = random.chance(0.25) ? orgs[(n + 1) % orgs.length] : undefined;
    return {
      id: idFrom(`${seed} person ${n}`),
      email: `person-${n}@example.com`,
      zone,
      wishes: wishesFrom(random, FREQUENCIES[(n + Math.floor(n / 5)) % FREQUENCIES.length]!),
      roles: [
        { org, role },
        ...(other ? [{ org: other, role: random.pick(['editor', 'member', 'viewer'] as const) }] : []),
      ],
      hasDevice: random.chance(0.5),
    };
  });
  const channels = Array.from({ length: 30 }, (_, n): Channel => {
    const org = n < 8 ? orgs[n % 2]! : orgs[n % orgs.length]!;
    const network = n < 8 ? 'counts' : n < 13 ? 'words' : 'plain';
    return { id: idFrom(`${seed} channel ${n}`), org, network, name: `Channel ${n}` };
  });
  return { seed, orgs, people, channels };
}
export type Cast = ReturnType<typeof castOf>;

/** What people do in the year, by the time at which they do it. */
export function planOf({ seed, orgs, people, channels }: Cast): ReadonlyMap<number, readonly Happening[]> {
  const random = new Random(seed, 'plan');
  const plan = new Map<number, Happening[]>();
  const posts: Post[] = [];
  let numbers = 0;
  const postAt = (at: number): Post => {
    const channel = random.pick(channels.slice(0, random.pick([13, 30])));
    const makers = people.filter(({ roles }) =>
      roles.some(({ org, role }) => org === channel.org && MAKERS.includes(role)),
    );
    return { id: idFrom(`${seed} post ${++numbers}`), channel, maker: random.pick(makers), at };
  };
  const commentsAt = (at: number): Comment[] =>
    Array.from({ length: random.chance(0.05) ? 12 : random.between(1, 3) }, (_, n) => ({
      id: `c-${++numbers}`,
      author: `Author ${random.below(20)}`,
      text: `Comment ${numbers}`,
      at: at + n * 1_000,
    }));
  for (let day = 0; day < DAYS; day++)
    for (const time of random.chance(0.4) ? [9 * HOUR, 19 * HOUR] : [14 * HOUR]) {
      const at = START + day * DAY + time + random.between(-36, 36) * GRID;
      const happenings: Happening[] = Array.from({ length: random.pick([0, 1, 2, 3]) }, () => ({
        kind: 'post',
        post: postAt(at),
      }));
      if (random.chance(0.1)) happenings.push({ kind: 'failed', post: postAt(at) });
      const talked = posts.filter((post) => post.channel.network === 'words' && at - post.at < 6 * DAY);
      if (talked.length > 0 && random.chance(0.6)) {
        const post = random.pick(talked);
        happenings.push({ kind: 'comments', post, comments: commentsAt(at) });
      }
      if (random.chance(0.02)) {
        const channelsOf = random.pick([['email', 'push', 'in-app'], ['email'], ['in-app', 'push']] as const);
        happenings.push({
          kind: 'broadcast',
          org: random.pick(orgs),
          title: `News ${++numbers}`,
          channels: channelsOf,
        });
      }
      if (random.chance(0.05)) {
        const person = random.pick(people);
        happenings.push({ kind: 'wishes', person, wishes: wishesFrom(random, random.pick(FREQUENCIES)) });
      }
      posts.push(...happenings.flatMap((one) => (one.kind === 'post' ? [one.post] : [])));
      if (happenings.length > 0) plan.set(at, happenings);
    }
  return plan;
}

/** What networks count, as they tell it on a day. */
export function countsOf({ seed, channels }: Cast) {
  const DATES = Array.from({ length: DAYS + 10 }, (_, n) => new Date(START + (n - 9) * DAY).toISOString().slice(0, 10));
  const views = new Map<string, Map<string, number>>();
  const followers = new Map<string, Map<string, number>>();
  const failures = new Map<string, number>();
  for (const { id, network } of channels) {
    if (network !== 'counts') continue;
    const random = new Random(seed, `counts ${id}`);
    const base = random.between(20, 400);
    let stock = random.between(100, 10_000);
    views.set(id, new Map());
    followers.set(id, new Map());
    for (const date of DATES) {
      const usual = Math.round(base * (0.85 + 0.3 * random.next()));
      views.get(id)!.set(date, random.chance(0.03) ? usual * random.between(2, 6) : usual);
      stock += random.chance(0.01) ? random.between(100, 400) : random.between(0, 4);
      followers.get(id)!.set(date, stock);
      if (random.chance(0.015)) failures.set(`${id} ${date}`, random.pick([1, 4]));
    }
  }
  return {
    /** A network corrects its last days once, upwards. */
    views: (channelId: string, date: string, lastDay: string): number =>
      views.get(channelId)!.get(date)! + (Date.parse(lastDay) - Date.parse(date) >= 2 * DAY ? 1 : 0),
    followers: (channelId: string, date: string): number => followers.get(channelId)!.get(date)!,
    /** Likes of a post, which come ever more slowly. */
    likes: ({ id, at }: Post, now: number): number =>
      Math.round((10 + (Number.parseInt(id.slice(0, 2), 16) % 90)) * (1 - 0.6 ** ((now - at) / DAY))),
    /** How often its network is away when it is asked for that day. */
    failures: (channelId: string, day: string): number => failures.get(`${channelId} ${day}`) ?? 0,
  };
}
export type Counts = ReturnType<typeof countsOf>;
