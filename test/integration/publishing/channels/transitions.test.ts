// oxlint-disable max-lines -- one database and one sandbox serve all cases
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../../sandbox/index.ts';
import type { Channels } from '../../../../src/publishing/channels/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { openPublishing } from '../../../support/worlds/publishing/world.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let world: Awaited<ReturnType<typeof openPublishing>>;
let channels: Channels;
const orgId = newId();
const other = newId();
const login = (name = 'studio', org = orgId) =>
  channels.complete({ orgId: org, userId: newId(), mayUpdate: true }, 'sandbox', {
    fields: { name },
    allowPreview: true,
  });

beforeAll(async () => {
  db = await testDatabase();
  await db.sql`insert into organizations (id, name) values (${orgId}, 'Acme'), (${other}, 'Other')`;
  sandbox = await startSandbox({ sql: db.sql });
  world = await openPublishing({ url: db.url, servers: { 'social/sandbox': sandbox.url } });
  channels = world.channels;
});
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
afterEach(async () => {
  await db.sql`truncate channels, outbox, post_timeline cascade`;
  await db.sql`update organizations set settings = '{}'`;
});

interface Row {
  name: string;
  state: string;
  detail: string | null;
  deleted: boolean;
  errorKind: string | null;
  due: number | null;
}
/** A post `hours` from now; the name is its content. */
async function post(
  channel: string,
  name: string,
  {
    state = 'QUEUE',
    detail = 'scheduled' as string | null,
    hours = 1,
    root = null as string | null,
    due = true,
    org = orgId,
  } = {},
): Promise<string> {
  const id = newId();
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, root_post_id, state, detail, content, publish_date, due_at)
    values (${id}, ${org}, ${channel}, 'g', ${root}, ${state}, ${detail}, ${name},
      now() + ${hours}::float8 * interval '1 hour',
      ${due ? db.sql`now() + ${hours}::float8 * interval '1 hour'` : null})`;
  return id;
}
const posts = async (channel: string): Promise<Record<string, Omit<Row, 'name'>>> => {
  const rows = await db.sql<Row[]>`
    select content as name, state, detail, deleted_at is not null as deleted, error_kind as "errorKind",
      round(extract(epoch from due_at - now()) / 360)::float8 / 10 as due
    from posts
    where channel_id = ${channel}
    order by seq`;
  return Object.fromEntries(rows.map(({ name, ...row }) => [name, row]));
};
const details = async (channel: string) =>
  Object.fromEntries(
    Object.entries(await posts(channel)).map(([name, row]) => [
      name,
      row.deleted ? 'deleted' : `${row.state} ${row.detail}`,
    ]),
  );
/** Hours until the next due time. */
const nextDue = async (channel: string) =>
  (
    await db.sql`
      select round(extract(epoch from next_due_at - now()) / 360)::float8 / 10 as hours, reminder_due_at
      from channels
      where id = ${channel}`
  )[0]!['hours'] as number | null;
const set = (channel: string, hours: number) =>
  db.sql`
    update channels
    set next_due_at = now() + ${hours}::float8 * interval '1 hour', reminder_due_at = now()
    where id = ${channel}`;
const kinds = async () =>
  (await db.sql`select kind, count(*)::int from post_timeline group by kind order by kind`).map(
    (row) => `${row['kind']} ${row['count']}`,
  );
const topics = async () => (await db.sql`select topic from outbox order by id`).map((row) => row['topic'] as string);

/** One post in each of the states that a post can be in. */
async function full(channel: string): Promise<void> {
  await post(channel, 'soon', { hours: 1 });
  await post(channel, 'later', { hours: 5 });
  await post(channel, 'again', { detail: 'retrying', hours: 2 });
  await post(channel, 'out', { state: 'PUBLISHED', detail: null, hours: -3 });
  await post(channel, 'draft', { state: 'DRAFT', detail: null, hours: 3, due: false });
  await post(channel, 'failed', { state: 'ERROR', detail: null, hours: -4, due: false });
  for (const detail of ['publishing', 'processing', 'unconfirmed']) await post(channel, detail, { detail, hours: 0 });
}
const UNTOUCHED = {
  out: 'PUBLISHED null',
  draft: 'DRAFT null',
  failed: 'ERROR null',
  publishing: 'QUEUE publishing',
  processing: 'QUEUE processing',
  unconfirmed: 'QUEUE unconfirmed',
};

describe.each([
  ['disable', 'channel.disabled', (id: string) => channels.disable(orgId, id)],
  ['needsLogin', 'channel.refresh_needed', (id: string) => channels.needsLogin(orgId, id, 'revoked')],
] as const)('%s', (_, topic, move) => {
  test('pauses waiting posts, and none that is in flight [S101, S136, S137]', async () => {
    const { id } = await login();
    const beside = await login('beside');
    await full(id);
    await post(beside.id, 'neighbour');
    await set(id, 1);
    expect(await move(id)).toBe(true);
    expect(await details(id)).toEqual({
      soon: 'QUEUE paused',
      later: 'QUEUE paused',
      again: 'QUEUE paused',
      ...UNTOUCHED,
    });
    expect(await details(beside.id)).toEqual({ neighbour: 'QUEUE scheduled' });
    expect(await nextDue(id)).toBeNull();
    expect(await kinds()).toEqual(['paused 3']);
    expect(await topics()).toContain(topic);
  });

  test('applies once, and not to an unknown, deleted or foreign channel [S9, X11]', async () => {
    const { id } = await login();
    expect(await move(newId())).toBe(false);
    expect(await channels.disable(other, id)).toBe(false);
    expect(await channels.needsLogin(other, id, 'x')).toBe(false);
    expect([await move(id), await move(id)]).toEqual([true, false]);
    await channels.remove(orgId, id);
    expect(await move(id)).toBe(false);
    expect((await topics()).filter((one) => one === topic)).toHaveLength(1);
  });
});

describe('enabling a channel', () => {
  test('resumes its paused posts and registers their next due time [S136]', async () => {
    const { id } = await login();
    await full(id);
    await set(id, 1);
    await channels.disable(orgId, id);
    expect(await channels.enable(orgId, id)).toBe(true);
    expect(await details(id)).toEqual({
      soon: 'QUEUE scheduled',
      later: 'QUEUE scheduled',
      again: 'QUEUE scheduled',
      ...UNTOUCHED,
    });
    expect(await nextDue(id)).toBe(1);
    expect([
      await channels.enable(orgId, id),
      await channels.enable(other, id),
      await channels.enable(orgId, newId()),
    ]).toEqual([false, false, false]);
    expect(await kinds()).toEqual(['paused 3', 'resumed 3']);
    expect((await topics()).filter((topic) => topic.startsWith('post.'))).toEqual([
      'post.paused',
      'post.paused',
      'post.paused',
      'post.resumed',
      'post.resumed',
      'post.resumed',
    ]);
  });

  test('leaves the posts paused while the channel needs a login [S137]', async () => {
    const { id } = await login();
    await post(id, 'soon');
    await channels.needsLogin(orgId, id, 'x');
    await channels.disable(orgId, id);
    expect(await channels.enable(orgId, id)).toBe(true);
    expect([await details(id), await nextDue(id)]).toEqual([{ soon: 'QUEUE paused' }, null]);
  });

  test('sets no item of a thread due that waits for the one before it', async () => {
    const { id } = await login();
    const root = await post(id, 'root', { detail: 'paused' });
    await post(id, 'reply', { detail: 'paused', root, due: false });
    await db.sql`update channels set disabled = true where id = ${id}`;
    await channels.enable(orgId, id);
    expect(await posts(id)).toMatchObject({
      root: { detail: 'scheduled', due: 1 },
      reply: { detail: 'scheduled', due: null },
    });
  });

  test('gives a post created while the channel was stopped its due time', async () => {
    const { id } = await login();
    await db.sql`update channels set disabled = true where id = ${id}`;
    await post(id, 'made paused', { detail: 'paused', hours: 2, due: false });
    await channels.enable(orgId, id);
    expect([await posts(id), await nextDue(id)]).toMatchObject([{ 'made paused': { detail: 'scheduled', due: 2 } }, 2]);
  });
});

describe('reconnecting a channel', () => {
  const late = async (id: string) => {
    await post(id, 'early', { detail: 'paused', hours: 3 });
    await post(id, 'hour late', { detail: 'paused', hours: -1 });
    await post(id, 'day late', { detail: 'paused', hours: -25 });
    await db.sql`update channels set refresh_needed = true where id = ${id}`;
  };

  test.each([
    [
      'publish, by default',
      { reconnectPolicy: undefined },
      { early: 'QUEUE scheduled', 'hour late': 'QUEUE scheduled', 'day late': 'QUEUE paused' },
      0,
    ],
    [
      'ask',
      { reconnectPolicy: 'ask' },
      { early: 'QUEUE scheduled', 'hour late': 'QUEUE paused', 'day late': 'QUEUE paused' },
      3,
    ],
    [
      'drop',
      { reconnectPolicy: 'drop' },
      { early: 'QUEUE scheduled', 'hour late': 'ERROR missed', 'day late': 'ERROR missed' },
      3,
    ],
  ])('resumes posts by the policy of the organization: %s [S135]', async (_, settings, expected, next) => {
    const { id } = await login();
    await late(id);
    await db.sql`
      update organizations set settings = ${db.sql.json(JSON.parse(JSON.stringify(settings)))} where id = ${orgId}`;
    expect(await login()).toMatchObject({ id, created: false });
    expect(await details(id)).toEqual(expected);
    expect(await nextDue(id)).toBe(next);
    expect((await channels.get(orgId, id)).refreshNeeded).toBe(false);
    const given = (await topics()).filter((topic) => topic === 'post.failed').length;
    expect(given).toBe('drop' === settings.reconnectPolicy ? 2 : 0);
  });

  test('fails the rest of a thread with the post that the policy drops [S135]', async () => {
    const { id } = await login();
    const root = await post(id, 'root', { detail: 'paused', hours: -1 });
    await post(id, 'reply', { root, hours: -1, due: false });
    await db.sql`update channels set refresh_needed = true where id = ${id}`;
    await db.sql`update organizations set settings = '{"reconnectPolicy":"drop"}' where id = ${orgId}`;
    await login();
    expect(await details(id)).toEqual({ root: 'ERROR missed', reply: 'ERROR missed' });
  });

  test('tells once of a thread that the policy drops when its channel comes back [S135]', async () => {
    const { id } = await login();
    const root = await post(id, 'root', { hours: -1 });
    await post(id, 'reply', { root, due: false });
    await db.sql`update organizations set settings = '{"reconnectPolicy":"drop"}' where id = ${orgId}`;
    await channels.remove(orgId, id);
    await login();
    expect(await details(id)).toEqual({ root: 'ERROR missed', reply: 'ERROR missed' });
    expect((await topics()).filter((topic) => topic === 'post.failed')).toHaveLength(1);
  });

  test.each([
    ['publish', { coming: 'QUEUE scheduled', 'hour late': 'QUEUE scheduled', 'day late': 'QUEUE paused' }],
    ['ask', { coming: 'QUEUE scheduled', 'hour late': 'QUEUE paused', 'day late': 'QUEUE paused' }],
    ['drop', { coming: 'QUEUE scheduled', 'hour late': 'ERROR missed', 'day late': 'ERROR missed' }],
  ])('judges an item of a thread by its own time, not by the date of the root: %s [S135]', async (policy, expected) => {
    const { id } = await login();
    for (const [name, hours] of Object.entries({ coming: 2, 'hour late': -1, 'day late': -25 })) {
      const root = await post(id, `root of ${name}`, { state: 'PUBLISHED', detail: null, hours: -60 });
      await post(id, name, { detail: 'paused', root, hours });
      if (name === 'hour late') await post(id, 'behind', { root, due: false });
    }
    await db.sql`
      update posts
      set publish_date = now() - interval '61 hours'
      where channel_id = ${id}`;
    await db.sql`update channels set refresh_needed = true where id = ${id}`;
    await db.sql`update organizations set settings = ${db.sql.json({ reconnectPolicy: policy })} where id = ${orgId}`;
    await login();
    expect(await details(id)).toMatchObject({
      behind: policy === 'drop' ? 'ERROR missed' : 'QUEUE scheduled',
      ...expected,
    });
  });

  test('judges a post that was sent again by the time of that, and what is behind it with it [S118, S135]', async () => {
    const { id } = await login();
    const root = await post(id, 'again', { detail: 'paused', hours: -1 });
    await post(id, 'reply', { root, due: false });
    await db.sql`update posts set publish_date = now() - interval '60 hours' where channel_id = ${id}`;
    await db.sql`update channels set refresh_needed = true where id = ${id}`;
    await login();
    expect(await details(id)).toEqual({ again: 'QUEUE scheduled', reply: 'QUEUE scheduled' });
    await channels.remove(orgId, id); // and what comes back with its channel
    await login();
    expect(await details(id)).toEqual({ again: 'QUEUE scheduled', reply: 'QUEUE scheduled' });
  });

  test('lets the first comment of a thread go whose last items the policy drops [S135, PO6]', async () => {
    const { id } = await login();
    const roots: string[] = [];
    for (const hours of [-1, 3]) {
      const root = await post(id, `root ${hours}`, { state: 'PUBLISHED', detail: null, hours: -2 });
      const item = await post(id, `item ${hours}`, { detail: 'paused', root, hours });
      await post(id, `behind ${hours}`, { root, due: false });
      await db.sql`update posts set parent_post_id = ${item} where content = ${`behind ${hours}`}`;
      await db.sql`
        insert into post_follow_ups (org_id, post_id, kind, channel_id, due_at)
        values (${orgId}, ${root}, 'first_comment', ${id}, now() + interval '1 day')`;
      roots.push(root);
    }
    await db.sql`update channels set refresh_needed = true where id = ${id}`;
    await db.sql`update organizations set settings = '{"reconnectPolicy":"drop"}' where id = ${orgId}`;
    await login();
    expect(await details(id)).toMatchObject({ 'item -1': 'ERROR missed', 'behind -1': 'ERROR missed' });
    const due = await db.sql`select post_id as id from post_follow_ups where due_at <= now()`;
    expect(due).toEqual([{ id: roots[0] }]);
  });

  test('leaves a disabled channel and its posts unchanged [S246]', async () => {
    const { id } = await login();
    await post(id, 'soon');
    await channels.disable(orgId, id);
    await login();
    expect([(await channels.get(orgId, id)).disabled, await details(id), await nextDue(id)]).toEqual([
      true,
      { soon: 'QUEUE paused' },
      null,
    ]);
  });

  test('changes nothing for the waiting posts of a working channel [S246]', async () => {
    const { id } = await login();
    await full(id);
    await set(id, 1);
    await login();
    expect(await details(id)).toEqual({
      soon: 'QUEUE scheduled',
      later: 'QUEUE scheduled',
      again: 'QUEUE retrying',
      ...UNTOUCHED,
    });
    expect(await nextDue(id)).toBe(1);
    expect(await kinds()).toEqual([]);
  });
});

test.each([
  ['enabled', (id: string) => channels.disable(orgId, id), (id: string) => channels.enable(orgId, id)],
  ['logged in', (id: string) => channels.needsLogin(orgId, id, 'x'), () => login()],
])('a channel that is %s again in a disabled organization starts with that [S211]', async (_, stop, start) => {
  const { id } = await login();
  await post(id, 'soon');
  const by = { userId: null, impersonatorId: null, ip: null };
  await stop(id);
  await world.admin.orgs.change(by, orgId, { disabled: true });
  await start(id);
  expect([await details(id), await nextDue(id)]).toEqual([{ soon: 'QUEUE paused' }, null]);
  await world.admin.orgs.change(by, orgId, { disabled: false });
  expect([await details(id), await nextDue(id)]).toEqual([{ soon: 'QUEUE scheduled' }, 1]);
});

describe('removing a channel', () => {
  test('deletes the unpublished posts, and keeps published ones and those in flight [S136]', async () => {
    const { id } = await login();
    await full(id);
    await set(id, 1);
    expect([
      await channels.remove(other, id),
      await channels.remove(orgId, id),
      await channels.remove(orgId, id),
    ]).toEqual([false, true, false]);
    expect(await details(id)).toEqual({
      ...UNTOUCHED,
      soon: 'deleted',
      later: 'deleted',
      again: 'deleted',
      draft: 'deleted',
      failed: 'deleted',
    });
    expect(await nextDue(id)).toBeNull();
    await expect(channels.get(orgId, id)).rejects.toMatchObject({ code: 'not_found' });
    expect(await topics()).toContain('channel.deleted');
  });

  test('is undone when the same account is connected within 30 days: the posts come back [S136]', async () => {
    const { id } = await login();
    await full(id);
    const own = await post(id, 'deleted before', { hours: 1 });
    await db.sql`update posts set deleted_at = now() - interval '1 hour' where id = ${own}`;
    await channels.remove(orgId, id);
    expect(await login()).toMatchObject({ id, created: false });
    expect(await details(id)).toEqual({
      ...UNTOUCHED,
      soon: 'QUEUE scheduled',
      later: 'QUEUE scheduled',
      again: 'QUEUE scheduled',
      'deleted before': 'deleted',
    });
    expect(await nextDue(id)).toBe(1);
    expect((await channels.get(orgId, id)).disabled).toBe(false);
  });

  test('gives up what comes back behind an item that failed meanwhile [S136]', async () => {
    const { id } = await login();
    const root = await post(id, 'root', { detail: 'publishing' });
    for (const name of ['two', 'three']) await post(id, name, { root, due: false });
    await channels.remove(orgId, id);
    await db.sql`
      update posts
      set state = 'ERROR', detail = null, error_kind = 'validation', error = 'No'
      where id = ${root}`;
    await login();
    expect(await posts(id)).toMatchObject({
      two: { state: 'ERROR', detail: null, errorKind: 'validation', due: null, deleted: false },
      three: { state: 'ERROR', detail: null, errorKind: 'validation', due: null, deleted: false },
    });
    expect(await kinds()).toEqual(['cancelled 2', 'failed 2']);
    await channels.remove(orgId, id);
    await login();
    expect(await kinds()).toEqual(['cancelled 5', 'failed 2']); // not told again
  });

  test('brings a post back as it was that waits for room in the plan, or was missed [S136, S120]', async () => {
    const { id } = await login();
    await post(id, 'no room', { detail: 'paused' });
    await post(id, 'missed', { state: 'ERROR', detail: 'missed', due: false });
    await db.sql`update posts set error_kind = 'billing_required' where content = 'no room'`;
    await channels.remove(orgId, id);
    await login();
    expect(await details(id)).toEqual({ 'no room': 'QUEUE paused', missed: 'ERROR missed' });
    expect((await posts(id))['no room']!.errorKind).toBe('billing_required');
    expect(await topics()).not.toContain('post.failed');
  });

  test('is final for the posts after 30 days, while the channel stays the same [S136]', async () => {
    const { id } = await login();
    await post(id, 'soon');
    const daily = { days: 'FREQ=DAILY', timezone: 'UTC', local: '2020-01-01T00:00:00.000', until: null, left: null };
    const series = await post(id, 'series', { hours: -48 });
    await db.sql`update posts set recurrence = ${db.sql.json({ ...daily, inter: null })} where id = ${series}`;
    await channels.remove(orgId, id);
    await db.sql`update channels set deleted_at = deleted_at - interval '31 days' where id = ${id}`;
    await db.sql`update posts set deleted_at = deleted_at - interval '31 days' where channel_id = ${id}`;
    await db.sql`truncate outbox`;
    expect(await login()).toMatchObject({ id });
    expect([await details(id), await nextDue(id)]).toEqual([{ soon: 'deleted', series: 'deleted' }, null]);
    expect(await topics()).toEqual(['channel.connected']); // nothing is told of what stays deleted
  });
});

test('a reconnect during a stop of the channel resumes the posts just paused [S135]', async () => {
  const { id } = await login();
  await post(id, 'soon');
  let logging: Promise<unknown> | undefined;
  await db.sql.begin(async (stopping) => {
    await stopping`update channels set refresh_needed = true, next_due_at = null where id = ${id}`;
    await stopping`update posts set detail = 'paused' where channel_id = ${id}`;
    logging = login();
    await eventually('the login waits for the row', async () => (await waitingOnLock(db.sql)) > 0);
  });
  await logging;
  expect([await details(id), await nextDue(id)]).toEqual([{ soon: 'QUEUE scheduled' }, 1]);
});

test('fifty concurrent transitions leave channel and posts consistent', async () => {
  const { id } = await login();
  for (let n = 0; n < 20; n++) await post(id, `p${n}`, { hours: 1 + n });
  await set(id, 1);
  const moves = [
    () => channels.disable(orgId, id),
    () => channels.enable(orgId, id),
    () => channels.needsLogin(orgId, id, 'x'),
    () => login(),
  ];
  await Promise.all(Array.from({ length: 50 }, (_, n) => moves[n % moves.length]!()));
  const [row] = await db.sql`select disabled or refresh_needed as stopped from channels where id = ${id}`;
  const found = new Set(Object.values(await details(id)));
  expect([...found]).toEqual([row!['stopped'] ? 'QUEUE paused' : 'QUEUE scheduled']);
  expect((await nextDue(id)) === null).toBe(row!['stopped']);
});
