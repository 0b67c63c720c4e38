import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { type DesignerWorld, designerWorld, step } from '../../support/worlds/studio/designer-world.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { openEventStream } from '../../support/wire/event-stream.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

// Sessions as people meet them: the model and the maker are on the wire, and each test writes what they answer.

let db: TestDatabase;
let world: DesignerWorld;
let ann: SignedUp & { channel: string };
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await designerWorld({ db });
  ann = await world.person();
});
afterEach(() => world.rest());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const plans = (...steps: object[]) => {
  world.script.plan = () => ({ message: 'Here is a plan', steps });
};
/** A picture, and a post with it. */
const pictureAndPost = () =>
  plans(
    step('hero', 'image', { size: '64x48' }),
    step('post', 'copy', { channelIds: [ann.channel], dependsOn: ['hero'] }),
  );

describe('a designer session', () => {
  test('without a provider of texts is refused with 400', async () => {
    const ben = await world.app.signUp();
    expect(await ben.client.post('/ai/designer/sessions', { prompt: 'A launch week' })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request' },
    });
  });

  test('is planned, approved by its hash, and makes files of the library and drafts [S191]', async () => {
    pictureAndPost();
    const begun = await ann.client.post('/ai/designer/sessions', { prompt: 'A launch week', channels: [ann.channel] });
    expect([begun.status, begun.body.state, begun.body.plan]).toEqual([201, 'planning', null]);
    const { id } = begun.body;
    expect(await world.act(ann, id, 'approve-plan')).toMatchObject({ status: 409, body: { detail: 'planning' } });
    world.work();
    const planned = await world.comes(ann, id, 'awaiting_plan');
    expect(planned['plan']).toMatchObject({ steps: [{ id: 'hero', estimateCents: 4 }, { id: 'post' }] });
    expect(planned['messages'].map(({ role, content }: never) => [role, content])).toEqual([
      ['user', 'A launch week'],
      ['assistant', 'Here is a plan'],
    ]);
    expect((await world.act(ann, id, 'approve-plan', { planHash: 'of another plan' })).status).toBe(409);
    expect(world.maker.submits('Make hero')).toBe(0);
    const approved = await world.act(ann, id, 'approve-plan', { planHash: planned['plan'].hash });
    expect([approved.status, approved.body.state]).toEqual([200, 'executing']);
    const done = await world.comes(ann, id, 'completed');
    expect(done['assets']).toMatchObject([{ kind: 'image' }, { kind: 'draft' }]);
    const [picture, draft] = done['assets'];
    expect((await ann.client.get(`/files/${picture.id}`)).body).toMatchObject({ path: picture.path });
    const post = (await ann.client.get(draft.path)).body;
    expect(JSON.stringify(post)).toContain('Text for Make post');
    expect(JSON.stringify(post)).toContain(picture.id);
    expect(await db.sql`select state from posts where id = ${draft.id}`).toMatchObject([{ state: 'DRAFT' }]);
  }, 60_000);

  test('keeps what a model writes with signs that the database cannot hold, and asks once', async () => {
    const post = step('post', 'copy', { title: 'Half \ud83d', brief: 'A bee\0', channelIds: [ann.channel] });
    world.script.plan = () => ({ message: 'Here\0 is \udc1d', steps: [post] });
    world.script.copy = () => ({ texts: [{ channelId: ann.channel, content: 'Bees\0 \ud83d' }] });
    world.work();
    const id = await world.begin(ann);
    const planned = await world.comes(ann, id, 'awaiting_plan');
    expect(planned['messages'].at(-1)).toMatchObject({ content: 'Here is �' });
    expect(planned['plan'].steps).toMatchObject([{ title: 'Half �', brief: 'A bee' }]);
    await world.act(ann, id, 'approve-plan', { planHash: planned['plan'].hash });
    const [draft] = (await world.comes(ann, id, 'completed'))['assets'];
    expect((await ann.client.get(draft.path)).body).toMatchObject({ content: '<p>Bees �</p>' });
    expect([world.script.plans.length, world.script.copies.length]).toEqual([1, 1]);
  });

  test('is written to for another plan, and the hash of the one before no longer counts', async () => {
    pictureAndPost();
    world.work();
    const id = await world.begin(ann);
    const first = await world.comes(ann, id, 'awaiting_plan');
    plans(step('only', 'image'));
    expect((await world.act(ann, id, 'messages', { content: 'One picture will do' })).body.state).toBe('planning');
    expect((await world.act(ann, id, 'messages', { content: 'And fast' })).status).toBe(409);
    const second = await world.comes(ann, id, 'awaiting_plan');
    expect(second['plan'].steps).toMatchObject([{ id: 'only' }]);
    expect(world.script.plans.at(-1)!['messages']).toMatchObject([
      { content: 'A launch week' },
      { role: 'assistant' },
      { content: 'One picture will do' },
    ]);
    expect((await world.act(ann, id, 'approve-plan', { planHash: first['plan'].hash })).status).toBe(409);
    expect((await world.act(ann, id, 'cancel')).body.state).toBe('cancelled');
    for (const act of ['approve-plan', 'cancel']) expect((await world.act(ann, id, act)).status).toBe(409);
    expect((await world.act(ann, id, 'messages', { content: 'Go on' })).status).toBe(409);
  }, 60_000);

  test.each([
    ['a foreign channel', () => [step('a', 'copy', { channelIds: [newId()] })], 'there is no channel'],
    [
      'a circle',
      () => [step('a', 'image', { dependsOn: ['b'] }), step('b', 'image', { dependsOn: ['a'] })],
      'wait for each other',
    ],
    ['a size that nobody makes', () => [step('a', 'image', { size: '7x7' })], 'a: '],
    ['an edit of nothing', () => [step('a', 'edit')], 'exactly one step'],
    ['a provider that is not there', () => [step('a', 'image'), step('b', 'edit', { dependsOn: ['a'] })], 'b: '],
  ])('whose plan has %s tells the planner once, and then fails with the reason', async (_, steps, reason) => {
    plans(...steps());
    world.work();
    const id = await world.begin(ann);
    const failed = await world.comes(ann, id, 'failed');
    expect(failed['error']).toContain(reason);
    expect(world.script.plans.map(({ faults }) => faults?.[0])).toEqual([undefined, expect.stringContaining(reason)]);
  });

  test('takes the corrected plan, and executes no other', async () => {
    world.script.plan = ({ faults }) => ({
      message: 'Here it is',
      steps: [step('a', 'copy', { channelIds: [faults ? ann.channel : newId()] })],
    });
    world.work();
    const id = await world.begin(ann);
    expect((await world.comes(ann, id, 'awaiting_plan'))['plan'].steps).toMatchObject([{ channelIds: [ann.channel] }]);
  });

  test('beyond the budget is 402 before it begins, and a plan beyond it is none', async () => {
    const ben = await world.person();
    plans(step('dear', 'video', { size: '16:9' }));
    await ben.client.put('/ai/budget', { monthlyCents: 0 });
    expect(await ben.client.post('/ai/designer/sessions', { prompt: 'A film' })).toMatchObject({
      status: 402,
      body: { limit: 'ai_budget' },
    });
    await ben.client.put('/ai/budget', { monthlyCents: 45 });
    world.work();
    const id = await world.begin(ben);
    expect((await world.comes(ben, id, 'failed'))['error']).toContain('has no room');
    await ben.client.put('/ai/budget', { monthlyCents: 1_000 });
    await world.act(ben, id, 'messages', { content: 'There is money now' });
    await world.comes(ben, id, 'awaiting_plan');
    await ben.client.put('/ai/budget', { monthlyCents: 45 });
    expect(await world.act(ben, id, 'approve-plan')).toMatchObject({ status: 402, body: { limit: 'ai_budget' } });
    expect((await world.see(ben, id)).state).toBe('awaiting_plan');
  }, 60_000);

  test('keeps the plan that waits to be approved where nobody can pay for another one, or make it', async () => {
    const ben = await world.person();
    plans(step('a', 'image'));
    world.work();
    const id = await world.begin(ben);
    await world.comes(ben, id, 'awaiting_plan');
    const write = () => world.act(ben, id, 'messages', { content: 'Another one' });
    await ben.client.put('/ai/budget', { monthlyCents: 0 });
    expect(await write()).toMatchObject({ status: 402, body: { limit: 'ai_budget' } });
    await ben.client.put('/ai/budget', { monthlyCents: null });
    const [{ id: setting }] = (await ben.client.get('/providers/settings?domain=ai')).body;
    expect((await ben.client.delete(`/providers/settings/${setting}`)).status).toBe(200);
    expect((await write()).status).toBe(400);
    const kept = await world.see(ben, id);
    expect([kept.state, kept.messages.length]).toEqual(['awaiting_plan', 2]);
    expect((await world.act(ben, id, 'approve-plan')).status).toBe(200);
  });

  test('names what is not there with its field', async () => {
    const post = (body: object) => ann.client.post('/ai/designer/sessions', { prompt: 'A launch week', ...body });
    expect((await post({ channels: [newId()] })).body.errors).toMatchObject([{ field: 'channels.0' }]);
    expect((await post({ brandKitId: newId() })).body.errors).toMatchObject([{ field: 'brandKitId' }]);
    expect((await post({ style: 'bold' })).body.errors).toMatchObject([{ field: 'style' }]);
  });

  test('is of its organization alone, and of roles that may use AI [S195]', async () => {
    plans(step('a', 'image'));
    const id = await world.begin(ann);
    const eve = await world.person();
    for (const act of ['messages', 'approve-plan', 'cancel'])
      expect((await world.act(eve, id, act, act === 'messages' ? { content: 'Hello' } : {})).status).toBe(404);
    expect((await eve.client.delete(`/ai/designer/sessions/${id}`)).status).toBe(404);
    expect((await eve.client.get(`/ai/designer/sessions/${id}/events`, { accept: 'text/event-stream' })).status).toBe(
      404,
    );
    expect((await eve.client.get('/ai/designer/sessions')).body.items).toEqual([]);
    await db.sql`update memberships set role_key = 'viewer' where user_id = ${eve.userId}`;
    expect((await eve.client.post('/ai/designer/sessions', { prompt: 'x' })).status).toBe(403);
    expect((await eve.client.get('/ai/designer/sessions')).status).toBe(403);
  });

  test('is changed by whoever began it, where a role changes only its own [S54]', async () => {
    plans(step('a', 'image'));
    const [owner, member] = [await world.person(), await world.person()];
    await db.sql`
      insert into memberships (org_id, user_id, role_key) values (${owner.orgId}, ${member.userId}, 'member')`;
    expect((await member.client.post('/user/change-org', { id: owner.orgId })).status).toBe(200);
    const id = await world.begin(owner);
    for (const act of ['messages', 'approve-plan', 'cancel'])
      expect((await world.act(member, id, act, act === 'messages' ? { content: 'Hello' } : {})).status).toBe(403);
    expect((await member.client.delete(`/ai/designer/sessions/${id}`)).status).toBe(403);
    const own = await world.begin(member);
    expect((await world.act(member, own, 'cancel')).status).toBe(200);
    expect((await member.client.delete(`/ai/designer/sessions/${own}`)).status).toBe(200);
    expect((await world.act(owner, id, 'cancel')).status).toBe(200);
  });

  test('is deleted although somebody begins a round of it meanwhile', async () => {
    const ben = await world.person();
    const id = await world.begin(ben);
    await world.act(ben, id, 'cancel');
    const { designer } = world.app.context;
    await db.sql`update runs set state = 'failed' where id = ${id}`;
    const removed = await db.sql.begin(async (tx) => {
      await tx`select from runs where id = ${id} for update`;
      const removing = designer.removeSession({ orgId: ben.orgId, id });
      await settles(async () => expect(await waitingOnLock(db.sql, 'runs')).toBe(1));
      const written = world.act(ben, id, 'messages', { content: 'Once more' });
      await settles(async () => expect(await waitingOnLock(db.sql, 'runs')).toBe(2));
      return { all: Promise.all([removing, written]) };
    });
    await removed.all;
    expect((await ben.client.get(`/ai/designer/sessions/${id}`)).status).toBe(404);
  });

  test('is listed, and deleted with everything that was said', async () => {
    const ben = await world.person();
    const ids = [await world.begin(ben), await world.begin(ben)];
    const first = (await ben.client.get('/ai/designer/sessions?limit=1')).body;
    expect(first.items.map(({ id }: { id: string }) => id)).toEqual([ids[1]]);
    const next = (await ben.client.get(`/ai/designer/sessions?limit=1&cursor=${first.nextCursor}`)).body;
    expect([next.items[0].id, next.nextCursor]).toEqual([ids[0], null]);
    expect((await ben.client.delete(`/ai/designer/sessions/${ids[0]}`)).body).toEqual({ id: ids[0] });
    expect((await ben.client.get(`/ai/designer/sessions/${ids[0]}`)).status).toBe(404);
    expect(await db.sql`select from run_events where run_id = ${ids[0]!}`).toHaveLength(0);
  });

  test('is begun once for an Idempotency-Key', async () => {
    const ben = await world.person();
    const post = () =>
      ben.client.post('/ai/designer/sessions', { prompt: 'A launch week' }, { 'idempotency-key': 'once' });
    const [one, two] = [await post(), await post()];
    expect(two.body.id).toBe(one.body.id);
    expect((await ben.client.get('/ai/designer/sessions')).body.items).toHaveLength(1);
  });
});

