import { afterAll, afterEach, describe, expect, test } from '@jest/globals';
import { openDatabase } from '../../../../src/platform/db/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { deleteEnded } from '../../../../src/publishing/posts/campaigns/store.ts';
import { testApp } from '../../../support/worlds/app.ts';
import { subscribe, WITH_BILLING } from '../../../support/worlds/billing.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

const routes = await openPostRoutes();
const { db, app, ann, eve, key, channel, second, network, schedule, create, made, read, published } = routes;
const billed = await testApp({ sql: db.sql, env: WITH_BILLING });
afterAll(async () => {
  await billed[Symbol.asyncDispose]();
  await routes.close();
});

let count = 0;
const named = () => `Campaign ${(count += 1)}`;
async function campaign(body: object = { name: named() }, { client } = ann) {
  const { status, body: one, text } = await client.post('/campaigns', body);
  expect([text, status]).toEqual([text, 201]);
  return one as { id: string; tagId: string; name: string; posts: number };
}
const detail = async (id: string) => (await read(id)).detail as string;
const tagsOf = async (id: string) =>
  (await read(id)).tags.map(({ tag }: { tag: { name: string } }) => tag.name) as string[];

describe('campaigns', () => {
  test('are created, read, listed, changed and deleted [S188]', async () => {
    const body = {
      name: ' Spring ',
      color: '#00ff00',
      description: 'Tulips',
      startDate: '2026-03-01',
      endDate: '2026-05-31',
    };
    const { status, body: spring } = await ann.client.post('/campaigns', body);
    const shown = {
      ...body,
      id: expect.any(String),
      name: 'Spring',
      tagId: expect.any(String),
      posts: 0,
    };
    expect([status, spring]).toEqual([201, shown]);
    expect((await ann.client.get('/posts/tags')).body.tags).toContainEqual({
      id: spring.tagId,
      name: 'Spring',
      color: '#00ff00',
    });
    const plain = await campaign({ name: named() });
    expect(plain).toMatchObject({ color: '#612AD5', description: '', startDate: null, endDate: null });

    const first = (await ann.client.get('/campaigns?limit=1')).body;
    expect(first).toEqual({ items: [plain], nextCursor: plain.id });
    const rest = (await ann.client.get(`/campaigns?limit=1&cursor=${first.nextCursor}`)).body;
    expect(rest).toEqual({ items: [spring], nextCursor: null });
    expect((await eve.client.get('/campaigns')).body).toEqual({ items: [], nextCursor: null });

    const renamed = await ann.client.put(`/campaigns/${spring.id}`, { name: 'May', color: '#123', startDate: null });
    expect([renamed.status, renamed.body]).toEqual([200, { ...spring, name: 'May', color: '#123', startDate: null }]);
    const patched = await ann.client.send('PATCH', `/campaigns/${spring.id}`, { description: '' });
    expect(patched.body).toEqual({ ...renamed.body, description: '' });
    expect((await ann.client.get(`/campaigns/${spring.id}`)).body).toEqual(patched.body);

    expect((await ann.client.delete(`/campaigns/${spring.id}`)).body).toEqual({ id: spring.id });
    expect((await ann.client.get(`/campaigns/${spring.id}`)).status).toBe(404);
    expect((await ann.client.get('/posts/tags')).text).not.toContain(spring.tagId);
    await ann.client.delete(`/campaigns/${plain.id}`);
  });

  test.each([
    ['name', {}],
    ['name', { name: '' }],
    ['name', { name: 'x'.repeat(256) }],
    ['color', { name: 'x', color: 'red' }],
    ['startDate', { name: 'x', startDate: '2026-02-30' }],
    ['startDate', { name: 'x', startDate: '0000-01-01' }], // which Postgres does not know
    ['endDate', { name: 'x', endDate: 'tomorrow' }],
    ['endDate', { name: 'x', startDate: '2026-03-02', endDate: '2026-03-01' }],
    ['tagId', { tagId: newId() }],
    ['tagId', { tagId: 'x' }],
    ['posts', { name: 'x', posts: 1 }],
  ])('name the field %s that is wrong [S188, S6]', async (field, body) => {
    const { status, body: refusal } = await ann.client.post('/campaigns', body);
    expect([status, refusal.errors[0].field]).toEqual([400, field]);
  });

  test('keep their days in order when one of them is changed [S188]', async () => {
    const { id } = await campaign({ name: named(), startDate: '2026-03-02' });
    const early = await ann.client.put(`/campaigns/${id}`, { endDate: '2026-03-01' });
    expect([early.status, early.body.errors[0].field]).toEqual([400, 'endDate']);
    expect((await ann.client.put(`/campaigns/${id}`, { endDate: '2026-03-02' })).status).toBe(200);
  });

  test('are made of a tag once, and share name and color with it [S188, S187]', async () => {
    const tag = (await ann.client.post('/posts/tags', { name: named(), color: '#111' })).body;
    const post = await made(schedule({ tags: [{ label: tag.name }] }));
    const one = await campaign({ tagId: tag.id, description: 'From a tag' });
    expect(one).toMatchObject({ tagId: tag.id, name: tag.name, color: '#111', posts: 1 });
    const again = await ann.client.post('/campaigns', { tagId: tag.id });
    expect([again.status, again.body.errors[0].field]).toEqual([409, 'tagId']);
    const beside = await ann.client.post('/campaigns', { tagId: tag.id, name: 'x' });
    expect([beside.status, beside.body.errors[0].field]).toEqual([400, 'name']);
    const taken = await ann.client.post('/campaigns', { name: tag.name.toUpperCase() });
    expect([taken.status, taken.body.errors[0].field]).toEqual([409, 'name']);
    const foreign = await eve.client.post('/campaigns', { tagId: tag.id });
    expect([foreign.status, foreign.body.errors[0].field]).toEqual([400, 'tagId']);

    await ann.client.put(`/posts/tags/${tag.id}`, { name: `${tag.name}!` });
    expect((await ann.client.get(`/campaigns/${one.id}`)).body.name).toBe(`${tag.name}!`);
    const refused = await ann.client.delete(`/posts/tags/${tag.id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'conflict']);
    expect((await read(post)).campaignId).toBe(one.id);
  });

  test('a plan without campaigns refuses them; one with them does not [LM5, S188, S5]', async () => {
    const zoe = await billed.signUp();
    await subscribe(db.sql, zoe.orgId, { tier: 'STARTER' });
    expect(await zoe.client.post('/campaigns', { name: 'Spring' })).toMatchObject({
      status: 402,
      body: {
        code: 'plan_required',
        message: 'Your plan does not include campaigns',
        url: expect.stringMatching(/\/billing$/),
      },
    });
    expect((await zoe.client.get('/posts/tags')).body).toEqual({ tags: [] });
    await subscribe(db.sql, zoe.orgId, { tier: 'PRO' });
    expect((await zoe.client.post('/campaigns', { name: 'Spring' })).status).toBe(201);
  });
});

describe('posts of a campaign', () => {
  test('name it when they are created, by one request and in bulk, and are counted as threads [S188]', async () => {
    const one = await campaign();
    const posts = [{ ...element(channel), value: [{ content: '<p>A</p>' }, { content: '<p>B</p>' }] }, element(second)];
    const id = await made(schedule({ posts, campaignId: one.id, tags: [{ label: 'Other' }] }));
    expect(await read(id)).toMatchObject({ campaignId: one.id });
    expect((await tagsOf(id)).toSorted()).toEqual([one.name, 'Other'].toSorted());
    const plan = await ann.client.post('/posts/bulk', {
      items: [schedule({ campaignId: one.id }), schedule({ campaignId: newId() })],
    });
    expect(
      plan.body.rows.map(({ errors }: { errors: { field: string }[] }) => errors.map(({ field }) => field)),
    ).toEqual([[], ['campaignId']]);
    const applied = await ann.client.post(`/posts/bulk/${plan.body.planId}/apply`, {});
    expect(applied.body.created).toBe(1);
    expect((await ann.client.get(`/campaigns/${one.id}`)).body.posts).toBe(3);
    expect((await key.get(`/public/v1/posts/${id}`)).body.campaignId).toBe(one.id);
  });

  test.each(['unknown', 'foreign', 'impossible'])('an %s campaign is 400 with its field [S9, S188]', async (kind) => {
    const id = { unknown: newId(), foreign: (await campaign({ name: named() }, eve)).id, impossible: 'x' }[kind]!;
    const created = await create(schedule({ campaignId: id }));
    expect([created.status, created.body.errors[0].field]).toEqual([400, 'campaignId']);
    const post = await made();
    const edited = await ann.client.send('PATCH', `/posts/${post}`, { campaignId: id });
    expect([edited.status, edited.body.errors[0].field]).toEqual([400, 'campaignId']);
  });

  test('an edit moves them to another campaign, or out of it, and leaves other tags [S188]', async () => {
    const [one, other] = [await campaign(), await campaign()];
    const id = await made(schedule({ campaignId: one.id, tags: [{ label: 'Keep' }] }));
    const edit = async (body: object) => {
      expect((await ann.client.send('PATCH', `/posts/${id}`, body)).status).toBe(200);
      return [(await read(id)).campaignId, (await tagsOf(id)).toSorted()];
    };
    expect(await edit({ campaignId: other.id })).toEqual([other.id, [other.name, 'Keep'].toSorted()]);
    expect(await edit({ campaignId: null })).toEqual([null, ['Keep']]);
    expect(await edit({ tags: [{ label: one.name }] })).toEqual([one.id, [one.name]]);
    expect(await edit({ tags: [{ label: 'New' }], campaignId: other.id })).toEqual([
      other.id,
      [other.name, 'New'].toSorted(),
    ]);
    const update = {
      type: 'update',
      campaignId: one.id,
      posts: [{ integration: { id: channel }, value: [{ id, content: 'x' }] }],
    };
    expect((await create(update)).status).toBe(201);
    expect([(await read(id)).campaignId, (await tagsOf(id)).toSorted()]).toEqual([
      one.id,
      [one.name, 'New'].toSorted(),
    ]);
  });

  test('stay when it is deleted, and are published [S188]', async () => {
    const one = await campaign();
    const id = await made(schedule({ type: 'now', campaignId: one.id }));
    await ann.client.delete(`/campaigns/${one.id}`);
    await published(id);
    expect(await read(id)).toMatchObject({ campaignId: null, tags: [] });
  });
});

describe('a brake on a campaign', () => {
  const brake = (verb: 'pause' | 'resume', id: string) => ann.client.post(`/posts/${verb}`, { scope: 'campaign', id });
  const set: string[] = [];
  const pause = (id: string) => {
    set.push(id);
    return brake('pause', id);
  };
  afterEach(async () => {
    for (const id of set.splice(0)) await brake('resume', id);
    network.behave = undefined;
  });

  test('holds its posts and no others, what joins it, and what is made in it, until it is resumed [S123, S188]', async () => {
    const one = await campaign();
    const [inside, outside, joining] = [await made(schedule({ campaignId: one.id })), await made(), await made()];
    expect((await pause(one.id)).body).toEqual({ paused: 1 });
    expect(await Promise.all([inside, outside].map(detail))).toEqual(['paused', 'scheduled']);
    expect((await ann.client.send('PATCH', `/posts/${joining}`, { campaignId: one.id })).status).toBe(200);
    const fresh = await made(schedule({ type: 'now', campaignId: one.id }));
    const free = await made(schedule({ type: 'now' }));
    await published(free);
    expect(await Promise.all([inside, joining, fresh].map(detail))).toEqual(['paused', 'paused', 'paused']);
    expect((await brake('pause', one.id)).body).toEqual({ paused: 0 });

    const resumed = await brake('resume', one.id);
    expect(resumed.body.plan.map(({ postId }: { postId: string }) => postId).toSorted()).toEqual(
      [inside, joining, fresh].toSorted(),
    );
    await published(fresh);
    expect(await Promise.all([inside, joining].map(detail))).toEqual(['scheduled', 'scheduled']);
  });

  test('a post does not leave it, the campaign and its tag are not deleted under it [S123, S188]', async () => {
    const one = await campaign();
    const id = await made(schedule({ campaignId: one.id }));
    await pause(one.id);
    for (const body of [{ campaignId: null }, { tags: [] }])
      expect((await ann.client.send('PATCH', `/posts/${id}`, body)).body).toMatchObject({ code: 'conflict' });
    expect(
      (await ann.client.send('PATCH', `/posts/${id}`, { tags: [{ label: one.name }, { label: 'More' }] })).status,
    ).toBe(200);
    expect((await ann.client.delete(`/campaigns/${one.id}`)).body).toMatchObject({ code: 'conflict' });
    expect((await ann.client.delete(`/posts/tags/${one.tagId}`)).body).toMatchObject({ code: 'conflict' });
    await brake('resume', one.id);
    expect(await detail(id)).toBe('scheduled');
    expect((await ann.client.delete(`/campaigns/${one.id}`)).status).toBe(200);
  });

  test('preflight says which tags and campaigns let a post out of it [S123, S116]', async () => {
    const [one, other] = [await campaign(), await campaign()];
    const id = await made(schedule({ campaignId: one.id }));
    await pause(one.id);
    const refusedAt = async (more: object) => {
      const edit = { type: 'update', posts: [element(channel, '', { value: [{ id, content: 'x' }] })], ...more };
      const [{ valid, issues }] = (await ann.client.post('/posts/preflight', edit)).body;
      const { status, body } = await create(edit);
      expect([valid, issues]).toEqual(status === 201 ? [true, []] : [false, body.errors]);
      return issues.map(({ field, rule }: { field: string; rule: string }) => `${field} ${rule}`);
    };
    const [plain, same] = [{ label: 'Plain' }, { label: one.name.toUpperCase() }];
    expect(await refusedAt({ tags: [plain] })).toEqual(['tags conflict']);
    expect(await refusedAt({ campaignId: other.id })).toEqual(['campaignId conflict']);
    expect(await refusedAt({ tags: [plain], campaignId: other.id })).toEqual(['tags conflict']);
    expect(await refusedAt({ tags: [plain, same] })).toEqual([]);
    expect(await refusedAt({ tags: [plain], campaignId: one.id })).toEqual([]);
    await pause(other.id);
    expect(await refusedAt({ campaignId: other.id })).toEqual([]); // that one holds it
    expect(await detail(id)).toBe('paused');
  });

  test('stands on channels that are connected later, and not on those of others [S123, S188]', async () => {
    const one = await campaign();
    await pause(one.id);
    const third = await routes.connect(ann.orgId, 'Third');
    await db.sql`
      update channels c
      set brakes = array(select b.brake from brakes b where b.org_id = c.org_id)
      where id = ${third}`; // as whoever connects a channel does
    expect(await detail(await made(schedule({ posts: [element(third)], campaignId: one.id })))).toBe('paused');
    const foreign = await eve.client.post('/posts/pause', { scope: 'campaign', id: one.id });
    expect([foreign.status, foreign.body.message]).toEqual([404, 'Campaign not found']);
  });
});

describe('the sweep of campaigns', () => {
  const sweep = () => app.context.sweeps.find(({ name }) => name === 'ended-campaigns')!.run(500);

  test('deletes those that ended more than thirty days ago, and keeps their posts [RT12, S188]', async () => {
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const [old, recent, open, held] = [
      await campaign({ name: named(), endDate: day(33) }),
      await campaign({ name: named(), endDate: day(28) }),
      await campaign(),
      await campaign({ name: named(), endDate: day(33) }),
    ];
    const post = await made(schedule({ campaignId: old.id, date: later() }));
    const waiting = await made(schedule({ campaignId: held.id }));
    await ann.client.post('/posts/pause', { scope: 'campaign', id: held.id });
    await sweep();
    const kept = (await ann.client.get('/campaigns?limit=100')).body.items.map(({ id }: { id: string }) => id);
    expect([old, recent, open, held].map(({ id }) => kept.includes(id))).toEqual([false, true, true, true]);
    expect((await ann.client.get('/posts/tags')).text).not.toContain(old.tagId);
    expect(await read(post)).toMatchObject({ state: 'QUEUE', detail: 'scheduled', campaignId: null, tags: [] });

    await ann.client.post('/posts/resume', { scope: 'campaign', id: held.id });
    await sweep();
    expect((await ann.client.get(`/campaigns/${held.id}`)).status).toBe(404);
    expect(await detail(waiting)).toBe('scheduled');
  });

  test('keeps one that gets a brake in the same moment, else nobody could resume its posts [S188]', async () => {
    const day = (ago: number) => new Date(Date.now() - ago * 86_400_000).toISOString().slice(0, 10);
    const [early, late] = [
      await campaign({ name: named(), endDate: day(40) }),
      await campaign({ name: named(), endDate: day(39) }),
    ];
    const works: Promise<unknown>[] = [];
    // of rows that are deleted one after another the second is locked while the first waits
    const byRows = openDatabase({ url: `${db.url}?enable_hashjoin=off&enable_mergejoin=off`, connections: 1 });
    await using _ = { [Symbol.asyncDispose]: () => byRows.end() };
    await db.sql.begin(async (tx) => {
      await tx`select from tags where id = ${early.tagId} for update`; // the sweep waits where it deletes it
      works.push(deleteEnded(byRows, 30, 500));
      await eventually('the sweep waits', async () => (await waitingOnLock(db.sql)) === 1);
      let isBraked = false;
      const brake = ann.client.post('/posts/pause', { scope: 'campaign', id: late.id });
      works.push(brake.then(() => (isBraked = true)));
      await eventually('the brake stands, or waits', async () => isBraked || (await waitingOnLock(db.sql)) === 2);
    });
    await Promise.all(works);
    const brakes = await db.sql`select from brakes where org_id = ${ann.orgId} and brake = ${late.tagId}`;
    expect((await ann.client.get(`/campaigns/${late.id}`)).status).toBe(brakes.length > 0 ? 200 : 404);
  });
});
