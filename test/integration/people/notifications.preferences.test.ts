import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { NewFact, Topic } from '../../../src/platform/outbox/index.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { refuseRows } from '../../support/wire/database/refused-row.ts';
import { type Notified, notified, postPayload } from '../../support/worlds/mail/notified.ts';

// Every category by every way, master, choice and digest, against the table of the interface, written by hand. Each
// combination is a person; a fact of the category is told to all of them at once.

type Way = 'email' | 'push' | 'inApp';
/** What a category does where nothing was chosen: by mail, by push, in the application; and its mails wait for digests. */
type Usual = readonly [email: boolean, push: boolean, inApp: boolean, isInDigest: boolean] | 'as the master says';
const [Y, N] = [true, false];

const CHANNEL = { providerId: 'sandbox', name: 'Acme' };
const FAILED = { errorKind: 'x', error: 'No', detail: null, attempts: 1, retryable: false };
const post = (more: object) => ({ ...postPayload(null), url: undefined, ...more });
const JOB = { operation: 'image', providerId: 'replicate', state: 'done', fileIds: [], error: null, userId: null };
const WEEK = {
  from: '2026-08-24',
  to: '2026-08-30',
  channels: 2,
  metrics: [{ metric: 'followers', value: 2, previous: 1 }],
};
const ALERT = {
  domain: null,
  providerId: null,
  period: 'month',
  starts: '2026-01-01',
  percent: 80,
  capCents: 1,
  spentMicros: 8_000,
};
const AGENTS = {
  from: '2026-08-24',
  to: '2026-08-30',
  acts: 1,
  programs: [],
  proposals: 0,
  waiting: 0,
  runs: 0,
  spentMicros: 0,
  drafts: 0,
};
const TABLE: readonly (readonly [category: string, codes: string, topic: Topic, payload: object, usual: Usual])[] = [
  ['post_published', '[NO12, NO22, NO26, NO27, NO28]', 'post.published', postPayload(null), [Y, N, Y, Y]],
  ['post_failed', '[NO13, NO22]', 'post.failed', post(FAILED), [Y, Y, Y, N]],
  ['channel_issues', '[NO14, NO22]', 'channel.refresh_needed', { ...CHANNEL, reason: 'x' }, [Y, Y, Y, N]],
  [
    'replies',
    '[NO15, NO22, NO26, NO27, NO28]',
    'comment.synced',
    { ...CHANNEL, count: 1, isBatch: false, minutes: 30, content: 'Nice', authorName: 'B', makers: [] },
    [Y, N, Y, Y],
  ],
  ['ai_budget', '[NO16, NO22]', 'ai.budget_alert', ALERT, [Y, N, Y, N]],
  ['media_jobs', '[NO17, NO22, NO26, NO27, NO28]', 'media.job_ended', JOB, [N, N, Y, Y]],
  ['streak_reminders', '[NO19, NO22]', 'streak.at_risk', { days: 4, day: '2026-11-26' }, [Y, N, Y, N]],
  ['agent_briefs', '[NO20, NO22]', 'agents.week_summed', AGENTS, [N, N, N, N]],
  ['analytics_alerts', '[NO21, NO22, NO26, NO27, NO28]', 'analytics.week_summed', WEEK, [Y, N, Y, Y]],
  [
    'approvals',
    '[NO23, NO22]',
    'post.approval_requested',
    post({ state: 'DRAFT', detail: 'awaiting_approval', by: null, reason: null }),
    'as the master says',
  ],
  [
    'proposals',
    '[NO23, NO22]',
    'proposal.created',
    { proposedBy: null, program: null, excerpt: 'x' },
    'as the master says',
  ],
  [
    'webhook_issues',
    '[NO23, NO22]',
    'webhook.failing',
    { name: 'Hook', failures: 20, lastStatus: 0, lastError: null },
    'as the master says',
  ],
  ['storage', '[NO23, NO22]', 'storage.over_quota', { bytes: 2, quotaBytes: 1 }, 'as the master says'],
];
const WAYS: readonly Way[] = ['email', 'push', 'inApp'];
const DIGESTS = ['Instant', 'Daily', 'Weekly', 'Never'] as const;
const MASTERS = Array.from({ length: 8 }, (_, bits) => ({
  email: (bits & 1) === 0,
  push: (bits & 2) === 0,
  inApp: (bits & 4) === 0,
}));
/** What is chosen for each category: nothing, or one way that is turned on or off. */
const CHOICES = [{}, ...WAYS.flatMap((way) => [{ [way]: true }, { [way]: false }])];

let world: Notified;
const people = DIGESTS.flatMap((digest) =>
  MASTERS.flatMap((master) =>
    CHOICES.map((choice: Partial<Record<Way, boolean>>) => ({ id: newId(), digest, master, choice })),
  ),
);
type Combination = (typeof people)[number];