describe('GET /ai/designer/sessions/:id/events', () => {
  test('tells what happens, and after Last-Event-ID what came meanwhile', async () => {
    plans(step('a', 'image'));
    world.work();
    const id = await world.begin(ann);
    await world.comes(ann, id, 'awaiting_plan');
    const url = `${world.app.address}/ai/designer/sessions/${id}/events`;
    await using all = await openEventStream(url, { cookies: ann.client.cookies });
    const heard: unknown[] = [];
    let last = '';
    for (let event = await all.next(); ; event = await all.next()) {
      heard.push([event.event, event.data.state ?? event.data.role ?? event.event]);
      last = event.id!;
      if (event.event === 'state' && event.data.state === 'awaiting_plan') break;
    }
    expect(heard).toEqual([
      ['state', 'planning'],
      ['message', 'user'],
      ['step', 'running'],
      ['step', 'done'],
      ['message', 'assistant'],
      ['plan', 'plan'],
      ['state', 'awaiting_plan'],
    ]);
    await world.act(ann, id, 'approve-plan');
    await world.comes(ann, id, 'completed');
    expect((await all.next()).data).toEqual({ state: 'executing' });
    await using rest = await openEventStream(url, { cookies: ann.client.cookies, headers: { 'last-event-id': last } });
    const next = await rest.next();
    expect([next.id, next.data]).toEqual([String(Number(last) + 1), { state: 'executing' }]);
  });

  test('is open ten times for a person, over all runs, and no eleventh time until one is closed', async () => {
    const eve = await world.person();
    const ids = [await world.begin(ann), await world.begin(ann), await world.begin(eve)] as const;
    await using opened = new AsyncDisposableStack();
    const follow = async ({ client }: SignedUp, id: string) =>
      opened.use(
        await openEventStream(`${world.app.address}/ai/designer/sessions/${id}/events`, { cookies: client.cookies }),
      );
    const own = [];
    for (let n = 0; n < 10; n += 1) own.push(await follow(ann, ids[n % 2]!));
    for (const stream of own) expect((await stream.next()).data).toEqual({ state: 'planning' });
    expect((await follow(ann, ids[0])).status).toBe(429);
    expect((await follow(eve, ids[2])).status).toBe(200);
    await own[0]!.close();
    await eventually('there is room', async () => (await follow(ann, ids[0])).status === 200);
    for (const [n, id] of ids.entries()) await world.act(n < 2 ? ann : eve, id, 'cancel');
  });
});

