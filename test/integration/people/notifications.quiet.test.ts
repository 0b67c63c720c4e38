import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { emptyTables } from '../../support/wire/database.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';

let world: Notified;
type Member = Awaited<ReturnType<Notified['member']>>;
let ann: Member;
beforeAll(async () => {
  world = await notified();
  ann = await world.member('member');
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await emptyTables(world.sql, 'notifications', 'notification_windows', 'emails', 'pushes');
  await world.sql`update user_profiles set notification_preferences = '{}', timezone = 'UTC'`;
});

const hear = (count: number) =>
  world.hear(Array.from({ length: count }, (_, n) => world.published(ann.userId, { channelName: `Channel ${n}` })));
const announce = async () => {
  const { status } = await world.owner.client.post('/notifications/broadcast', {
    title: 'News',
    content: 'Words',
    target: { type: 'users', userIds: [ann.userId] },
    channels: ['email'],
  });
  expect(status).toBe(200);
};
const headings = async () => (await world.mailsTo(ann)).map(({ heading }) => heading);
const windows = () =>
  world.sql<{ kind: string; dueAt: Date }[]>`select kind, due_at as "dueAt" from notification_windows`;
/** A span around now in UTC, or one that begins in so many hours. */
const span = (fromHours: number, toHours: number) => {
  const time = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
  return { from: time(fromHours), to: time(toHours) };
};
/** As if it had been chosen before the windows that are open. */
const choose = (quietHours: { from: string; to: string }) =>
  world.sql`update user_profiles set notification_preferences = ${world.sql.json({ quietHours })}`;

describe('quiet hours', () => {
  test('hold mails and pushes, which leave as one each at their end; rows do not wait', async () => {
    const token = await world.device(ann);
    await world.wish(ann, { quietHours: span(-2, 2), categories: { post_published: { push: true } } });
    await hear(3);
    expect([(await world.rowsOf(ann)).length, await headings(), await world.pushesTo(ann)]).toEqual([3, [], []]);
    const [first, second] = await windows();
    expect([first!.kind, second!.kind].toSorted()).toEqual(['quiet', 'quiet-push']);
    expect(Math.abs(first!.dueAt.getTime() - Date.now() - 2 * 3_600_000)).toBeLessThan(120_000);
    await world.closeWindows();
    expect(await headings()).toEqual(['Published posts: 3']);
    expect(await world.pushesTo(ann)).toMatchObject([{ title: 'Published posts: 3' }]);
    await ann.client.delete('/notifications/push-tokens', { token });
  });
  test('hold what bursts before them collect, in the one mail at their end', async () => {
    const soon = span(0.1, 2); // in 5 to 6 minutes: bursts of now end in them
    await choose(soon);
    await hear(1);
    await announce();
    expect(await headings()).toHaveLength(2); // the first of each category goes at once
    await hear(2);
    await announce();
    await choose({ ...soon, from: span(-1, 2).from });
    await hear(1);
    expect(await headings()).toHaveLength(2);
    expect(new Set((await windows()).map(({ dueAt }) => dueAt.getTime())).size).toBe(1);
    await world.forgetMails();
    await world.closeWindows();
    expect(await headings()).toEqual(['4 notifications']);
  });
  test('hold a digest whose hour lies in them, in the one mail at their end', async () => {
    const quietHours = { from: '07:00', to: '09:00' };
    await world.wish(ann, { digest: 'Daily', quietHours });
    await hear(2);
    const [digest] = await windows();
    expect([digest!.kind, digest!.dueAt.toISOString().slice(11, 16)]).toEqual(['digest', '09:00']);
    await world.wish(ann, { digest: 'Daily', quietHours: span(-2, 2) });
    await announce(); // waits for the end of quiet hours
    await world.closeWindows();
    const mails = await world.mailsTo(ann);
    expect(mails.map(({ heading }) => heading)).toEqual(['3 notifications']);
    expect(mails[0]!.groups.map(({ lines }: { lines: unknown[] }) => lines.length)).toEqual([3]);
    expect(await windows()).toEqual([]);
  });
  test('let a digest leave alone where they held nothing, or are not over', async () => {
    await world.wish(ann, { digest: 'Daily', quietHours: span(-2, 2) });
    await hear(2);
    await announce();
    await world.closeWindows((tx) => tx`update notification_windows set due_at = now() where kind = 'digest'`);
    expect(await headings()).toEqual(['Your digest: 2 notifications']);
    expect((await windows()).map(({ kind }) => kind)).toEqual(['quiet']);
  });
  test('hold nothing of a burst that ends before them', async () => {
    await hear(1);
    await choose(span(0.1, 2));
    await hear(2);
    const kinds = await world.sql`select distinct split_part(kind, ' ', 1) as kind from notification_lines`;
    expect(kinds).toEqual([{ kind: 'burst' }]);
    await world.forgetMails();
    await world.closeWindows(
      (tx) => tx`update notification_windows set due_at = now() where due_at < now() + interval '11 minutes'`,
    );
    expect(await headings()).toEqual(['Published posts: 2 more']);
  });
  test('that are not now hold nothing, and null ends them', async () => {
    await world.wish(ann, { quietHours: span(2, 4) });
    expect((await ann.client.get('/notifications/preferences')).body.quietHours).toEqual(span(2, 4));
    await hear(1);
    expect(await headings()).toHaveLength(1);
    await choose(span(-2, 4));
    await hear(2);
    expect(await headings()).toHaveLength(1);
    await world.wish(ann, { quietHours: null });
    expect((await ann.client.get('/notifications/preferences')).body.quietHours).toBeNull();
    await world.closeWindows(() => undefined); // what waited for their end
    expect(await headings()).toHaveLength(2);
  });
  test.each([
    [{ quietHours: { from: '24:00', to: '07:00' } }, 'quietHours.from'],
    [{ quietHours: { from: '22:00' } }, 'quietHours.to'],
    [{ quietHours: { from: '22:00', to: '22:00' } }, 'quietHours.to'],
    [{ quietHours: { from: '22:00', to: '07:00', zone: 'UTC' } }, 'quietHours.zone'],
    [{ quietHours: 'night' }, 'quietHours'],
  ])('refuse %j by name', async (change, field) => {
    const { status, body } = await ann.client.put('/notifications/preferences', change);
    expect([status, body.errors?.[0]?.field]).toEqual([400, field]);
  });
});
