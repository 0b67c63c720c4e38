import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { Fact, NewFact, Topic } from '../../../src/platform/outbox/index.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { testApp } from '../../support/worlds/app.ts';
import { type Notified, notified, postPayload } from '../../support/worlds/mail/notified.ts';

// Who is told of which facts, and by which ways.

let world: Notified;
type Member = Awaited<ReturnType<Notified['member']>>;
let admin: Member;
let editor: Member;
let maker: Member;
beforeAll(async () => {
  world = await notified();
  admin = await world.member('admin');
  editor = await world.member('editor');
  maker = await world.member('member');
  for (const person of Object.values(everybody())) await world.device(person);
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  await emptyTables(world.sql, 'notifications', 'notification_windows', 'emails', 'pushes');
  await world.sql`update user_profiles set notification_preferences = '{}'`;
});

const nobody = newId();
const fact = (topic: Topic, payload: object, entityId = newId()): NewFact =>
  ({ orgId: world.orgId, topic, entityId, payload }) as NewFact;
const everybody = () => ({ owner: world.owner, admin, editor, maker });
/** Who got a row and who a mail, by their names here. */
async function told() {
  const names = Object.entries(everybody());
  const got = async (of: (person: Member) => Promise<readonly unknown[]>) => {
    const counts = await Promise.all(names.map(async ([name, person]) => [name, (await of(person)).length] as const));
    return counts.filter(([, count]) => count > 0).map(([name]) => name);
  };
  return { rows: await got(world.rowsOf), mails: await got(world.mailsTo), pushes: await got(world.pushesTo) };
}
const postOf = (more: object = {}) => ({ ...postPayload(maker.userId), ...more, url: undefined });
const FAILED = { errorKind: 'x', error: 'The text is too long', detail: null, attempts: 1, retryable: false };
const PLUG = { plug: 'Repost from other channels', actingName: 'Acme Jobs', error: 'No reposts here' };
const DECIDED = { state: 'DRAFT', detail: 'awaiting_approval', by: null, reason: null };
const CHANNEL = { providerId: 'sandbox', name: 'Acme' };
const ALERT = {
  domain: null,
  providerId: null,
  period: 'month',
  starts: '2026-01-01',
  percent: 80,
  capCents: 1_000,
  spentMicros: 8_000_000,
};
const ANOMALY = {
  integrationId: newId(),
  integrationName: 'Acme',
  metric: 'views',
  direction: 'spike',
  value: 1_234,
  baseline: 99.6,
  deviation: 4.2,
  date: '2026-08-31',
  topPostId: null,
};
const WEEK = {
  from: '2026-08-24',
  to: '2026-08-30',
  channels: 2,
  metrics: [{ metric: 'followers', value: 1_500, previous: 1_400 }],
};
const SYNCED = { ...CHANNEL, count: 3, isBatch: false, minutes: 30, content: 'Nice', authorName: 'Bea' };
const JOB = { operation: 'image', providerId: 'replicate', state: 'done', fileIds: [], error: null };

