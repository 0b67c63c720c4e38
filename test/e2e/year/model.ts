import {
  type Cast,
  type Channel,
  type Comment,
  DAY,
  type Happening,
  HOUR,
  MAKERS,
  type Org,
  type Person,
  type Post,
  type Role,
} from './cast.ts';
import { dateText, dayOf, instantOf, nextAt, shownAt } from './clocks.ts';
import { ceil, keptFrom, openNotices } from './notices.ts';
import { type Anomaly, countText, openNumbers, type Told } from './numbers.ts';

// A year as the contract has it, from what people did and what networks answered: it knows nothing of the product.

export const KEPT = { notifications: 45, emails: 30, days: 60, posts: 40, comments: 50 } as const;
const SUMMARY_TIME = 9 * HOUR;
const EVENING = 20 * HOUR;
/** Whoever keeps channels, and whoever answers comments. */
const KEEPERS: readonly Role[] = ['owner', 'admin'];
const ANSWERERS: readonly Role[] = ['owner', 'admin', 'editor'];
const MOST_SINGLE = 10;
const MOST_LINES = 10;

/** What a network said below a post, at the time of the grid at which it was asked. */
export interface Said {
  channelId: string;
  postId: string;
  comments: readonly Comment[];
}
/** An event as the receiver of an organization has it. */
export interface Hook {
  at: number;
  orgId: string;
  what: string;
}