describe('GET /ai/traces', () => {
  test('lists the calls of a run with what was asked, answered and paid; those of others by ai:manage alone', async () => {
    plans(step('a', 'image'));
    world.work();
    const secret = 'pm_live_abcdefgh12345678';
    const ben = await world.person(); // the first one who signed up may do everything
    const id = await world.begin(ben, { prompt: `A launch week ${secret}` });
    await world.comes(ben, id, 'awaiting_plan');
    const { items } = (await ben.client.get(`/ai/traces?run=${id}`)).body;
    expect(items).toMatchObject([
      {
        run: id,
        step: 'plan:',
        providerId: 'openai',
        promptVersion: 'designer-plan-2',
        ended: 'stop',
        inputTokens: 10,
      },
    ]);
    expect(items[0].costMicros).toBeGreaterThan(0);
    expect(items[0].output).toContain('Here is a plan');
    expect(JSON.stringify(items)).not.toContain(secret);
    expect(items[0].input.length).toBeLessThanOrEqual(16_000);
    const eve = await world.person();
    expect((await eve.client.get(`/ai/traces?run=${id}`)).body.items).toEqual([]);
    await db.sql`update ai_traces set user_id = ${eve.userId} where run_id = ${id}`;
    expect((await ben.client.get(`/ai/traces?run=${id}`)).body.items).toHaveLength(1);
    await db.sql`update memberships set role_key = 'member' where user_id = ${ben.userId}`;
    expect((await ben.client.get(`/ai/traces?run=${id}`)).body.items).toEqual([]);
    await db.sql`update ai_traces set user_id = ${ben.userId} where run_id = ${id}`;
    expect((await ben.client.get(`/ai/traces?run=${id}`)).body.items).toHaveLength(1);
    await db.sql`update memberships set role_key = 'owner' where user_id = ${ben.userId}`;
  });
});