describe('facts that people are told of', () => {
  const ALL = ['owner', 'admin', 'maker'];
  const HOLDERS = ['owner', 'admin', 'editor'];
  const BUDGET = ['owner', 'admin'];
  const MAKERS = ['owner', 'admin', 'editor', 'maker']; // whoever may create posts
  test.each([
    ['post.published', '[NO12]', () => postPayload(maker.userId), { rows: ['maker'], mails: ['maker'], pushes: [] }],
    ['post.failed', '[NO13]', () => postOf(FAILED), { rows: ALL, mails: ALL, pushes: ALL }],
    [
      'post.unconfirmed',
      '[NO13]',
      () => postOf({ state: 'QUEUE', detail: 'unconfirmed', error: '' }),
      { rows: ALL, mails: ALL, pushes: ALL },
    ],
    [
      'post.missed',
      '[NO13, S126]',
      () => postOf({ state: 'QUEUE', detail: 'scheduled', policy: 'publish' }),
      { rows: ALL, mails: ALL, pushes: ALL },
    ],
    [
      'channel.refresh_needed',
      '[NO14]',
      () => ({ ...CHANNEL, reason: 'x' }),
      { rows: HOLDERS, mails: HOLDERS, pushes: HOLDERS },
    ],
    [
      'channel.disabled',
      '[NO14]',
      () => ({ ...CHANNEL, reason: 'plan' }),
      { rows: HOLDERS, mails: HOLDERS, pushes: HOLDERS },
    ],
    [
      'route.down',
      '[NO14]',
      () => ({ name: 'Berlin', reason: 'x' }),
      { rows: HOLDERS, mails: HOLDERS, pushes: HOLDERS },
    ],
    ['first_comment.failed', '[NO13]', () => postOf({ error: 'x' }), { rows: ALL, mails: ALL, pushes: ALL }],
    ['plug.failed', '[NO13]', () => postOf(PLUG), { rows: ALL, mails: ALL, pushes: ALL }],
    [
      'post.approval_requested',
      '[S121]',
      () => postOf({ ...DECIDED, by: maker.userId }),
      { rows: HOLDERS, mails: HOLDERS, pushes: HOLDERS },
    ],
    [
      'post.rejected',
      '[S121]',
      () => postOf({ ...DECIDED, by: admin.userId, reason: 'no' }),
      { rows: ['maker'], mails: ['maker'], pushes: ['maker'] },
    ],
    [
      'channel.token_expiring',
      '[NO14, S137]',
      () => ({ ...CHANNEL, reason: '7_days', expiresAt: '2026-02-01T00:00:00Z' }),
      { rows: HOLDERS, mails: HOLDERS, pushes: HOLDERS },
    ],
    [
      'webhook.failing',
      '[S171]',
      () => ({ name: 'Hook', failures: 20, lastStatus: 0, lastError: 'timeout' }),
      { rows: BUDGET, mails: BUDGET, pushes: BUDGET },
    ],
    [
      'storage.over_quota',
      '[S153]',
      () => ({ bytes: 6e9, quotaBytes: 5e9 }),
      { rows: BUDGET, mails: BUDGET, pushes: BUDGET },
    ],
    [
      'analytics.anomaly_detected',
      '[NO21]',
      () => ({ anomalies: [ANOMALY] }),
      { rows: MAKERS, mails: MAKERS, pushes: [] },
    ],
    ['analytics.week_summed', '[NO21]', () => WEEK, { rows: MAKERS, mails: MAKERS, pushes: [] }],
    ['streak.at_risk', '[NO19]', () => ({ days: 4, day: '2026-11-26' }), { rows: MAKERS, mails: MAKERS, pushes: [] }],
    ['ai.budget_alert', '[NO16]', () => ALERT, { rows: BUDGET, mails: BUDGET, pushes: [] }],
    [
      'comment.synced',
      '[NO15]',
      () => ({ ...SYNCED, makers: [maker.userId] }),
      { rows: ['owner', 'admin', 'editor', 'maker'], mails: ['owner', 'admin', 'editor', 'maker'], pushes: [] },
    ],
    ['media.job_ended', '[NO17]', () => ({ ...JOB, userId: maker.userId }), { rows: ['maker'], mails: [], pushes: [] }],
  ] as const)('%s reaches its people by the ways of its category %s', async (topic, _, payload, reached) => {
    await world.hear([fact(topic, payload())]);
    expect(await told()).toEqual(reached);
  });

  test('a missed post that was given up is told once, as one that failed', async () => {
    await world.hear([
      fact('post.missed', postOf({ state: 'ERROR', detail: 'missed', policy: 'ask' })),
      fact('post.failed', postOf(FAILED)),
    ]);
    expect((await world.rowsOf(maker)).map(({ title }) => title)).toEqual([
      expect.stringMatching(/^A post was not published on/),
    ]);
  });

  test('a custom role is told by what it grants, and gets a link only to pages that it may open', async () => {
    const roleId = newId();
    await world.sql`
      insert into roles (id, org_id, name, permissions)
      values (${roleId}, ${world.orgId}, 'Keeper', '{channels:manage}')`;
    const keeper = await world.member(roleId);
    const entityId = newId();
    await world.hear([
      fact('channel.disabled', { ...CHANNEL, reason: 'person' }, entityId),
      fact('post.failed', postOf(FAILED)),
    ]);
    expect(await world.rowsOf(keeper)).toEqual([
      {
        category: 'channel_issues',
        title: 'Acme is disabled',
        content: 'A member disabled it.',
        link: `/channels/${entityId}`,
      },
      expect.objectContaining({ category: 'post_failed', link: null }), // it may not read posts
    ]);
  });

  test('numbers that stand out and weeks are told in words, by the labels of their metrics [NO21]', async () => {
    const more = Array.from({ length: 11 }, () => ({ ...ANOMALY, metric: 'unheard_of' }));
    await world.hear([
      fact('analytics.anomaly_detected', { anomalies: [ANOMALY] }),
      fact('analytics.anomaly_detected', { anomalies: more }),
      fact('analytics.week_summed', {
        ...WEEK,
        metrics: [
          ...WEEK.metrics,
          { metric: 'views', value: 7_000, compared: 3_000, previous: 2_800 },
          { metric: 'likes', value: 35, compared: 0, previous: 0 },
        ],
      }),
    ]);
    const rows = await world.rowsOf(maker);
    expect(rows.map(({ category, title, link }) => [category, title, link])).toEqual([
      ['analytics_alerts', 'Views of Acme stand out', '/analytics'],
      ['analytics_alerts', '11 numbers of your channels stand out', '/analytics'],
      ['analytics_alerts', 'Your week from 2026-08-24 to 2026-08-30', '/analytics'],
    ]);
    expect(rows[0]!.content).toBe('Views of Acme: 1,234 on 2026-08-31, usually 100');
    expect(rows[1]!.content.split('\n')).toHaveLength(11);
    expect(rows[1]!.content).toMatch(/unheard_of of Acme.*and 1 more$/s);
    expect(rows[2]!.content.split('\n')).toEqual([
      'Followers: 1,500, a week before 1,400',
      'Views: 7,000; of the days known in both weeks 3,000, a week before 2,800',
      'Likes: 35', // no day is known in both
    ]);
  });

  test('new comments are one notice, of all makers of the posts, with the newest one [NO15]', async () => {
    const entityId = newId();
    const makers = [maker.userId, editor.userId, nobody];
    await world.hear([fact('comment.synced', { ...SYNCED, makers }, entityId)]);
    for (const person of [maker, editor])
      expect(await world.rowsOf(person)).toEqual([
        {
          category: 'replies',
          title: '3 new comments on Acme',
          content: 'Bea: Nice',
          link: `/comments?integrationId=${entityId}`,
        },
      ]);
    await world.hear([fact('comment.synced', { ...SYNCED, count: 1, makers: [nobody] }, entityId)]);
    expect((await world.rowsOf(world.owner)).map(({ title }) => title)).toEqual([
      '3 new comments on Acme',
      'A new comment on Acme',
    ]);
    expect(await world.rowsOf(maker)).toHaveLength(1);
  });

  test('a plug that failed is told by its title, the channel that was to act, and why [NO13]', async () => {
    const entityId = newId();
    await world.hear([fact('plug.failed', postOf(PLUG), entityId)]);
    expect(await world.rowsOf(maker)).toEqual([
      {
        category: 'post_failed',
        title: 'A plug failed for a post on Acme',
        content: 'Repost from other channels, by Acme Jobs: No reposts here\nHello world',
        link: `/posts/${entityId}`,
      },
    ]);
  });

  test('the owner is told in the place of a maker who is gone or nobody', async () => {
    await world.hear([world.published(nobody), world.published(null)]);
    expect((await told()).rows).toEqual(['owner']);
    expect(await world.rowsOf(world.owner)).toHaveLength(2);
  });

  test('nobody is told of an organization that the operator disabled', async () => {
    await world.sql`update organizations set disabled_at = now()`;
    await world.hear([fact('ai.budget_alert', ALERT)]);
    expect((await told()).rows).toEqual([]);
    await world.sql`update organizations set disabled_at = null`;
  });

  test('a member who is disabled is told nothing', async () => {
    await world.sql`update memberships set disabled = true where user_id = ${admin.userId}`;
    await world.hear([fact('ai.budget_alert', ALERT)]);
    expect((await told()).rows).toEqual(['owner']);
    await world.sql`update memberships set disabled = false where user_id = ${admin.userId}`;
  });

  test('members of another organization are told nothing [GN2]', async () => {
    const eve = await world.signUp();
    await world.hear([fact('ai.budget_alert', ALERT), world.published(eve.userId)]);
    expect(await world.rowsOf(eve)).toEqual([]);
    expect(await world.mailsTo(eve)).toEqual([]);
  });

  test('a row says what happened in plain text, with its post and its page', async () => {
    const entityId = newId();
    await world.hear([
      {
        ...world.published(maker.userId, { content: `<p>One <strong>two</strong></p><p>${'x'.repeat(400)}</p>` }),
        entityId,
      } as NewFact,
    ]);
    const [row] = await world.rowsOf(maker);
    expect(row).toMatchObject({ title: 'Published on Acme', link: `/posts/${entityId}` });
    expect(row!.content).toMatch(/^One two x{290,}…\nhttps:\/\/example.com\/1$/);
  });
});

