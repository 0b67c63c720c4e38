import { afterAll, afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { requireLogin } from '../../../../src/publishing/channels/transitions/require-login.ts';
import { saveLogin } from '../../../../src/publishing/channels/transitions/save-login.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';
import { settles } from '../../../support/wire/settles.ts';
import { loginOf, startingWith } from '../../../support/worlds/publishing/world.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

// Posts that were too late when their channel worked again: they stay paused until a person says when they go out.

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const routes = await openPostRoutes();
const { db, network, ann, connect, schedule, create, made, read, published } = routes;
const { sql } = db;
afterAll(routes.close);
let channel: string;
beforeEach(async () => {
  network.behave = undefined;
  channel = await connect(ann.orgId, 'Sick');
});
afterEach(
  () =>
    sql`update organizations set settings = settings - '{reconnectPolicy,approvalRequired}'::text[] where id = ${ann.orgId}`,
);

const stop = () => requireLogin(sql, ann.orgId, channel, 'revoked');
const login = () =>
  saveLogin(sql, startingWith({ lockOrg: async () => {}, admit: async () => {} }), ann.orgId, loginOf(channel));
const own = (more: object = {}) => schedule({ posts: [element(channel)], ...more });
/** Puts the date of a thread, and the times of its items, so far back. */
const moveBack = (id: string, ms: number) => sql`
  update posts
  set publish_date = publish_date - ${ms}::float8 * interval '1 ms',
    due_at = due_at - ${ms}::float8 * interval '1 ms'
  where id = ${id} or root_post_id = ${id}`;
/** A post that was due two days before its channel works again. */
async function leftPaused(body: object = own()): Promise<string> {
  const id = await made(body);
  await stop();
  await moveBack(id, 2 * DAY);
  await login();
  expect(await read(id)).toMatchObject({ state: 'QUEUE', detail: 'paused' });
  return id;
}
const kinds = async (id: string) =>
  (await ann.client.get(`/posts/${id}/timeline`)).body.items.map(({ kind }: { kind: string }) => kind);
const factsOf = (topic: string, id: string) => sql`
  select payload from outbox where topic = ${topic} and entity_id = ${id}`;
const resumedFacts = (id: string) => factsOf('post.resumed', id);

describe('a post that was too late when its channel worked again', () => {
  test.each([
    ['PUT /posts/:id/date', (id: string, date: string) => ann.client.put(`/posts/${id}/date`, { date })],
    [
      'PUT /posts/:id/date with the action update',
      (id: string, date: string) => ann.client.put(`/posts/${id}/date`, { date, action: 'update' }),
    ],
    ['PUT /posts/:id', (id: string, publishDate: string) => ann.client.put(`/posts/${id}`, { publishDate })],
    [
      'PATCH /posts/:id',
      (id: string, publishDate: string) => ann.client.send('PATCH', `/posts/${id}`, { publishDate }),
    ],
    [
      'POST /posts of the type schedule',
      (id: string, date: string) =>
        create({
          type: 'schedule',
          date,
          posts: [{ integration: { id: channel }, value: [{ content: 'again', id }, { content: 'behind' }] }],
        }),
    ],
  ])('goes out at the date that it is given by %s [S106, S113, S135, S117]', async (_, give) => {
    const id = await leftPaused();
    const date = later(3 * HOUR);
    const answer = await give(id, date);
    expect([answer.text, answer.status]).toEqual([answer.text, answer.status < 300 ? answer.status : 200]);
    expect(await read(id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', publishDate: date });
    expect(await kinds(id)).toEqual(['created', 'paused', 'resumed']);
    expect(await resumedFacts(id)).toMatchObject([{ payload: { reason: 'channel', detail: 'scheduled' } }]);
    expect((await ann.client.put(`/posts/${id}/date`, { date: later(-HOUR) })).status).toBe(200);
    await published(id);
  });

  test('goes out at once as a body of the type now says [S106, S135]', async () => {
    const id = await leftPaused();
    const body = { type: 'now', posts: [element(channel, 'now', { value: [{ content: 'now', id }] })] };
    expect((await create(body)).status).toBe(201);
    await published(id);
  });

  test('is not sent at its old date by a mere status, unless that is a day ago at most [S104, S114]', async () => {
    const id = await leftPaused();
    expect((await ann.client.put(`/posts/${id}/status`, { status: 'schedule' })).body).toMatchObject({
      code: 'date_in_past',
    });
    expect(await read(id)).toMatchObject({ detail: 'paused' });
    await sql`
      update organizations
      set settings = settings || '{"reconnectPolicy":"ask"}'
      where id = ${ann.orgId}`;
    const asked = await made(own());
    await stop();
    await moveBack(asked, 3 * HOUR);
    await login();
    expect(await read(asked)).toMatchObject({ detail: 'paused' });
    expect((await ann.client.put(`/posts/${asked}/status`, { status: 'schedule' })).status).toBe(200);
    await published(asked);
  });

  test('an item whose root is out goes out when it is scheduled, unasked as it was [S114, S135, S121]', async () => {
    const body = own({
      type: 'now',
      posts: [{ integration: { id: channel }, value: [{ content: 'root' }, { content: 'item', delay: 60 }] }],
    });
    const id = await made(body);
    await published(id);
    const [item] = (await read(id)).thread as { id: string }[];
    await stop();
    await moveBack(id, 2 * DAY);
    await login();
    expect((await read(item!.id)).detail).toBe('paused');
    expect((await ann.client.put(`/posts/${item!.id}/date`, { date: later() })).status).toBe(409);
    // queued before posts needed approval, as a first item that is left paused
    await sql`update organizations set settings = settings || '{"approvalRequired":"all"}' where id = ${ann.orgId}`;
    expect((await ann.client.put(`/posts/${item!.id}/status`, { status: 'schedule' })).status).toBe(200);
    await published(item!.id);
    expect(await kinds(id)).not.toContain('resumed');
  });

  test('waits on for what else holds it: a login, a stopped channel, a brake and a payment [S80, S107, S123]', async () => {
    const date = later(3 * HOUR);
    const giveDate = async (id: string) => {
      expect((await ann.client.put(`/posts/${id}/date`, { date, action: 'update' })).status).toBe(200);
      expect(await read(id)).toMatchObject({ state: 'QUEUE', detail: 'paused', publishDate: date });
    };
    const id = await leftPaused();
    await stop();
    await giveDate(id);
    await login();
    expect(await read(id)).toMatchObject({ detail: 'scheduled' });

    const braked = await leftPaused();
    await ann.client.post('/posts/pause', { scope: 'channel', id: channel });
    await giveDate(braked);
    const release = { scope: 'channel', id: channel, spacingSeconds: 0 };
    expect((await ann.client.post('/posts/resume', release)).body.plan).toMatchObject(
      [id, braked].map((postId) => ({ postId, at: date })),
    );

    const disabled = await leftPaused();
    await sql`update channels set disabled = true where id = ${channel}`;
    await giveDate(disabled);
    await sql`update channels set disabled = false where id = ${channel}`;

    const owed = await leftPaused();
    await sql`
      insert into subscriptions (id, org_id, tier, period, identifier, total_channels, grace_period_end, lapsed)
      values (${newId()}, ${ann.orgId}, 'PRO', 'MONTHLY', ${newId()}, 10, now() + interval '1 hour', true)`;
    await giveDate(owed);
    await sql`delete from subscriptions where org_id = ${ann.orgId}`;
    expect((await ann.client.put(`/posts/${owed}/date`, { date })).status).toBe(200);
    expect(await read(owed)).toMatchObject({ detail: 'scheduled' });
  });

  test('stays paused when the grace period ends while it is edited [S80]', async () => {
    const id = await made(own());
    let giving: Promise<unknown> | undefined;
    await sql.begin(async (ending) => {
      await ending`select from channels where id = ${channel} for update`;
      await ending`
        insert into subscriptions (id, org_id, tier, period, identifier, total_channels, grace_period_end, lapsed)
        values (${newId()}, ${ann.orgId}, 'PRO', 'MONTHLY', ${newId()}, 10, now() + interval '1 hour', true)`;
      await ending`update posts set detail = 'paused' where id = ${id}`;
      giving = ann.client.put(`/posts/${id}/date`, { date: later(3 * HOUR) });
      await eventually(
        'the edit waits for the channel',
        async () =>
          (await sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`)
            .length === 1,
      );
    });
    expect(await giving).toMatchObject({ status: 200 });
    expect(await read(id)).toMatchObject({ state: 'QUEUE', detail: 'paused' });
    await sql`delete from subscriptions where org_id = ${ann.orgId}`;
  });
});

describe('the rest of a thread whose root is under way', () => {
  /** Its root goes out once `out` is called. */
  async function underWay() {
    const open = gate();
    network.behave = async ({ text }, _, accept) => {
      if (text === 'root') await open.passed;
      return accept();
    };
    const value = [{ content: 'root' }, { content: 'item' }];
    const id = await made(own({ type: 'now', posts: [{ integration: { id: channel }, value }] }));
    const [item] = (await read(id)).thread as [{ id: string }];
    const stateOf = async () => (await sql`select state, detail from posts where id = ${id}`)[0];
    await settles(async () => expect(await stateOf()).toMatchObject({ detail: 'publishing' }));
    const out = async () => {
      open.open();
      await settles(async () => expect(await stateOf()).toMatchObject({ state: 'PUBLISHED' }));
    };
    return { id, item: item.id, out };
  }
  const remove = () => ann.client.send('DELETE', `/integrations/${channel}`);

  test('goes on when their channel, deleted meanwhile, is back [S136]', async () => {
    const { item, out } = await underWay();
    await remove();
    await out();
    await login();
    const [row] = await sql`select detail, due_at <= now() as due from posts where id = ${item}`;
    expect(row).toEqual({ detail: 'scheduled', due: true });
    expect((await sql`select next_due_at <= now() as due from channels where id = ${channel}`)[0]!['due']).toBe(true);
  });

  test('waits while their channel is stopped, and is left paused where that was too long [S135, S137]', async () => {
    const { id, item, out } = await underWay();
    await stop();
    await out();
    expect(await read(item)).toMatchObject({ state: 'QUEUE', detail: 'paused' });
    expect(await kinds(item)).toEqual(['created', 'paused']);
    expect(await factsOf('post.paused', item)).toMatchObject([{ payload: { reason: 'channel', detail: 'paused' } }]);
    await moveBack(id, 2 * DAY);
    await login();
    expect(await read(item)).toMatchObject({ state: 'QUEUE', detail: 'paused' });
  });

  test('waits for its channel behind a release that a person names [S137, S258]', async () => {
    const value = [{ content: 'root' }, { content: 'item' }];
    const id = await made(own({ posts: [{ integration: { id: channel }, value }] }));
    await sql`
      update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'x', due_at = null
      where id = ${id} or root_post_id = ${id}`;
    await sql`update channels set disabled = true where id = ${channel}`;
    expect((await ann.client.put(`/posts/${id}/release-id`, { releaseId: 'there' })).status).toBe(200);
    await sql`update channels set disabled = false where id = ${channel}`;
    const { state, thread } = await read(id);
    expect([state, thread]).toMatchObject(['PUBLISHED', [{ state: 'QUEUE', detail: 'paused' }]]);
    expect(await kinds(thread[0].id)).toEqual(['created', 'paused']);
    expect(await factsOf('post.paused', thread[0].id)).toMatchObject([{ payload: { reason: 'channel' } }]);
  });

  test('waits for a brake that is on when the channel is back, and goes on when it is off [S136, S123]', async () => {
    const { item, out } = await underWay();
    await remove();
    await out();
    await ann.client.post('/posts/pause', { scope: 'org' });
    await login();
    expect(await read(item)).toMatchObject({ detail: 'paused' });
    const { body } = await ann.client.post('/posts/resume', { scope: 'org', spacingSeconds: 0 });
    expect(body.plan.map(({ postId }: { postId: string }) => postId)).toContain(item);
    await published(item);
  });

  test('goes on when a person says so, where the channel is back too late [S136, S135]', async () => {
    const { id, item, out } = await underWay();
    await remove();
    await out();
    await moveBack(id, 2 * DAY);
    await sql`update posts set published_at = published_at - interval '2 days' where id = ${id}`;
    await login();
    expect(await read(item)).toMatchObject({ detail: 'paused' });
    expect((await ann.client.put(`/posts/${item}/status`, { status: 'schedule' })).status).toBe(200);
    await published(item);
  });
});

describe('a post of a series that was more than a day late when its channel worked again', () => {
  const series = (inter: number) => made(own({ inter }));
  const backInTwoDays = async (id: string) => {
    await stop();
    await moveBack(id, 2 * DAY);
    await login();
    return read(id);
  };
  const inMs = ({ publishDate }: { publishDate: string }) => Date.parse(publishDate) - Date.parse(later(0));
  const rest = async (id: string) => (await ann.client.get(`/posts/${id}/timeline`)).body.items.slice(2);

  test('goes out late at the latest date that has gone by since, and names the others [S120, S135]', async () => {
    const id = await series(1);
    const { publishDate } = await read(id);
    const moved = await backInTwoDays(id);
    expect(moved).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
    expect([inMs(moved) > -DAY, inMs(moved) < -22 * HOUR]).toEqual([true, true]);
    expect((await rest(id))[0]).toMatchObject({
      kind: 'scheduled',
      data: { skipped: [new Date(Date.parse(publishDate) - 2 * DAY).toISOString()] },
    });
    const told = await sql`
      select topic, (payload ->> 'publishDate')::timestamptz as at from outbox where entity_id = ${id} order by id`;
    const at = new Date(moved.publishDate);
    expect(told.slice(-2)).toEqual([
      { topic: 'post.scheduled', at },
      { topic: 'post.resumed', at },
    ]);
  });

  test.each(['publish', 'ask'])(
    'waits for its next date where that is the nearer one: %s [S120, S135]',
    async (policy) => {
      await sql`update organizations set settings = settings || ${sql.json({ reconnectPolicy: policy })} where id = ${ann.orgId}`;
      const id = await series(7);
      const moved = await backInTwoDays(id);
      expect(moved).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
      expect(inMs(moved)).toBeGreaterThan(4 * DAY);
      expect((await rest(id)).map(({ kind }: { kind: string }) => kind)).toEqual(['scheduled', 'resumed']);
    },
  );

  test('stays where its channel does not work yet, or where nothing follows [S120, S135]', async () => {
    const id = await series(7);
    const last = await made(own({ recurrence: { rrule: 'FREQ=DAILY;COUNT=2', timezone: 'UTC' } }));
    await sql`update channels set disabled = true where id = ${channel}`;
    await moveBack(last, 5 * DAY);
    await sql`update posts set detail = 'paused' where id = ${last}`;
    expect(await backInTwoDays(id)).toMatchObject({ detail: 'paused' });
    expect(inMs(await read(id))).toBeLessThan(-DAY);
    await ann.client.post('/integrations/enable', { id: channel });
    expect(await read(id)).toMatchObject({ detail: 'scheduled' });
    expect(await read(last)).toMatchObject({ state: 'QUEUE', detail: 'paused' });
  });

  test('is missed where that is the policy, and its series goes on by another post [S120, S135]', async () => {
    await sql`update organizations set settings = settings || '{"reconnectPolicy":"drop"}' where id = ${ann.orgId}`;
    expect(await backInTwoDays(await series(7))).toMatchObject({ state: 'ERROR', detail: 'missed' });
  });

  test('is missed at the latest date that has gone by: the one after it is to come [S120, S135]', async () => {
    await sql`update organizations set settings = settings || '{"reconnectPolicy":"drop"}' where id = ${ann.orgId}`;
    const id = await series(1);
    const missed = await backInTwoDays(id);
    expect(missed).toMatchObject({ state: 'ERROR', detail: 'missed' });
    expect([inMs(missed) > -DAY, inMs(missed) < -22 * HOUR]).toEqual([true, true]);
    await routes.world.reconciler.sweep();
    const [next] = await sql<{ id: string }[]>`
      select id from posts where channel_id = ${channel} and id <> ${id} and root_post_id is null`;
    expect(await read(next!.id)).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
    expect(inMs(await read(next!.id))).toBeGreaterThan(0);
  });

  test('comes back at a date to come with a channel that was deleted [S120, S136]', async () => {
    const id = await series(7);
    await ann.client.send('DELETE', `/integrations/${channel}`);
    await moveBack(id, 2 * DAY);
    await login();
    expect(await read(id)).toMatchObject({ detail: 'scheduled' });
    expect(inMs(await read(id))).toBeGreaterThan(4 * DAY);
  });
});
