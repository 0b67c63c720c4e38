import { type Channel, DAY, type Org, type Post } from './cast.ts';
import { dateText, dayOf, mondayOf } from './clocks.ts';

// What is to be kept of the numbers of networks, by the contract: AN1 to AN6, RT1 to RT4, S182 to S185.

const METRICS = [
  ['views', 'Views'],
  ['likes', 'Likes'],
  ['followers', 'Followers'],
] as const;
type Metric = (typeof METRICS)[number][0];
const DAYS_BACK = 7;
const BASELINE = 28;
const LEAST = 14;
const THRESHOLD = 3;
const COOLDOWN_DAYS = 3;

/** The answer of a network to one question, at the time of the grid at which it was asked. */
export type Told =
  | { kind: 'days'; channelId: string; views: ReadonlyMap<string, number>; followers: number }
  | { kind: 'away'; channelId: string }
  | { kind: 'likes'; channelId: string; likes: ReadonlyMap<string, number> };
export interface Anomaly {
  channel: Channel;
  metric: Metric;
  label: string;
  date: string;
  direction: 'spike' | 'drop';
  value: number;
  baseline: number;
  deviation: number;
}
/** A collection that has ended. */
export interface Ended {
  org: Org;
  anomalies: readonly Anomaly[];
}

const before = (date: string, days: number): string => dateText(Date.parse(date) - days * DAY);
const rounded = (value: number, digits: number): number => Math.round(value * 10 ** digits) / 10 ** digits;
export const countText = (value: number): string => Math.round(value).toLocaleString('en');