export function openModel({ orgs, people, channels }: Cast, start: number) {
  const notices = openNotices();
  const numbers = openNumbers(channels);
  const hooks: Hook[] = [];
  const posts = new Map<string, Post>();
  const asked = new Set<string>();
  const comments = new Map<string, Comment>();
  /** Days with a post, as the clocks of the organization show them. */
  const published = new Map<Org, Set<number>>(orgs.map((org) => [org, new Set()]));
  const reminded = new Set<string>();
  const summaries = new Map<Org, number>(orgs.map((org) => [org, nextAt(org.zone, start, SUMMARY_TIME, true)]));
  const retries = new Set<number>();
  let lastHourly = start;

  const withRole = (org: Org, roles: readonly Role[]): Person[] =>
    people.filter((person) => person.roles.some((one) => one.org === org && roles.includes(one.role)));
  const hook = (at: number, org: Org, what: string) => void (org.isHooked && hooks.push({ at, orgId: org.id, what }));
  const channelOf = (id: string): Channel => channels.find((channel) => channel.id === id)!;

  function tellWeeks(at: number): void {
    for (const org of orgs) {
      if (summaries.get(org)! > at) continue;
      summaries.set(org, nextAt(org.zone, at, SUMMARY_TIME, true));
      const week = numbers.week(at, org);
      if (!week) continue;
      const title = `Your week from ${week.from} to ${week.to}`;
      const content = week.lines.join('\n');
      notices.tell(at, { org, category: 'analytics_alerts', title, content, to: withRole(org, MAKERS) });
    }
  }

  function tellComments(at: number, said: readonly Said[]): void {
    for (const [channelId, below] of Map.groupBy(said, (one) => one.channelId)) {
      const { org, name } = channelOf(channelId);
      const fresh: { comment: Comment; post: Post }[] = [];
      for (const { postId, comments: listed } of below) {
        const post = posts.get(postId)!;
        const isSilent = !asked.has(postId) && at - post.at > DAY;
        asked.add(postId);
        for (const comment of listed) {
          if (comments.has(comment.id)) continue;
          comments.set(comment.id, comment);
          if (!isSilent) fresh.push({ comment, post });
        }
      }
      fresh.sort((a, b) => a.comment.at - b.comment.at);
      const last = fresh.at(-1)?.comment;
      if (!last) continue;
      const count = fresh.length;
      if (count > MOST_SINGLE) hook(at, org, `comment.new ${count}`);
      else for (const { comment } of fresh) hook(at, org, `comment.new ${comment.text}`);
      notices.tell(at, {
        org,
        category: 'replies',
        title: count === 1 ? `A new comment on ${name}` : `${count} new comments on ${name}`,
        content: `${last.author}: ${last.text}`,
        to: [...fresh.map(({ post }) => post.maker), ...withRole(org, ANSWERERS)],
      });
    }
  }

  /** The day that ends a streak of three days or more of which nobody was reminded; undefined: none does. */
  function atRisk(org: Org, today: number): { days: number } | undefined {
    const days = published.get(org)!;
    if (days.has(today) || reminded.has(`${org.id} ${today}`)) return undefined;
    let length = 0;
    while (days.has(today - (length + 1) * DAY)) length += 1;
    return length >= 3 ? { days: length } : undefined;
  }
  function remind(at: number): void {
    for (const org of orgs) {
      const shown = shownAt(org.zone, at);
      const today = dayOf(shown);
      const risk = shown - today >= EVENING ? atRisk(org, today) : undefined;
      if (!risk) continue;
      reminded.add(`${org.id} ${today}`);
      notices.tell(at, {
        org,
        category: 'streak_reminders',
        title: `Your streak of ${risk.days} days ends today`,
        content: 'Nothing was published today: publish a post before midnight and it goes on.',
        to: withRole(org, MAKERS),
      });
    }
  }
  const nextEvening = (at: number, org: Org): number => {
    const today = dayOf(shownAt(org.zone, at));
    const evenings = [today, today + DAY].flatMap((day) =>
      atRisk(org, day) ? [instantOf(org.zone, day + EVENING)] : [],
    );
    return Math.min(...evenings.filter((evening) => evening > at));
  };

  const textOf = ({ label, channel, value, date, baseline }: Anomaly): string =>
    `${label} of ${channel.name}: ${countText(value)} on ${date}, usually ${countText(baseline)}`;
  function tellNumbers(at: number, told: readonly Told[]): void {
    for (const { kind } of told) if (kind === 'away') retries.add(ceil(at + HOUR + 1));
    for (const { org, anomalies } of numbers.told(at, told)) {
      hook(at, org, 'analytics.snapshot_complete');
      const [first] = anomalies;
      if (!first) continue;
      hook(at, org, `analytics.anomaly_detected ${anomalies.map(bodyOf).join()}`);
      const lines = anomalies.slice(0, MOST_LINES).map(textOf);
      if (anomalies.length > MOST_LINES) lines.push(`and ${anomalies.length - MOST_LINES} more`);
      notices.tell(at, {
        org,
        category: 'analytics_alerts',
        title:
          anomalies.length === 1
            ? `${first.label} of ${first.channel.name} stand out`
            : `${anomalies.length} numbers of your channels stand out`,
        content: lines.join('\n'),
        to: withRole(org, MAKERS),
      });
    }
  }

  const publish = (at: number, post: Post): void => {
    const { org, name } = post.channel;
    posts.set(post.id, post);
    numbers.published(post);
    published.get(org)!.add(dayOf(shownAt(org.zone, at)));
    hook(at, org, `post.published ${post.id}`);
    const title = `Published on ${name}`;
    notices.tell(at, { org, category: 'post_published', title, content: contentOf(post), to: [post.maker] });
  };

  return {
    ...notices,
    numbers,
    hooks,
    /** It is `at`: what is due is done, then what networks answered meanwhile. */
    reach(at: number, { said, told }: { said: readonly Said[]; told: readonly Told[] }): void {
      if (at - lastHourly >= HOUR) lastHourly = at;
      notices.closeDue(at);
      tellWeeks(at);
      tellComments(at, said);
      remind(at);
      tellNumbers(at, told);
    },
    happen(at: number, happening: Happening): void {
      if (happening.kind === 'post') return publish(at, happening.post);
      if (happening.kind === 'wishes') return void (happening.person.wishes = happening.wishes);
      if (happening.kind === 'failed') {
        const { channel, maker, id } = happening.post;
        const to = [maker, ...withRole(channel.org, KEEPERS)];
        const title = `A post was not published on ${channel.name}`;
        notices.tell(at, { org: channel.org, category: 'post_failed', title, content: `Refused\nPost ${id}`, to });
      }
      if (happening.kind === 'broadcast') {
        const { org, title, channels: names } = happening;
        const ways = names.map((name) => (name === 'in-app' ? 'inApp' : name));
        const to = people.filter((person) => person.roles.some((one) => one.org === org));
        notices.tell(at, { org, category: 'announcements', title, content: 'Read it', to, ways });
      }
    },
    /** The next time after `at` at which something is due. */
    nextDue: (at: number): number =>
      Math.min(
        notices.nextEnd(),
        ...[...summaries].filter(([org]) => numbers.isCounted(org)).map(([, due]) => due),
        ...orgs.map((org) => nextEvening(at, org)),
        ...[...retries].filter((due) => due > at),
      ),
    /** What tables are to have. */
    stored: () => ({
      notifications: notices.kept(keptFrom(lastHourly, KEPT.notifications)),
      emails: notices.mails.filter(({ at }) => at >= keptFrom(lastHourly, KEPT.emails)),
      comments: [...comments.values()].filter(({ at }) => at >= keptFrom(lastHourly, KEPT.comments)),
      ...numbers.kept(lastHourly, { dayDays: KEPT.days, postDays: KEPT.posts }),
      streaks: [...published].flatMap(([org, days]) => [...days].map((day) => `${org.id} ${dateText(day)}`)).toSorted(),
    }),
  };
}
export type Model = ReturnType<typeof openModel>;

export const contentOf = ({ id, channel }: Post): string => `Post ${id}\nhttps://${channel.network}.example/${id}`;
export const bodyOf = (
  one: Omit<Anomaly, 'channel' | 'label'> & ({ channel: { id: string } } | { integrationId: string }),
) =>
  [
    'channel' in one ? one.channel.id : one.integrationId,
    one.metric,
    one.date,
    one.direction,
    one.value,
    one.baseline,
    one.deviation,
  ].join(' ');