beforeAll(async () => {
  world = await notified();
  const categories = [...TABLE.map(([category]) => category), 'announcements', 'billing'];
  const rows = people.map(({ id, digest, master, choice }) => ({
    id,
    chosen: { digest, master, categories: Object.fromEntries(categories.map((name) => [name, choice])) },
  }));
  await world.sql`
    with t as (select * from json_to_recordset(${JSON.stringify(rows)}::text::json) as t (id uuid, chosen jsonb)),
    users as (
      insert into users (id, email, provider_name, provider_id, activated)
      select id, id || '@example.com', 'local', id::text, true from t
    ), profiles as (
      insert into user_profiles (user_id, notification_preferences) select id, chosen from t
    ), members as (
      insert into memberships (org_id, user_id, role_key) select ${world.orgId}, id, 'owner' from t
    ), sessions as (
      insert into sessions (id, user_id, token_hash, expires_at)
      select id, id, sha256(id::text::bytea), now() + interval '1 day' from t
    )
    insert into push_tokens (id, user_id, session_id, token, token_hash, platform)
    select gen_random_uuid(), id, id, id::text, sha256(id::text::bytea), 'android' from t`;
}, 60_000);
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(() => emptyTables(world.sql, 'notifications', 'notification_windows', 'emails', 'pushes'));

/** What came to each person: `mail` at once, `digest` for later, `push`, `row`. */
async function came(): Promise<Map<string, string>> {
  const found = await world.sql<{ id: string; what: string }[]>`
    select user_id::text as id, 'row' as what from notifications
    union all select split_part(to_address, '@', 1), 'mail' from emails
    union all select t.user_id::text, 'push' from pushes p join push_tokens t on t.id = p.token_id
    union all select user_id::text, split_part(kind, ' ', 1) from notification_lines`;
  const byPerson = Map.groupBy(found, ({ id }) => id);
  return new Map(people.map(({ id }) => [id, wordsOf((byPerson.get(id) ?? []).map(({ what }) => what))]));
}
const wordsOf = (words: readonly string[]): string => words.toSorted().join(' ');

/** The table read for one person: a category is what was chosen, else as usual, and nothing passes a master. */
function wanted(usual: Usual, { digest, master, choice }: Combination): string {
  const on = (way: Way, at: number) =>
    master[way] && (choice[way] ?? (usual === 'as the master says' ? master[way] : usual[at]!));
  const [email, push, inApp] = WAYS.map(on);
  const waits = usual !== 'as the master says' && usual[3] && digest !== 'Instant';
  const mail = waits ? (digest === 'Never' ? [] : ['digest']) : ['mail'];
  return wordsOf([...(inApp ? ['row'] : []), ...(push ? ['push'] : []), ...(email ? mail : [])]);
}
/** What overrides categories and digests obeys the masters alone. */
const wantedBy = (ways: Partial<Record<Way, string>>, { master }: Combination): string =>
  wordsOf(WAYS.flatMap((way) => (master[way] && ways[way] ? [ways[way]] : [])));

/** The people to whom something else came than the table says, with both. */
async function faultsOf(want: (person: Combination) => string): Promise<object[]> {
  const got = await came();
  return people.flatMap((person) => {
    const [is, should] = [got.get(person.id), want(person)];
    return is === should ? [] : [{ ...person, id: undefined, is, should }];
  });
}

describe('each combination of digest, masters and choice', () => {
  test.each(TABLE)('%s comes by the ways that the table says %s', async (_, __, topic, payload, usual) => {
    const fact = (more: object): NewFact =>
      ({ orgId: world.orgId, topic, entityId: newId(), payload: { ...payload, ...more } }) as NewFact;
    await world.hear(
      topic === 'agents.week_summed' ? people.map(({ id }) => fact({ userId: id })) : [fact({})], // of one person each
    );
    expect(await faultsOf((person) => wanted(usual, person))).toEqual([]);
  });

  test('a broadcast comes by the ways that it names, at once, under the masters alone [NO18, NO24, NO25]', async () => {
    for (const channels of [['email', 'push', 'in-app'], ['email'], ['push'], ['in-app']]) {
      await emptyTables(world.sql, 'notifications', 'notification_windows', 'emails', 'pushes');
      const { status } = await world.owner.client.post('/notifications/broadcast', {
        title: 'Hi',
        content: 'All',
        target: { type: 'all' },
        channels,
      });
      expect(status).toBe(200);
      const ways = {
        ...(channels.includes('email') && { email: 'mail' }),
        ...(channels.includes('push') && { push: 'push' }),
        ...(channels.includes('in-app') && { inApp: 'row' }),
      };
      expect(await faultsOf((person) => wantedBy(ways, person))).toEqual([]);
    }
  });

  test('a notice about money is a row under the master of rows, whatever was chosen [NO22, S221]', async () => {
    await world.sql.begin((tx) =>
      world.context.notifications.tellHolders(tx, 'billing:manage', {
        orgId: world.orgId,
        source: 'money',
        category: 'billing',
        title: 'Pay',
        content: 'Soon',
        link: null,
      }),
    );
    expect(await faultsOf((person) => wantedBy({ inApp: 'row' }, person))).toEqual([]);
  });
});