describe('preferences', () => {
  const CASES: [string, object, string[], string[], string[]?][] = [
    ['a category without mail', { categories: { post_published: { email: false } } }, ['maker'], []],
    ['a category without rows', { categories: { post_published: { inApp: false } } }, [], ['maker']],
    ['no mail at all [NO22]', { master: { email: false } }, ['maker'], []],
    ['no rows at all [NO22]', { master: { inApp: false } }, [], ['maker']],
    [
      'nothing at all, whatever the category says [NO22]',
      { master: { email: false, inApp: false }, categories: { post_published: { email: true, inApp: true } } },
      [],
      [],
    ],
    ['a category with pushes', { categories: { post_published: { push: true } } }, ['maker'], ['maker'], ['maker']],
    [
      'no push at all [NO22]',
      { master: { push: false }, categories: { post_published: { push: true } } },
      ['maker'],
      ['maker'],
    ],
    ['another category', { categories: { post_failed: { email: false, inApp: false } } }, ['maker'], ['maker']],
  ];
  test.each(CASES)('%s', async (_, wishes, rows, mails, pushes = []) => {
    await world.wish(maker, wishes);
    await world.hear([world.published(maker.userId)]);
    expect(await told()).toEqual({ rows, mails, pushes });
  });
});

describe('the listener', () => {
  test('tells of each fact once, also when it dies before its commit', async () => {
    let deaths = 2;
    const dying: typeof world.listener = {
      ...world.listener,
      async hear(tx, facts, ...after) {
        await world.listener.hear(tx, facts, ...after);
        if (deaths-- > 0) throw Object.assign(new Error('cut'), { code: 'CONNECTION_CLOSED' });
      },
    };
    await world.hear([world.published(maker.userId), world.published(maker.userId)], dying);
    expect(await world.rowsOf(maker)).toHaveLength(2);
    expect(await world.mailsTo(maker)).toHaveLength(1); // the second waits for its burst
    expect(await world.sql`select from notification_lines`).toHaveLength(1);
  });

  test('is told in the application and by push alone where no mail provider is set', async () => {
    await using app = await testApp({
      sql: world.sql,
      env: { FCM_PROJECT_ID: 'p', FCM_CLIENT_EMAIL: 'push@example.com', FCM_PRIVATE_KEY: 'none' },
    });
    await world.wish(maker, { digest: 'Daily' });
    const facts = [fact('post.failed', postOf(FAILED)), fact('post.published', postPayload(maker.userId))];
    await world.hear(
      facts,
      app.context.listeners.find(({ name }) => name === 'notifications')!,
    );
    expect([(await world.rowsOf(maker)).length, (await world.pushesTo(maker)).length]).toEqual([2, 1]);
    expect([
      (await world.sql`select from emails`).length,
      (await world.sql`select from notification_windows`).length,
    ]).toEqual([0, 0]);
  });

  test('needs as many statements for 400 facts as for two', async () => {
    const heard = (count: number): Fact[] =>
      Array.from({ length: count }, (_, n) => ({
        ...(world.published(maker.userId) as unknown as Fact),
        id: String(1_000_000 + n + count * 1_000),
        at: new Date(),
      }));
    const statementsOf = async (count: number) => {
      await emptyTables(world.sql, 'notification_windows');
      world.db.statements.length = 0;
      await world.sql.begin((tx) =>
        world.listener.hear(
          tx,
          heard(count),
          () => undefined,
          () => undefined,
        ),
      );
      return world.db.statements.length;
    };
    const few = await statementsOf(2);
    expect(few).toBeLessThanOrEqual(8); // begin, people, rows, windows, lines, mails, commit
    expect(await statementsOf(400)).toBe(few);
    expect(await world.sql`select from notifications`).toHaveLength(402);
  });
});
