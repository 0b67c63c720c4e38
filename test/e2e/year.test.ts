import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { note } from '../support/processes/chaos.ts';
import { virtualDatabase } from '../support/wire/virtual-time.ts';
import { castOf, countsOf, DAY, DAYS, GRID, HOUR, MINUTE, planOf, START } from './year/cast.ts';
import { type Model, openModel } from './year/model.ts';
import type { Push } from './year/notices.ts';
import { openYear, type YearWorld } from './year/world.ts';

// A year of people, networks and the clock, in one process of the product: what arrived at others, and what is kept, is
// what a model says that reads the contract alone.

const SEED = Number(process.env['YEAR_SEED'] ?? 1);
/** Collections begin until 04:30 UTC. */
const NIGHT = 4 * HOUR + 35 * MINUTE;

interface Ended {
  world: YearWorld;
  model: Model;
  plan: ReturnType<typeof planOf>;
}
let year: Ended;
let stack: AsyncDisposableStack;
const judged: { at: number; stored: unknown; wanted: unknown }[] = [];

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  const begun = performance.now();
  const used = process.cpuUsage();
  const cast = castOf(SEED);
  const plan = planOf(cast);
  const model = openModel(cast, START);
  const db = stack.use(await virtualDatabase(START));
  const world = stack.use(await openYear(db, cast, countsOf(cast), START));
  year = { world, model, plan };
  const nights = Array.from({ length: DAYS }, (_, day) => START + day * DAY + NIGHT);
  const coming = [...new Set([...plan.keys(), ...nights])].toSorted((a, b) => a - b);
  let reached = 0;
  let at = START;
  const reach = async (next: number) => {
    if (next <= at || next % GRID !== 0)
      throw new Error(`The model does not go on from ${isoOf(at)} to ${isoOf(next)}`);
    // after an hour everything that runs hourly has just run, here and there
    const isWholeRun = next - at > HOUR + GRID;
    at = next;
    reached += 1;
    model.reach(at, await world.reach(at));
    if (isWholeRun && at - (judged.at(-1)?.at ?? START) > 30 * DAY) await judge();
  };
  const judge = async () => void judged.push({ at, stored: await storedIn(world), wanted: wantedOf(model) });
  while (coming.length > 0) {
    const next = Math.min(coming[0]!, model.nextDue(at));
    if (coming[0] === next) coming.shift();
    await reach(next);
    const happenings = plan.get(at) ?? [];
    for (const happening of happenings) model.happen(at, happening);
    if (happenings.length > 0) await world.happen(happenings);
  }
  await reach(at + 2 * HOUR);
  await judge();
  const { mails, pushes, hooks, asked } = world.recorded;
  const seconds = Math.round((performance.now() - begun) / 1_000);
  const { user, system } = process.cpuUsage(used);
  note({
    YEAR_SEED: SEED,
    reached,
    mails: mails.length,
    pushes: pushes.length,
    hooks: hooks.length,
    asked: asked.size,
    seconds,
    cpu: Math.round((user + system) / 1e6),
  });
}, 900_000);
afterAll(() => stack?.disposeAsync(), 60_000);

const isoOf = (at: number): string => new Date(at).toISOString().slice(0, 16);

test('every mail leaves at its time with what it has to tell: at once, after a burst, at the end of quiet hours, or in a digest [NO27, NO28, S180, S238]', () => {
  const { world, model } = year;
  const lines = (mails: Model['mails']) =>
    mails.map(({ at, to, subject, titles }) => `${isoOf(at)} ${to} ${subject}: ${titles.join(' | ')}`).toSorted();
  expect(lines(world.recorded.mails)).toEqual(lines(model.mails));
  expect(model.mails.length).toBeGreaterThan(5 * DAYS);
});

test('every push leaves at its time, and those of quiet hours as one', () => {
  const { world, model } = year;
  const bodies = (all: readonly Push[]) =>
    new Map(Map.groupBy(all, ({ at, to, title }) => `${isoOf(at)} ${to} ${title}`));
  const wanted = bodies(model.pushes);
  const had = bodies(world.recorded.pushes);
  const numbers = (of: typeof had) => [...of].map(([key, some]) => `${key} x${some.length}`).toSorted();
  expect(numbers(had)).toEqual(numbers(wanted));
  for (const [key, some] of had)
    for (const {
      bodies: [body],
    } of some)
      expect(wanted.get(key)!.flatMap((one) => one.bodies)).toContain(body);
  expect(model.pushes.length).toBeGreaterThan(DAYS / 2);
});