test('of categories that are not known a person has 100 at most, over all requests [S178]', async () => {
  const ann = await world.member('member');
  const put = (body: object) => ann.client.put('/notifications/preferences', body);
  const chosen = (from: number, count: number) => ({
    categories: Object.fromEntries(Array.from({ length: count }, (_, n) => [`own_${from + n}`, { email: false }])),
  });
  expect((await put(chosen(0, 99))).status).toBe(200);
  expect(await put(chosen(99, 2))).toMatchObject({
    status: 400,
    body: { errors: [{ field: 'categories', rule: 'too_big' }] },
  });
  expect((await put({ categories: { ...chosen(99, 1).categories, replies: { email: false } } })).status).toBe(200);
  expect((await put(chosen(100, 1))).status).toBe(400);
  expect((await put({ ...chosen(0, 100), digest: 'Daily' })).status).toBe(200); // those that are there
  const { body } = await ann.client.get('/notifications/preferences');
  expect(Object.keys(body.categories)).toHaveLength(110);
  // what a mail is about can be refused all the same
  await world.context.identity.updatePreferences(ann.userId, {
    categories: { approvals: { email: false } },
    unsubscribed: ['approvals'],
  });
  expect((await ann.client.get('/notifications/preferences')).body.categories.approvals.email).toBe(false);
});

test('digests of more people than one commit holds are one mail for each [NO27]', async () => {
  const payload = postPayload(null);
  await world.hear([{ orgId: world.orgId, topic: 'post.published', entityId: newId(), payload }]);
  const { count } = await world.sql`update notification_windows set due_at = now() where kind = 'digest'`;
  await world.sql`delete from emails`;
  expect(await world.context.notifications.closeDueWindows(1)).toBe(16); // four commits of four
  while ((await world.context.notifications.closeDueWindows(1)) > 0);
  const [mails] = await world.sql`
    select count(*)::int as all, count(distinct to_address)::int as people
    from emails`;
  expect(mails).toEqual({ all: count, people: count });
});

test('the digests of everybody are one commit of three statements [NO27]', async () => {
  const payload = postPayload(null);
  await world.hear([{ orgId: world.orgId, topic: 'post.published', entityId: newId(), payload }]);
  const { count } = await world.sql`update notification_windows set due_at = now() where kind = 'digest'`;
  expect(count).toBeGreaterThan(20);
  await world.sql`delete from emails`;
  world.db.statements.length = 0;
  expect(await world.context.notifications.closeDueWindows(500)).toBe(count);
  // what is noted of sessions is written behind, whenever it comes
  const own = world.db.statements.filter(
    (text) => !/^\s*(begin|commit)/i.test(text) && !text.includes('update sessions'),
  );
  expect(own).toHaveLength(3); // lock the windows, delete them with all lines that are committed by then, queue the mails
  expect((await world.sql`select from emails`).count).toBe(count);
});

test('a window that cannot be closed holds up no other, and is closed later', async () => {
  const payload = postPayload(null);
  await world.hear([{ orgId: world.orgId, topic: 'post.published', entityId: newId(), payload }]);
  const { count } = await world.sql`update notification_windows set due_at = now() where kind = 'digest'`;
  await world.sql`delete from emails`;
  const [bad] = await world.sql<{ email: string; userId: string }[]>`
    select u.email, u.id as "userId"
    from users u
    join notification_windows w on w.user_id = u.id and w.kind = 'digest'
    limit 1`;
  await world.sql`update notification_windows set due_at = now() - interval '1 h' where user_id = ${bad!.userId}`;
  const mails = async () => (await world.sql`select from emails`).count;
  const logged = world.app.log.lines.length;
  {
    await using _refused = await refuseRows(world.sql, 'insert', 'emails', `new.to_address = '${bad!.email}'`);
    expect(await world.context.notifications.closeDueWindows(500)).toBe(count - 1);
    expect(await mails()).toBe(count - 1);
    const detail = { userId: bad!.userId, kind: 'digest' };
    expect(world.app.log.lines.slice(logged)).toContainEqual(
      expect.objectContaining({ level: 'warn', detail: expect.objectContaining(detail) }),
    );
  }
  expect(await world.context.notifications.closeDueWindows(500)).toBe(1);
  expect(await mails()).toBe(count);
});
