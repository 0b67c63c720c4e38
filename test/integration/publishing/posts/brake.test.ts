import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, ProviderError } from '../../../../src/platform/kernel/index.ts';
import type { Client } from '../../../support/worlds/app.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { loginOf, startingWith } from '../../../support/worlds/publishing/world.ts';
import { settles } from '../../../support/wire/settles.ts';

const HOUR = 3_600_000;
const routes = await openPostRoutes();
const { db, app, network, ann, eve, key, channel, second, foreign, connect, schedule, create, made, read, published } =
  routes;
afterAll(routes.close);

const brake = (verb: 'pause' | 'resume', body: object, client: Client = ann.client) =>
  client.post(`/posts/${verb}`, body);
const set = async (verb: 'pause' | 'resume', body: object) => {
  const answer = await brake(verb, body);
  expect([answer.text, answer.status]).toEqual([answer.text, 200]);
  return answer.body;
};
beforeEach(async () => {
  network.behave = undefined;
  network.find = undefined;
  for (const row of await db.sql`select brake from brakes where org_id = ${ann.orgId}`) {
    const [scope, id] = (row['brake'] as string).split(':');
    await brake('resume', { scope, ...(id && { id }) });
  }
  await db.sql`truncate posts cascade`;
  await db.sql`delete from outbox`;
});
const detail = async (id: string) => (await read(id)).detail as string | null;
const kinds = async (id: string) =>
  (await ann.client.get(`/posts/${id}/timeline`)).body.items.map(({ kind }: { kind: string }) => kind);
const marks = async (id: string) => (await db.sql`select brakes from channels where id = ${id}`)[0]!['brakes'];
const nextDue = async () => (await db.sql`select next_due_at from channels where id = ${channel}`)[0]!['next_due_at'];
/** Makes the dates of posts lie in the past, a second from each other. */
const overdue = (ids: readonly string[]) => db.sql`
  update posts
  set publish_date = now() - interval '1 hour' + array_position(${[...ids]}::uuid[], id) * interval '1 s',
    due_at = case when due_at is not null then now() end
  where id = any(${[...ids]}::uuid[])`;