test('every event reaches the webhook of its organization once, in order [WH16, WH17, WH19, WH20]', () => {
  const { world, model } = year;
  for (const orgId of new Set(model.hooks.map((hook) => hook.orgId))) {
    // sweeps that are due at one time begin together and end in any order: only what is of one kind has one
    const kindOf = (line: string) => line.split(' ', 2).join(' ');
    const of = (hooks: Model['hooks']) =>
      hooks
        .filter((hook) => hook.orgId === orgId)
        .map(({ at, what }) => `${isoOf(at)} ${what}`)
        .toSorted((a, b) => (kindOf(a) < kindOf(b) ? -1 : Number(kindOf(a) > kindOf(b))));
    expect(of(world.recorded.hooks)).toEqual(of(model.hooks));
  }
  const kinds = new Set(model.hooks.map(({ what }) => what.split(' ')[0]));
  expect(kinds.size).toBe(4);
});

test('what is kept is what the model keeps, every thirty days and at the end [RT2, RT3]', () => {
  for (const { at, stored, wanted } of judged)
    expect({ at: isoOf(at), ...(stored as object) }).toEqual({ at: isoOf(at), ...(wanted as object) });
  expect(judged.length).toBeGreaterThanOrEqual(DAYS / 33);
});

test('each channel is asked for its numbers once each night, and again when its network was away', () => {
  const { world, model } = year;
  const nights = [...world.recorded.asked].filter(([what]) => what.startsWith('days'));
  expect(new Set(nights.map(([what]) => what.split(' ')[2])).size).toBe(DAYS - 1); // the first one was there before them
  expect(nights.length).toBe(8 * (DAYS - 1));
  expect(nights.filter(([, n]) => n > 4)).toEqual([]);
  expect(model.numbers.anomalies.length).toBeGreaterThan(DAYS / 10);
});

test('below each post comments are looked for every day, for thirty days', () => {
  const { world, plan } = year;
  const looks = Map.groupBy(world.recorded.asked, ([what]) => what.split(' ')[1]!);
  const posts = [...plan.values()]
    .flat()
    .flatMap((one) => (one.kind === 'post' && one.post.channel.network === 'words' ? [one.post] : []))
    .filter(({ at }) => at < START + (DAYS - 32) * DAY);
  expect(posts.length).toBeGreaterThan(DAYS / 10);
  const times = posts.map(
    ({ id, at }) => [isoOf(at), (looks.get(id) ?? []).reduce((sum, [, n]) => sum + n, 0)] as const,
  );
  // a look that is half a day late, as times are reached here, lets the next one leave out old posts
  expect(times.filter(([, n]) => n < 27 || n > 31)).toEqual([]);
});

test('nothing went wrong that nobody foresaw', () => {
  expect(year.world.troubles()).toEqual([]);
});

/** The tables, as the model writes them. */
async function storedIn({ sql }: YearWorld) {
  const texts = async (rows: Promise<readonly { text: string }[]>) => (await rows).map(({ text }) => text).toSorted();
  return {
    notifications: await texts(sql`select user_id || ' ' || title || ' ' || content as text from notifications`),
    emails: await texts(sql`select to_address as text from emails`),
    comments: await texts(sql`select external_id as text from social_comments`),
    days: await texts(sql`select concat_ws(' ', channel_id, metric, date, value) as text from analytics_days`),
    weeks: await texts(sql`select concat_ws(' ', channel_id, metric, week, value) as text from analytics_weeks`),
    posts: await texts(sql`select concat_ws(' ', post_id, date, counts ->> 'likes') as text from analytics_post_days`),
    gaps: await texts(sql`select concat_ws(' ', channel_id, date) as text from analytics_gaps`),
    streaks: await texts(sql`select concat_ws(' ', org_id, day) as text from streak_days`),
  };
}
function wantedOf(model: Model) {
  const { notifications, emails, comments, ...more } = model.stored();
  return {
    notifications: notifications.map(({ to, title, content }) => `${to} ${title} ${content}`).toSorted(),
    emails: emails.map(({ to }) => to).toSorted(),
    comments: comments.map(({ id }) => id).toSorted(),
    ...more,
  };
}
