import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { Client } from '../../support/worlds/app.ts';
import { mailsOf } from '../../support/worlds/mail/mails.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Notified, notified, postPayload } from '../../support/worlds/mail/notified.ts';

const BACKEND = 'https://api.example';
let world: Notified;
type Member = Awaited<ReturnType<Notified['member']>>;
let ann: Member;
beforeAll(async () => {
  world = await notified({ env: { NEXT_PUBLIC_BACKEND_URL: BACKEND } });
  ann = await world.member('member');
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await emptyTables(world.sql, 'notifications', 'notification_windows', 'emails', 'pushes');
  await world.sql`update user_profiles set notification_preferences = '{}', timezone = 'UTC'`;
});

const hear = (count: number, more = {}) =>
  world.hear(
    Array.from({ length: count }, (_, n) => world.published(ann.userId, { channelName: `Channel ${n}`, ...more })),
  );
const headings = async (person = ann) => (await world.mailsTo(person)).map(({ heading }) => heading);
const windows = () =>
  world.sql<{ kind: string; dueAt: Date }[]>`select kind, due_at as "dueAt" from notification_windows`;
/** A span around now in UTC, or one that begins in two hours. */
const span = (fromHours: number, toHours: number) => {
  const time = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
  return { from: time(fromHours), to: time(toHours) };
};
const tokenOf = async (person = ann) =>
  new URL((await world.mailsTo(person))[0]!.unsubscribeUrl).searchParams.get('token')!;

describe('bursts', () => {
  test('keep the words of broadcasts, which may be nowhere else', async () => {
    for (const title of ['One', 'Two', 'Three']) {
      const { status } = await world.owner.client.post('/notifications/broadcast', {
        title,
        content: `The words of ${title}`,
        link: '/calendar',
        target: { type: 'users', userIds: [ann.userId] },
        channels: ['email'],
      });
      expect(status).toBe(200);
    }
    await world.forgetMails();
    await world.closeWindows();
    expect((await world.mailsTo(ann))[0]!.groups[0]!.lines).toMatchObject([
      { title: 'Two', content: 'The words of Two', isWhole: true },
      { title: 'Three', content: 'The words of Three', isWhole: true },
    ]);
  });

  test('the first mail goes at once, and what follows within ten minutes is one with a count', async () => {
    await hear(1);
    expect(await headings()).toEqual(['Published on Channel 0']);
    await hear(60);
    const [window] = await windows();
    expect(window!.dueAt.getTime() - Date.now()).toBeLessThanOrEqual(600_000);
    expect(window!.dueAt.getTime() - Date.now()).toBeGreaterThan(500_000);
    await world.closeWindows(() => undefined); // not due
    expect(await headings()).toHaveLength(1);
    await world.forgetMails();
    await world.closeWindows();
    const [mail] = await world.mailsTo(ann);
    expect(mail).toMatchObject({ heading: 'Published posts: 60 more', groups: [{ orgName: 'Acme Ltd', more: 10 }] });
    expect(mail!.groups[0]!.lines).toHaveLength(50);
    await world.closeWindows();
    expect(await headings()).toHaveLength(1);
    await world.forgetMails();
    await hear(1);
    expect(await headings()).toHaveLength(1); // at once again
  });

  test('of one organization and category hold up no other', async () => {
    const payload = {
      userId: ann.userId,
      operation: 'image',
      providerId: 'x',
      state: 'done' as const,
      fileIds: [],
      path: null,
      error: null,
    };
    const endJob = () => world.hear([{ orgId: world.orgId, topic: 'media.job_ended', entityId: newId(), payload }]);
    await hear(2);
    await endJob();
    await world.wish(ann, { categories: { media_jobs: { email: true } } });
    await endJob();
    expect(await headings()).toEqual(['Published on Channel 0', 'Done: image']);
  });

  test('that nobody wants any more, or whose reader left, end without a mail', async () => {
    await hear(3);
    await world.forgetMails();
    await world.wish(ann, { categories: { post_published: { email: false } } });
    await world.closeWindows();
    expect([await headings(), await windows()]).toEqual([[], []]);
    await world.wish(ann, { categories: { post_published: { email: true } } });
    await hear(3);
    await world.forgetMails();
    await world.sql`update memberships set disabled = true where user_id = ${ann.userId}`;
    await world.closeWindows();
    expect(await headings()).toEqual([]);
    await world.sql`update memberships set disabled = false where user_id = ${ann.userId}`;
  });

  test('tells nothing of an organization that the operator disabled meanwhile', async () => {
    await hear(3);
    await world.forgetMails();
    await world.sql`update organizations set disabled_at = now()`;
    await world.closeWindows();
    expect(await headings()).toEqual([]);
    await world.sql`update organizations set disabled_at = null`;
  });
});