describe('POST /posts/pause', () => {
  test('pauses what waits in its scope, once, and says so in timeline and facts [S123, S101, S117]', async () => {
    const group = newId();
    const [one, other, campaign] = [
      await made(),
      await made(schedule({ posts: [element(second)] })),
      await made(schedule({ posts: [element(second, '<p>C</p>', { group })] })),
    ];
    const details = async () => Promise.all([one, other, campaign].map(detail));
    expect(await set('pause', { scope: 'channel', id: channel })).toEqual({ paused: 1 });
    expect(await details()).toEqual(['paused', 'scheduled', 'scheduled']);
    expect(await set('pause', { scope: 'campaign', id: group })).toEqual({ paused: 1 });
    expect(await details()).toEqual(['paused', 'scheduled', 'paused']);
    expect(await set('pause', { scope: 'org' })).toEqual({ paused: 1 });
    expect(await set('pause', { scope: 'org' })).toEqual({ paused: 0 });
    expect(await details()).toEqual(['paused', 'paused', 'paused']);
    expect(await kinds(one)).toEqual(['created', 'paused']);
    const [fact] = await db.sql`select payload from outbox where topic = 'post.paused' and entity_id = ${campaign}`;
    expect(fact!['payload']).toMatchObject({
      reason: 'brake',
      state: 'QUEUE',
      detail: 'paused',
      content: '<p>C</p>',
      groupId: group,
      channelId: second,
      channelName: 'Second',
    });
  });

  test('what is made, scheduled or sent again under a brake waits [S123]', async () => {
    const draft = await made(schedule({ type: 'draft' }));
    const failed = await made();
    await db.sql`update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'x', due_at = null
      where id = ${failed}`;
    const grouped = await made();
    await set('pause', { scope: 'org' });
    const fresh = await made();
    const now = await made(schedule({ type: 'now' }));
    await ann.client.put(`/posts/${draft}/status`, { status: 'schedule' });
    await ann.client.post(`/posts/${failed}/retry`, {});
    for (const id of [fresh, now, draft, failed])
      expect(await read(id)).toMatchObject({ state: 'QUEUE', detail: 'paused' });
    const facts = await db.sql`select entity_id as id from outbox where topic = 'post.paused' order by id`;
    expect(facts.map((row) => row['id'])).toEqual(expect.arrayContaining([fresh, now, draft]));
    const told = await db.sql`
      select payload ->> 'detail' as detail
      from outbox
      where topic = 'post.scheduled' and entity_id in ${db.sql([fresh, now, draft])}`;
    expect(told.map((row) => row['detail'])).toEqual(['paused', 'paused', 'paused']);
    await set('resume', { scope: 'org' });
    await set('pause', { scope: 'campaign', id: (await read(fresh)).group });
    expect((await ann.client.put(`/posts/${fresh}`, { group: 'elsewhere' })).status).toBe(409);
    expect((await ann.client.put(`/posts/${grouped}`, { group: (await read(fresh)).group })).body.detail).toBe(
      'paused',
    );
  });

  test('another group is refused where that lets a post out of its brake, and only there; preflight says so [S123, S116]', async () => {
    const id = await made();
    const edit = (group: string) => ({
      type: 'update',
      posts: [element(channel, '', { value: [{ id, content: 'x' }], group })],
    });
    const judged = async (group: string) => {
      const [{ valid, issues }] = (await ann.client.post('/posts/preflight', edit(group))).body;
      const { status, body } = await ann.client.post('/posts', edit(group));
      expect([valid, issues]).toEqual(status === 201 ? [true, []] : [false, body.errors]);
      return status;
    };
    await set('pause', { scope: 'org' });
    expect(await judged('first')).toBe(201);
    await set('pause', { scope: 'campaign', id: 'first' });
    await set('resume', { scope: 'org' });
    expect(await read(id)).toMatchObject({ detail: 'paused' });
    expect([await judged('second'), await judged('first')]).toEqual([409, 201]);
    const other = await made(schedule({ posts: [element(second, 'y', { group: 'second' })] }));
    await set('pause', { scope: 'campaign', id: 'second' });
    expect(await judged('second')).toBe(201); // that one holds it
    await set('resume', { scope: 'campaign', id: 'first' });
    expect([await detail(id), await detail(other)]).toEqual(['paused', 'paused']);
    await set('resume', { scope: 'campaign', id: 'second' });
    expect([await detail(id), await detail(other)]).toEqual(['scheduled', 'scheduled']);
  });

  test('a channel that is connected under a brake begins with it, and one that works again keeps it [S123]', async () => {
    const sick = await connect(ann.orgId, 'Sick', { refreshNeeded: true });
    const id = await made(schedule({ posts: [element(sick)] }));
    await set('pause', { scope: 'org' });
    expect([await marks(sick), await marks(channel)]).toEqual([['org'], ['org']]);
    const { saveLogin } = await import('../../../../src/publishing/channels/transitions/save-login.ts');
    const login = (internalId: string) =>
      saveLogin(
        db.sql,
        startingWith({ lockOrg: async () => {}, admit: async () => {} }),
        ann.orgId,
        loginOf(internalId),
      );
    expect(await marks((await login(newId())).id)).toEqual(['org']);
    await login(sick);
    expect([await detail(id), await marks(sick)]).toEqual(['paused', ['org']]);
    await db.sql`update organizations set settings = settings || '{"reconnectPolicy":"drop"}' where id = ${ann.orgId}`;
    await overdue([id]);
    await login(sick); // nothing is dropped that a brake has kept from its date
    expect(await detail(id)).toBe('paused');
    await db.sql`update organizations set settings = settings - 'reconnectPolicy' where id = ${ann.orgId}`;
    expect((await set('resume', { scope: 'org', spacingSeconds: 0 })).plan).toMatchObject([{ postId: id }]);
  });

  test('once it has answered no claim passes, however many posts are due [S123]', async () => {
    network.latencyMs = 2;
    const busy = await connect(ann.orgId, 'Busy');
    const body = (type: string) => ({
      type,
      ...(type === 'schedule' && { date: later() }),
      posts: Array.from({ length: 40 }, (_, n) => element(busy, `post ${n}`)),
    });
    const ids = ((await create(body('now'))).body as { postId: string }[]).map(({ postId }) => postId);
    const more = create(body('now'));
    await settles(() => expect(network.taken.some(({ channelId }) => channelId === busy)).toBe(true));
    await set('pause', { scope: 'channel', id: busy });
    const [{ at }] = (await db.sql`select clock_timestamp() as at`) as unknown as [{ at: Date }];
    await more;
    await settles(async () =>
      expect(await db.sql`select from posts where channel_id = ${busy} and detail = 'publishing'`).toHaveLength(0),
    );
    const late = await db.sql`
      select from post_timeline t join posts p on p.id = t.post_id
      where p.channel_id = ${busy} and t.kind = 'claimed' and t.at > ${at}`;
    expect(late).toHaveLength(0);
    const left = await db.sql`select detail, count(*)::int as n from posts where channel_id = ${busy} group by 1`;
    expect(left.map((row) => row['detail']).toSorted()).toEqual([null, 'paused'].toSorted());
    expect(network.taken.filter(({ channelId }) => channelId === busy).length).toBeLessThan(2 * ids.length);
    network.latencyMs = 0;
  });

  test('stops the items of a thread behind the one that is out [S123]', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    network.behave = async (post, _, accept) => {
      if (post.text === 'one') await gate;
      return accept();
    };
    const id = await made(
      schedule({
        type: 'now',
        posts: [{ integration: { id: channel }, value: [{ content: 'one' }, { content: 'two' }] }],
      }),
    );
    await settles(async () => expect(await detail(id)).toBe('publishing'));
    await set('pause', { scope: 'org' });
    go();
    await published(id);
    const [item] = (await read(id)).thread;
    expect(item.detail).toBe('paused');
    expect(await kinds(item.id)).toEqual(['created', 'paused']);
    const told = await db.sql`select payload from outbox where topic = 'post.paused' and entity_id = ${item.id}`;
    expect(told).toMatchObject([{ payload: { reason: 'brake' } }]);
    expect((await set('resume', { scope: 'org', spacingSeconds: 0 })).plan).toMatchObject([{ postId: item.id }]);
    await published(item.id);
  });

  test('stops the next attempt of a post whose attempt has failed meanwhile [S123]', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    network.behave = async () => {
      await gate;
      throw new ProviderError('unavailable', 'HTTP 503');
    };
    const id = await made(schedule({ type: 'now' }));
    await settles(async () => expect(await detail(id)).toBe('publishing'));
    await set('pause', { scope: 'campaign', id: (await read(id)).group });
    go();
    await settles(async () => expect(await detail(id)).toBe('paused'));
    const topics = await db.sql`select topic from outbox where entity_id = ${id} order by id`;
    expect(topics.map(({ topic }) => topic)).toEqual(['post.scheduled', 'post.paused']);
    network.behave = undefined;
    const { plan } = await set('resume', { scope: 'campaign', id: (await read(id)).group });
    expect(plan).toMatchObject([{ postId: id }]);
    expect(await detail(id)).toBe('scheduled');
  });

  test('is read by the claim itself: what waits all the same is not taken before it is off [S123]', async () => {
    const id = await made();
    await set('pause', { scope: 'org' });
    await db.sql`update posts set detail = 'scheduled', on_brake = false where id = ${id}`; // as a release before would
    await overdue([id]);
    const claimed = () => routes.world.posts.claimNext(ann.orgId, channel);
    expect(await claimed()).toEqual({ kind: 'idle' });
    await set('resume', { scope: 'org' });
    await published(id);
  });

  test('holds what is approved under it [S123, S121]', async () => {
    await ann.client.put('/settings', { approvalRequired: 'all' });
    const id = await made();
    await ann.client.put('/settings', { approvalRequired: false });
    expect(await set('pause', { scope: 'org' })).toEqual({ paused: 0 });
    expect((await ann.client.post(`/posts/${id}/approve`, {})).body).toMatchObject({
      state: 'QUEUE',
      detail: 'paused',
    });
    expect((await set('resume', { scope: 'org' })).plan).toMatchObject([{ postId: id }]);
  });

  test('stops no look-up after a lost answer [S123]', async () => {
    let go = () => {};
    const gate = new Promise<void>((resolve) => (go = resolve));
    network.behave = async (_, __, accept) => {
      accept();
      throw new ProviderError('lost', 'cut');
    };
    network.find = async ({ id }) => {
      await gate;
      return { id: `r-${id}`, url: `https://fake.example/${id}` };
    };
    const id = await made(schedule({ type: 'now' }));
    await settles(async () => expect(await detail(id)).toBe('unconfirmed'));
    await set('pause', { scope: 'org' });
    go();
    await published(id);
  });

  test('is for who may decide about posts, of what the organization has; the body says what is wrong [S123, S54, T3]', async () => {
    const member = await app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${member.userId}, 'member')`;
    member.client.headers['showorg'] = ann.orgId;
    for (const verb of ['pause', 'resume'] as const) {
      expect((await brake(verb, { scope: 'org' }, member.client)).status).toBe(403);
      for (const [body, field] of [
        [{}, 'scope'],
        [{ scope: 'all' }, 'scope'],
        [{ scope: 'channel' }, 'id'],
        [{ scope: 'campaign', id: '' }, 'id'],
        [{ scope: 'campaign', id: 'x'.repeat(256) }, 'id'],
        [{ scope: 'org', id: channel }, 'id'],
        [{ scope: 'org', other: 1 }, 'other'],
      ] as const)
        expect((await brake(verb, body)).body.errors[0].field).toBe(field);
      for (const id of [foreign, newId(), 'x'])
        for (const scope of ['channel', 'campaign']) expect((await brake(verb, { scope, id })).status).toBe(404);
    }
    for (const spacingSeconds of [-1, 1.5, '60', 86_401, null])
      expect((await brake('resume', { scope: 'org', spacingSeconds })).body.errors[0].field).toBe('spacingSeconds');
    expect((await key.post('/public/v1/posts/pause', { scope: 'channel', id: second })).status).toBe(201);
    expect((await brake('pause', { scope: 'org' }, eve.client)).body).toEqual({ paused: 0 });
    expect(await marks(channel)).toEqual([]);
    await brake('resume', { scope: 'org' }, eve.client);
  });
});

describe('POST /posts/resume', () => {
  test('plans what it lets go, of each channel in order and spaced, and stores the plan [S123]', async () => {
    const here = await Promise.all([made(), made(), made()]);
    const there = await made(schedule({ posts: [element(second)] }));
    const far = await made(schedule({ date: later(24 * HOUR) }));
    await set('pause', { scope: 'org' });
    await overdue([...here, there]);
    const begun = Date.now();
    const { resumed, plan } = await set('resume', { scope: 'org', spacingSeconds: 120 });
    expect(resumed).toBe(5);
    const at = new Map((plan as { postId: string; at: string }[]).map((one) => [one.postId, Date.parse(one.at)]));
    const first = at.get(here[0]!)!;
    expect(Math.abs(first - begun)).toBeLessThan(60_000);
    expect(here.map((id) => Math.round((at.get(id)! - first) / 1_000))).toEqual([0, 120, 240]);
    expect(at.get(there)).toBe(first);
    expect(at.get(far)).toBe(Date.parse((await read(far)).publishDate));
    const stored = await db.sql`select id, due_at from posts where due_at is not null and id = any(${here})`;
    for (const row of stored) expect((row['due_at'] as Date).getTime()).toBe(at.get(row['id'] as string));
    await published(here[0]!);
    await published(there);
    expect(await Promise.all(here.slice(1).map(detail))).toEqual(['scheduled', 'scheduled']);
    const [row] = await db.sql`select payload from outbox where topic = 'post.resumed' and entity_id = ${here[1]!}`;
    expect(row!['payload']).toMatchObject({ reason: 'brake', state: 'QUEUE', detail: 'scheduled' });
    expect(await kinds(here[1]!)).toEqual(['created', 'paused', 'resumed']);
    expect(await set('resume', { scope: 'org' })).toEqual({ resumed: 0, plan: [] });
  });

  test('lets go nothing that another brake, or a stopped channel, still holds [S123]', async () => {
    const group = newId();
    const stopped = await connect(ann.orgId, 'Stopped');
    const [held, free, there] = [
      await made(schedule({ posts: [element(channel, 'x', { group })] })),
      await made(),
      await made(schedule({ posts: [element(stopped)] })),
    ];
    await set('pause', { scope: 'campaign', id: group });
    await set('pause', { scope: 'org' });
    await db.sql`update channels set refresh_needed = true where id = ${stopped}`;
    expect((await set('resume', { scope: 'org' })).plan.map((one: { postId: string }) => one.postId)).toEqual([free]);
    expect(await Promise.all([held, free, there].map(detail))).toEqual(['paused', 'scheduled', 'paused']);
    expect((await set('resume', { scope: 'campaign', id: group })).plan).toMatchObject([{ postId: held }]);
    expect(await detail(held)).toBe('scheduled');
  });

  test('makes up for one date of a series that was held beyond several, the latest [S123, S120]', async () => {
    const id = await made(schedule({ inter: 1 }));
    await set('pause', { scope: 'org' });
    const [{ last }] = (await db.sql`
      with moved as (
        update posts
        set publish_date = publish_date - interval '98 hours', due_at = due_at - interval '98 hours'
        where id = ${id}
        returning publish_date
      )
      select publish_date + interval '4 days' as last from moved`) as unknown as [{ last: Date }];
    const { plan } = await set('resume', { scope: 'org', spacingSeconds: 0 });
    expect(plan).toMatchObject([{ postId: id }]);
    expect(Date.now() - Date.parse(plan[0].at)).toBeLessThan(60_000);
    await published(id);
    expect(Date.parse((await read(id)).publishDate)).toBe(last.getTime());
    const { items } = (await ann.client.get(`/posts/${id}/timeline`)).body;
    expect(items.find((one: { message: string }) => one.message.startsWith('Dates of the series')).data).toMatchObject({
      publishDate: last.toISOString(),
    });
    await routes.world.reconciler.sweep();
    const [next] = await db.sql`select publish_date as at from posts where recurrence is not null and id <> ${id}`;
    expect((next!['at'] as Date).getTime()).toBe(last.getTime() + 24 * HOUR);
  });

  test('leaves a post of a series its date where no other has gone by since [S123, S120]', async () => {
    const id = await made(schedule({ inter: 7 }));
    await set('pause', { scope: 'org' });
    await db.sql`
      update posts
      set publish_date = publish_date - interval '98 hours', due_at = due_at - interval '98 hours'
      where id = ${id}`;
    const { publishDate } = await read(id);
    await set('resume', { scope: 'org', spacingSeconds: 0 });
    await published(id);
    expect((await read(id)).publishDate).toBe(publishDate);
  });

  test('delays no other post by the spacing of those that it lets go [S123]', async () => {
    const [first, spaced] = [await made(), await made()];
    await set('pause', { scope: 'org' });
    await db.sql`update posts set publish_date = now() + interval '30 minutes', due_at = now() + interval '30 minutes'
      where id in (${first}, ${spaced})`;
    const { plan } = await set('resume', { scope: 'org', spacingSeconds: 7_200 });
    expect(Date.parse(plan[1].at) - Date.parse(plan[0].at)).toBe(7_200_000);
    const between = await made();
    await db.sql`delete from posts where id = ${first}`;
    const claimed = await routes.world.posts.claimNext(ann.orgId, channel);
    expect(claimed.kind).toBe('early');
    expect((await nextDue()).getTime()).toBeLessThanOrEqual(Date.parse((await read(between)).publishDate));
  });
});