export function openNumbers(channels: readonly Channel[]) {
  const counted = channels.filter(({ network }) => network === 'counts');
  /** By channel, metric and date. */
  const values = new Map<string, Record<Metric, Map<string, number>>>(
    counted.map(({ id }) => [id, { views: new Map(), likes: new Map(), followers: new Map() }]),
  );
  const likes = new Map<string, Map<string, Map<string, number>>>(counted.map(({ id }) => [id, new Map()]));
  const gaps = new Set<string>();
  const left = new Map<string, { org: Org; day: string; channels: Map<string, number> }>();
  const found: Anomaly[] = [];
  const lastDays = new Map<string, string>();
  const posts = new Map<string, Post>();

  function keepDays(day: string, told: Extract<Told, { kind: 'days' }>): void {
    const { views, followers } = values.get(told.channelId)!;
    for (let n = 0; n < DAYS_BACK; n++) views.set(before(day, n), told.views.get(before(day, n))!);
    followers.set(day, told.followers);
  }
  /** The growth of posts; all that a post has, where it is younger than the last look. */
  function derive(day: string, { channelId, likes: now }: Extract<Told, { kind: 'likes' }>): void {
    const kept = likes.get(channelId)!;
    const dates = [...kept.keys()].toSorted();
    const last = dates.at(-1);
    const since = last === undefined ? day : before(last, -1);
    let sum = 0;
    let isAny = false;
    for (const [id, value] of now) {
      const then = dates.findLast((date) => kept.get(date)!.has(id));
      if (then === undefined && dateText(posts.get(id)!.at) < since) continue;
      isAny = true;
      sum += Math.max(0, value - (then === undefined ? 0 : kept.get(then)!.get(id)!));
    }
    if (now.size > 0) kept.set(day, new Map(now));
    if (isAny) values.get(channelId)!.likes.set(day, sum);
  }

  /** Those of the days that networks were asked for: one for a channel and metric within the days of the cooldown. */
  function anomaliesOf(org: Org, day: string): Anomaly[] {
    const isTold = ({ channel, metric, date }: Anomaly): boolean =>
      found.some(
        (one) =>
          one.channel === channel &&
          one.metric === metric &&
          one.date >= before(date, COOLDOWN_DAYS) &&
          one.date <= before(date, -COOLDOWN_DAYS),
      );
    const all: Anomaly[] = [];
    for (const channel of counted.filter((one) => one.org === org))
      for (const metric of METRICS)
        for (let n = DAYS_BACK - 1; n >= 0; n--) {
          const one = judged(channel, metric, before(day, n));
          if (!one || isTold(one)) continue;
          found.push(one);
          all.push(one);
        }
    const keyOf = ({ channel, metric, date }: Anomaly) => `${channel.id} ${metric} ${date}`;
    return all.toSorted((a, b) => Math.abs(b.deviation) - Math.abs(a.deviation) || (keyOf(a) < keyOf(b) ? -1 : 1));
  }
  function judged(channel: Channel, [metric, label]: (typeof METRICS)[number], day: string): Anomaly | undefined {
    const of = values.get(channel.id)![metric];
    const valueAt = (date: string): number | undefined => {
      if (metric === 'likes' && gaps.has(`${channel.id} ${before(date, 1)}`)) return undefined;
      const value = of.get(date);
      if (metric !== 'followers') return value;
      const was = of.get(before(date, 1));
      return value === undefined || was === undefined ? undefined : value - was;
    };
    const value = valueAt(day);
    const base = Array.from({ length: BASELINE }, (_, n) => valueAt(before(day, n + 1))).filter(
      (one) => one !== undefined,
    );
    if (value === undefined || base.length < LEAST) return undefined;
    const mean = base.reduce((sum, one) => sum + one, 0) / base.length;
    if (Math.abs(value) < 10 && Math.abs(mean) < 10) return undefined;
    const sd = Math.sqrt(base.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (base.length - 1));
    const deviation = (value - mean) / Math.max(sd, Math.sqrt(Math.abs(mean)), 1);
    if (Math.abs(deviation) < THRESHOLD) return undefined;
    return {
      channel,
      metric,
      label,
      date: day,
      direction: deviation > 0 ? 'spike' : 'drop',
      value,
      baseline: rounded(mean, 2),
      deviation: rounded(deviation, 1),
    };
  }

  return {
    isCounted: (org: Org): boolean => counted.some((channel) => channel.org === org),
    published: (post: Post): void => void posts.set(post.id, post),
    /** What networks told of their last whole day; answers the collections that ended by it. */
    told(at: number, all: readonly Told[]): Ended[] {
      const day = dateText(dayOf(at) - DAY);
      const ended: Ended[] = [];
      for (const told of all) {
        const { org } = channels.find(({ id }) => id === told.channelId)!;
        const key = `${org.id} ${day}`;
        let run = left.get(key);
        if (!run) {
          const own = counted.filter((channel) => channel.org === org);
          left.set(key, (run = { org, day, channels: new Map(own.map(({ id }) => [id, 0])) }));
        }
        if (told.kind === 'days') {
          keepDays(day, told);
          if (!all.some((one) => one.kind === 'likes' && one.channelId === told.channelId))
            run.channels.delete(told.channelId);
        } else if (told.kind === 'likes') {
          derive(day, told);
          run.channels.delete(told.channelId);
        } else {
          const tries = (run.channels.get(told.channelId) ?? 0) + 1;
          run.channels.set(told.channelId, tries);
          if (tries > 3) {
            run.channels.delete(told.channelId);
            gaps.add(`${told.channelId} ${day}`);
          }
        }
        if (run.channels.size > 0) continue;
        left.delete(key);
        lastDays.set(org.id, day);
        ended.push({ org, anomalies: anomaliesOf(org, day) });
      }
      return ended;
    },
    /** The sums of the last seven collected days and of those before; undefined: nothing is told. */
    week(at: number, org: Org): { from: string; to: string; lines: string[] } | undefined {
      const to = lastDays.get(org.id);
      if (to === undefined || at - Date.parse(to) > 4 * DAY) return undefined;
      const days = (from: number) => Array.from({ length: 7 }, (_, n) => before(to, from - n));
      const lines = METRICS.flatMap(([metric, label]) => {
        const known = (id: string, dates: readonly string[]): number[] =>
          dates.map((date) => values.get(id)![metric].get(date)).filter((one) => one !== undefined);
        /** Of flows the days of a week that the other week knows too. */
        const inBoth = (id: string, of: number, other: number): string[] =>
          days(of).filter((_, n) => metric === 'followers' || values.get(id)![metric].has(days(other)[n]!));
        const of = counted
          .filter((channel) => channel.org === org)
          .map(({ id }) => [days(6), inBoth(id, 6, 13), inBoth(id, 13, 6)].map((dates) => known(id, dates)))
          .filter(([now, , then]) => metric !== 'followers' || (now!.length > 0 && then!.length > 0));
        const over = (some: readonly number[]): number =>
          metric === 'followers' ? some.at(-1)! : some.reduce((a, b) => a + b, 0);
        const [now, compared, then] = [0, 1, 2].map((n) => of.reduce((total, some) => total + over(some[n]!), 0));
        if (now === 0 && then === 0) return [];
        const beside = `${countText(compared!)}, a week before ${countText(then!)}`;
        if (compared === now) return [`${label}: ${beside}`];
        const isCompared = compared! > 0 || then! > 0;
        return [`${label}: ${countText(now!)}${isCompared ? `; of the days known in both weeks ${beside}` : ''}`];
      });
      return lines.length === 0 ? undefined : { from: before(to, 6), to, lines };
    },
    /** What is to be there: days, the weeks of what is older, and the totals of posts. */
    kept(lastRun: number, { dayDays, postDays }: { dayDays: number; postDays: number }) {
      const firstDay = dateText(mondayOf(dayOf(lastRun) - dayDays * DAY));
      const firstPostDay = dateText(dayOf(lastRun) - postDays * DAY);
      const days: string[] = [];
      const weeks = new Map<string, number>();
      for (const [id, metrics] of values)
        for (const [metric, points] of Object.entries(metrics))
          for (const [date, value] of [...points].toSorted(([a], [b]) => (a < b ? -1 : 1)))
            if (date >= firstDay) days.push(`${id} ${metric} ${date} ${value}`);
            else {
              const week = `${id} ${metric} ${dateText(mondayOf(Date.parse(date)))}`;
              weeks.set(week, metric === 'followers' ? value : (weeks.get(week) ?? 0) + value);
            }
      return {
        days: days.toSorted(),
        weeks: [...weeks].map(([week, value]) => `${week} ${value}`).toSorted(),
        posts: [...likes.values()]
          .flatMap((byDay) => [...byDay])
          .filter(([date]) => date >= firstPostDay)
          .flatMap(([date, some]) => [...some].map(([id, value]) => `${id} ${date} ${value}`))
          .toSorted(),
        gaps: [...gaps].filter((gap) => gap.split(' ')[1]! >= dateText(dayOf(lastRun) - dayDays * DAY)).toSorted(),
      };
    },
    anomalies: found,
  };
}
