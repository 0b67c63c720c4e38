import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';
import { zoneAt } from '../../support/worlds/zones.ts';

let world: Notified;
type Member = Awaited<ReturnType<Notified['member']>>;
let viewer: Member;
beforeAll(async () => {
  world = await notified();
  viewer = await world.member('viewer');
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await world.sql`delete from streak_days`;
  await world.sql`delete from outbox`;
  await world.sql`delete from outbox_cursors`; // each test hears with a listener of its own
  await world.sql`delete from notifications`;
  await world.sql`delete from notification_windows`;
  await world.sql`delete from emails`;
});

const listen = () => world.context.listeners.find(({ name }) => name === 'streaks')!;
const remind = () => world.context.sweeps.find(({ name }) => name === 'streak-reminders')!.run(500);
const zoned = (zone: string, orgId = world.orgId) =>
  world.sql`update organizations set timezone = ${zone} where id = ${orgId}`;
/** Writes days down, so many days ago in the zone of the organization. */
const days = (ago: readonly number[], orgId = world.orgId) => world.sql`
  insert into streak_days (org_id, day)
  select o.id, (now() at time zone o.timezone)::date - ago
  from organizations o, unnest(${[...ago]}::int[]) as d (ago)
  where o.id = ${orgId}`;
const streak = async () => (await world.owner.client.get('/user/streak')).body;
const dateOf = async (ago: number) =>
  (
    await world.sql`
      select ((now() at time zone timezone)::date - ${ago}::int)::text as day from organizations where id = ${world.orgId}`
  )[0]!['day'] as string;

describe('GET /user/streak', () => {
  test.each([
    [[], { current: 0, longest: 0 }],
    [[0], { current: 1, longest: 1 }],
    [[1], { current: 1, longest: 1 }],
    [[2], { current: 0, longest: 1 }],
    [[0, 1, 2, 4, 5, 6, 7], { current: 3, longest: 4 }],
    [[1, 2, 3, 5], { current: 3, longest: 3 }],
    [[3, 4, 5, 9], { current: 0, longest: 3 }],
  ])('of the days %j ago is %j [S180]', async (ago, expected) => {
    await zoned(zoneAt(12, new Date()));
    await days(ago);
    const last = ago.length === 0 ? null : await dateOf(Math.min(...ago));
    expect(await streak()).toEqual({ ...expected, lastDate: last });
  });

  test('counts days by the clocks of the organization, once however much was published [S180]', async () => {
    await zoned('Etc/GMT+12'); // a day behind the zone below, whatever the time
    const payload = () => world.published(world.owner.userId);
    await world.hear([payload(), payload(), world.published(null, { rootPostId: newId() })], listen());
    expect(await streak()).toEqual({ current: 1, longest: 1, lastDate: await dateOf(0) });
    await zoned('Etc/GMT-12');
    await world.hear([payload()], listen());
    expect(await streak()).toEqual({ current: 2, longest: 2, lastDate: await dateOf(0) });
  });
  test('a later item of a thread alone is no published post [S180]', async () => {
    await world.hear([world.published(null, { rootPostId: newId() })], listen());
    expect(await streak()).toEqual({ current: 0, longest: 0, lastDate: null });
  });
});

describe('the reminder of a streak', () => {
  const rows = (person: { userId: string }) => world.rowsOf(person);
  async function hearReminders() {
    expect(await remind()).toBe(1);
    const facts = await world.sql`select topic, entity_id, payload from outbox where topic = 'streak.at_risk'`;
    await world.hear([]);
    return facts;
  }

  test('tells who may create posts, once a day, from 20:00 on when today has no post [S180, NO19]', async () => {
    await zoned(zoneAt(21, new Date()));
    await days([1, 2, 3, 4, 6]);
    const [fact] = await hearReminders();
    expect(fact).toMatchObject({ entity_id: world.orgId, payload: { days: 4, day: await dateOf(0) } });
    const [row, ...more] = await rows(world.owner);
    expect([row, more]).toEqual([
      {
        category: 'streak_reminders',
        title: 'Your streak of 4 days ends today',
        content: expect.stringContaining('Nothing was published today'),
        link: '/posts',
      },
      [],
    ]);
    expect(await world.mailsTo(world.owner)).toHaveLength(1);
    expect(await rows(viewer)).toEqual([]);
    expect(await remind()).toBe(0);
    expect(await world.sql`select from outbox where topic = 'streak.at_risk'`).toEqual([]);
  });

  test.each([
    ['before 20:00', 18, [1, 2, 3]],
    ['when today has a post', 21, [0, 1, 2, 3]],
    ['of two days', 21, [1, 2]],
    ['that has a gap', 21, [1, 2, 4, 5]],
    ['that is over', 21, [2, 3, 4, 5]],
  ])('is not sent %s [S180]', async (_, hour, ago) => {
    await zoned(zoneAt(hour, new Date()));
    await days(ago);
    expect(await remind()).toBe(0);
  });

  test('of organizations in other zones waits for their evening; of one that is removed or disabled none comes [S180]', async () => {
    const [other, removed, off] = [await world.signUp(), await world.signUp(), await world.signUp()];
    await zoned(zoneAt(21, new Date()));
    await zoned(zoneAt(11, new Date()), other.orgId);
    await zoned(zoneAt(21, new Date()), removed.orgId);
    await world.sql`update organizations set deleted_at = now() where id = ${removed.orgId}`;
    await zoned(zoneAt(21, new Date()), off.orgId);
    await world.sql`update organizations set disabled_at = now() where id = ${off.orgId}`;
    for (const orgId of [world.orgId, other.orgId, removed.orgId, off.orgId]) await days([1, 2, 3], orgId);
    expect(await remind()).toBe(1);
    expect(await world.sql`select org_id from streak_days where reminded`).toEqual([{ org_id: world.orgId }]);
    await world.sql`delete from outbox`;
  });
});