describe('digests', () => {
  test('collect the mails of a window into one, with a part for each organization [NO27, S238]', async () => {
    await world.wish(ann, { digest: 'Daily' });
    const other = await world.signUp();
    await world.sql`insert into memberships (org_id, user_id, role_key) values (${other.orgId}, ${ann.userId}, 'member')`;
    await hear(2);
    await world.hear([{ ...world.published(ann.userId), orgId: other.orgId }]);
    expect(await headings()).toEqual([]);
    const [window] = await windows();
    expect(window!.kind).toBe('digest');
    expect(window!.dueAt.toISOString()).toMatch(/T08:00:00\.000Z$/);
    await world.closeWindows();
    const [mail, ...more] = await world.mailsTo(ann);
    expect(more).toEqual([]);
    expect(mail).toMatchObject({ heading: 'Your digest: 3 notifications', orgId: null });
    expect(mail!.groups.map(({ lines }) => lines.length).toSorted()).toEqual([1, 2]);
    await world.closeWindows(); // an empty window has no mail
    expect(await headings()).toHaveLength(1);
    await world.sql`delete from memberships where org_id = ${other.orgId} and user_id = ${ann.userId}`;
  });

  test('weekly ones end on Monday at 08:00 of the zone of their reader [NO27, S238]', async () => {
    await ann.client.put('/user/profile', { timezone: 'Asia/Tokyo' });
    await world.sql`update user_profiles set timezone = 'Asia/Tokyo' where user_id = ${ann.userId}`;
    await world.wish(ann, { digest: 'Weekly' });
    await hear(1);
    const [window] = await windows();
    expect(window!.dueAt.toISOString()).toMatch(/T23:00:00\.000Z$/);
    expect(window!.dueAt.getUTCDay()).toBe(0); // Sunday there is Monday in Tokyo
  });

  test('that are open end earlier by a change of frequency, zone or quiet hours, and never later [S238]', async () => {
    const hours = async () => Math.round(((await windows())[0]!.dueAt.getTime() - Date.now()) / 3_600_000);
    const wish = (change: object) => ann.client.put('/notifications/preferences', change);
    await world.wish(ann, { digest: 'Weekly' });
    await hear(1);
    await world.sql`update notification_windows set due_at = now() + interval '6 days'`;
    expect((await wish({ digest: 'Daily' })).status).toBe(200);
    const daily = await hours();
    expect(daily).toBeLessThanOrEqual(24);
    await wish({ digest: 'Weekly' });
    await wish({ digest: 'Never' });
    expect(await hours()).toBe(daily);
    await wish({ digest: 'Daily' });
    await world.sql`update notification_windows set due_at = now() + interval '6 days'`;
    expect((await ann.client.post('/user/personal', { name: 'Ann', timezone: 'Asia/Tokyo' })).status).toBe(200);
    expect(await hours()).toBeLessThanOrEqual(24);
    await wish({ digest: 'Instant' });
    expect(await hours()).toBeLessThanOrEqual(0);
    await world.closeWindows(() => undefined); // due without a notice that follows
    expect(await headings()).toHaveLength(1);
  });

  test('each notice is in one mail, whatever the frequency becomes', async () => {
    await world.wish(ann, { digest: 'Weekly' });
    await hear(1, { channelName: 'A' });
    await world.wish(ann, { digest: 'Daily' });
    await hear(1, { channelName: 'B' });
    const [window] = await windows();
    expect(window!.dueAt.getTime() - Date.now()).toBeLessThanOrEqual(24 * 3_600_000); // the nearer end
    await world.wish(ann, { digest: 'Instant' });
    await hear(1, { channelName: 'C' });
    await world.closeWindows();
    const mails = await world.mailsTo(ann);
    const titles = mails.flatMap(({ groups }) => groups.flatMap(({ lines }) => lines.map(({ title }) => title)));
    expect(titles.toSorted()).toEqual(['Published on A', 'Published on B', 'Published on C']);
  });

  test('Never stops the mails of digests, and of no other category [NO28, NO29]', async () => {
    await world.wish(ann, { digest: 'Never' });
    await hear(2);
    expect([await headings(), await windows()]).toEqual([[], []]);
    expect(await world.rowsOf(ann)).toHaveLength(2);
    const { url: _, ...payload } = postPayload(ann.userId);
    await world.hear([
      {
        orgId: world.orgId,
        topic: 'post.unconfirmed',
        entityId: newId(),
        payload: { ...payload, state: 'QUEUE', detail: null, error: '' },
      },
    ]);
    expect(await headings()).toEqual(['Nobody can say whether a post was published on Acme']);
  });

  test('are sent by one of two processes that close windows at once', async () => {
    await world.wish(ann, { digest: 'Daily' });
    await hear(5);
    await world.sql`update notification_windows set due_at = now()`;
    const close = () => world.context.notifications.closeDueWindows(10);
    const closed = await Promise.all([close(), close(), close()]);
    expect(closed.reduce((sum, count) => sum + count)).toBe(1);
    expect(await headings()).toEqual(['Your digest: 5 notifications']);
  });
});
describe('mails that nobody can refuse', () => {
  test('leave whatever their reader has chosen, and are in no list [NO32, NO33]', async () => {
    const email = `${newId()}@example.com`;
    const NOTHING = { email: false, push: false, inApp: false };
    await world.app
      .client()
      .post('/auth/register', { provider: 'LOCAL', email, password: 'correct horse battery', company: 'Eve' });
    await world.sql`
      update user_profiles
      set notification_preferences = ${world.sql.json({ master: NOTHING, digest: 'Never', quietHours: span(-2, 2) })}
      where user_id = (select id from users where email = ${email})`;
    expect((await world.owner.client.post('/members/invitations', { email, role: 'viewer' })).status).toBe(201);
    await world.app.client().post('/auth/resend-activation', { email });
    await world.sql`update users set activated = true where email = ${email}`;
    await world.app.client().post('/auth/forgot', { email });
    const templates = async () => {
      await world.context.sweeps.find(({ name }) => name === 'requested-mails')!.run(10);
      return new Set((await mailsOf(world.context, email)).map(({ content }) => content.template));
    };
    await eventually('all are queued', async () => (await templates()).size === 3);
    expect(await templates()).toEqual(new Set(['activation', 'invitation', 'password-reset']));
    expect(await world.sql`select from notifications`).toEqual([]);
  });
});

describe('unsubscribing', () => {
  const post = (token: string, headers = {}) =>
    new Client(world.app.address).send(
      'POST',
      `/notifications/unsubscribe?token=${token}`,
      'List-Unsubscribe=One-Click',
      {
        'content-type': 'application/x-www-form-urlencoded',
        ...headers,
      },
    );
  const preferences = async () => (await ann.client.get('/notifications/preferences')).body;

  test('turns off the mails of that category, without a login, as often as asked [S181]', async () => {
    await hear(1);
    const token = await tokenOf();
    for (const _ of [1, 2]) expect(await post(token)).toMatchObject({ status: 200, body: { success: true } });
    const { categories } = await preferences();
    expect(categories.post_published).toEqual({ email: false, push: false, inApp: true });
    expect(categories.post_failed.email).toBe(true);
    await world.forgetMails();
    await hear(1);
    expect(await headings()).toEqual([]);
  });

  test('takes the form that RFC 8058 asks for, and answers people a page [S181]', async () => {
    await hear(1);
    const form = new FormData();
    form.set('List-Unsubscribe', 'One-Click');
    const answer = await new Client(world.app.address).send(
      'POST',
      `/notifications/unsubscribe?token=${await tokenOf()}`,
      form,
    );
    expect(answer.status).toBe(200);
    expect(new URL((await world.mailsTo(ann))[0]!.unsubscribeUrl).origin).toBe(BACKEND);
    const page = await post(await tokenOf(), { accept: 'text/html' });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('You are unsubscribed')]);
  });

  test('by GET shows a page with one button and changes nothing [S181]', async () => {
    await hear(1);
    const page = await new Client(world.app.address).get(`/notifications/unsubscribe?token=${await tokenOf()}`);
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(page.text.match(/<button/g)).toHaveLength(1);
    expect((await preferences()).categories.post_published.email).toBe(true);
  });

  test('from a broadcast ends the mails of broadcasts until that toggle is turned on again [S181, NO24]', async () => {
    const tell = async (title: string) => {
      const { status } = await world.owner.client.post('/notifications/broadcast', {
        title,
        content: 'All',
        target: { type: 'users', userIds: [ann.userId] },
        channels: ['email', 'in-app'],
      });
      expect(status).toBe(200);
    };
    await world.wish(ann, { categories: { announcements: { email: false } } });
    await tell('the toggle is overridden');
    expect(await headings()).toEqual(['the toggle is overridden']);
    await tell('collected for later');
    await post(await tokenOf());
    await world.forgetMails();
    await world.closeWindows();
    await world.wish(ann, { categories: { announcements: { push: true } }, digest: 'Weekly' });
    await tell('refused');
    expect([await headings(), await windows()]).toEqual([[], []]);
    expect((await world.rowsOf(ann)).length).toBe(3);
    const shown = await preferences();
    expect(Object.keys(shown).toSorted()).toEqual(['categories', 'digest', 'master', 'quietHours']);
    expect(shown.categories.announcements).toEqual({ email: false, push: true, inApp: true });

    await world.wish(ann, { categories: { announcements: { email: true } } });
    await tell('wanted again');
    await world.wish(ann, { categories: { announcements: { email: false } } });
    await world.forgetMails();
    await world.sql`delete from notification_windows`;
    await tell('overridden again');
    expect(await headings()).toEqual(['overridden again']);
  });

  test('from a digest ends digests', async () => {
    await world.wish(ann, { digest: 'Daily' });
    await hear(1);
    await world.closeWindows();
    await post(await tokenOf());
    expect(await preferences()).toMatchObject({ digest: 'Never', categories: { post_published: { email: true } } });
  });

  test('refuses a token that is none, or of another kind', async () => {
    const session = ann.client.cookies.get('auth') ?? 'x';
    for (const token of ['x', session, 'a.b.c']) {
      expect((await post(token)).status).toBe(401);
      expect((await new Client(world.app.address).get(`/notifications/unsubscribe?token=${token}`)).status).toBe(401);
    }
    expect((await new Client(world.app.address).get('/notifications/unsubscribe')).status).toBe(400);
  });
});

describe('an address that takes no mail', () => {
  test.each(['bounced', 'complained'])('gets none of a notice once one has %s, and rows as before', async (status) => {
    await world.sql`
      insert into emails (id, to_address, template, provider_id, provider_version, status, next_attempt_at, sent_at,
        address_bad)
      values (${newId()}, ${ann.email.toUpperCase()}, 'activation', 'smtp', 'v1', ${status}, null, now(),
        ${status === 'bounced'})`;
    await hear(2);
    expect([await headings(), await windows(), (await world.rowsOf(ann)).length]).toEqual([[], [], 2]);
    expect((await ann.client.get('/user/personal')).body.emailUndeliverable).toBe(true);
  });
  test('is none that a server could not be reached for', async () => {
    await world.sql`
      insert into emails (id, to_address, template, provider_id, provider_version, status, next_attempt_at)
      values (${newId()}, ${ann.email}, 'activation', 'smtp', 'v1', 'bounced', null)`;
    await hear(1);
    expect(await headings()).toHaveLength(1);
  });
});
