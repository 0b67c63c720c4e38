import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { type DesignerWorld, designerWorld, step, type Told } from '../../support/worlds/studio/designer-world.ts';
import { clockWhere } from '../../support/worlds/publishing/world.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';

// What a limit that is reached does to the other steps and providers of a run, and what becomes of it while its
// organization is disabled.

/** Pauses that a provider asks for are short here. */
const clock = clockWhere((ms) => (ms > 900 && ms < 4_500 ? 20 : ms));
let db: TestDatabase;
let world: DesignerWorld;
let ann: SignedUp & { channel: string };
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await designerWorld({ db, clock, env: WITH_BILLING });
});
beforeEach(async () => {
  ann = await world.person({ prices: { 'gpt-5.4-mini': { input: 1, output: 1 } } });
  await subscribe(db.sql, ann.orgId);
});
afterEach(() => world.rest());
afterAll(async () => {
  await world?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

const copyStep = (id: string, more: object = {}) => step(id, 'copy', { channelIds: [ann.channel], ...more });
/** A session whose plan has been approved. */
async function executing(...steps: object[]): Promise<string> {
  world.script.plan = () => ({ message: 'Here is a plan', steps });
  const id = await world.begin(ann);
  await world.comes(ann, id, 'awaiting_plan');
  await approve(id);
  return id;
}
async function approve(id: string): Promise<void> {
  const answer = await world.act(ann, id, 'approve-plan');
  if (answer.status !== 200) throw new Error(answer.text);
}
const NOTHING = { dailyCents: 0, monthlyCents: null };
async function setBudget(budget: object): Promise<void> {
  const answer = await ann.client.put('/ai/budget', budget);
  if (answer.status !== 200) throw new Error(answer.text);
}
const endsOf = (session: Told) =>
  Object.fromEntries((session['steps'] as Told[]).map(({ id, state, error }) => [id, error ? [state, error] : state]));
test('a model that is asked to wait for is asked again, though the cap of the next one has no room [S194]', async () => {
  const second = { domain: 'ai', providerId: 'anthropic', credentials: { apiKey: 'sk-of-them' } };
  expect((await ann.client.post('/providers/settings', second)).status).toBe(201);
  await setBudget({ providers: [{ domain: 'ai', providerId: 'anthropic', ...NOTHING }] });
  const usual = world.script.copy;
  let asked = 0;
  world.script.copy = (told) => ((asked += 1) === 1 ? { status: 429 } : usual(told));
  world.work();
  const id = await executing(copyStep('post'));
  expect(endsOf(await world.comes(ann, id, 'completed'))).toEqual({ post: 'done' });
  expect(await world.ledger(ann)).toEqual(['3 release', '3 reservation', '2 settlement']);
});

const DONE = 'done';
const SKIPPED = ['skipped', 'The AI budget was used up before'];
test.each([
  ['the video exports', () => override(db.sql, ann.orgId, { video_exports: 0 }), DONE],
  [
    'the cap of one provider',
    () => setBudget({ providers: [{ domain: 'media', providerId: 'maker', ...NOTHING }] }),
    DONE,
  ],
  ['the cap over all providers', () => setBudget(NOTHING), SKIPPED],
])('a step for which %s has no room ends steps that wait only where no later one has room', async (_, reach, post) => {
  for (const name of ['first', 'second']) world.maker.plan(`Make ${name}`, { polls: ['running'] });
  world.work();
  const id = await executing(
    step('first', 'image'),
    step('second', 'image'),
    step('clip', 'video', { dependsOn: ['first'] }),
    copyStep('post', { dependsOn: ['second'] }),
  );
  await eventually('both pictures are under way', async () => {
    const running = await db.sql`select from media_jobs where org_id = ${ann.orgId} and state = 'running'`;
    return running.length === 2;
  });
  await reach();
  world.maker.plan('Make first', { polls: ['done'] });
  await eventually('the clip has failed', async () => {
    const { steps } = await world.see(ann, id);
    return (steps as Told[]).some((one) => one['id'] === 'clip' && one['state'] === 'failed');
  });
  world.maker.plan('Make second', { polls: ['done'] });
  expect(endsOf(await world.comes(ann, id, 'completed'))).toMatchObject({ second: 'done', post });
});

test.each([
  ['before its texts are written', 0],
  ['while its texts are written', 1],
])('a copy makes drafts for all of its channels or for none: the room for posts is gone %s', async (_, asked) => {
  const lastPost = () => override(db.sql, ann.orgId, { posts_per_month: 1 }); // there is room for one
  const second = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    select ${second}, org_id, provider_id, provider_version, ${second}, name, credentials
    from channels
    where id = ${ann.channel}`;
  const usual = world.script.copy;
  world.script.copy = async (told) => {
    await lastPost();
    return usual(told);
  };
  if (asked === 0) await lastPost();
  world.work();
  const id = await executing(copyStep('post', { channelIds: [ann.channel, second] }));
  const { error, assets } = await world.comes(ann, id, 'failed');
  expect([error, assets, world.script.copies.length]).toEqual([expect.stringContaining('posts_per_month'), [], asked]);
  expect(await db.sql`select from posts where org_id = ${ann.orgId}`).toHaveLength(0);
});

describe('an organization that is disabled', () => {
  const disable = (orgId: string, isDisabled: boolean) => db.sql`
    update organizations set disabled_at = case when ${isDisabled} then now() end where id = ${orgId}`;
  const beginPipeline = async ({ client, channel }: typeof ann, topic: string): Promise<string> => {
    const begun = await client.post('/ai/content-pipeline', { topic, channels: [channel] });
    if (begun.status !== 202) throw new Error(begun.text);
    return begun.body.id;
  };
  const runOf = async (id: string) =>
    (
      await db.sql<{ state: string; isActive: boolean }[]>`
      select state, is_active as "isActive" from runs where id = ${id}`
    )[0]!;
  const topicsAsked = () => new Set(world.script.asked.map(({ data }) => data['topic']));

  test('has nothing asked for a run that is under way: it goes on once the organization is in use again', async () => {
    const usual = world.script.copy;
    world.script.copy = async () => {
      await disable(ann.orgId, true);
      return { texts: [{ channelId: ann.channel, content: 'word '.repeat(400) }] }; // is asked for once more
    };
    world.work();
    const id = await executing(copyStep('post'));
    await eventually(
      'the answer that was paid for is settled, and no other is asked for',
      async () => (await world.ledger(ann)).join() === '2 release,2 reservation,2 settlement',
    );
    await db.sql`update run_steps set next_at = now() where run_id = ${id} and name = 'post'`;
    // a run of somebody else is done by the same worker meanwhile
    const ben = await world.person();
    const other = await beginPipeline(ben, 'of Ben');
    await eventually('the other run is done', async () => (await runOf(other)).state === 'done');
    expect([await runOf(id), world.script.copies.length]).toEqual([{ state: 'executing', isActive: true }, 1]);
    world.script.copy = usual;
    await disable(ann.orgId, false);
    world.app.context.runs.announce(id);
    expect(endsOf(await world.comes(ann, id, 'completed'))).toEqual({ post: 'done' });
    expect(world.script.copies.length).toBe(2);
  });

  test('has a run that did not begin end with its time, unpaid, and the run says why', async () => {
    const id = await beginPipeline(ann, 'of Ann');
    await disable(ann.orgId, true);
    const ben = await world.person();
    world.work();
    const other = await beginPipeline(ben, 'of Ben');
    await eventually('the other run is done', async () => (await runOf(other)).state === 'done');
    expect((await runOf(id)).state).toBe('running');
    await db.sql`update runs set deadline_at = now() where id = ${id}`;
    world.app.context.runs.announce(id);
    await eventually('the run ends', async () => !(await runOf(id)).isActive);
    await disable(ann.orgId, false);
    const report = (await ann.client.get(`/ai/content-pipeline/${id}`)).body;
    expect(report).toMatchObject({ state: 'timed_out', drafts: [] });
    const told = await db.sql<{ error: string }[]>`
      select data ->> 'error' as error from run_events where run_id = ${id} and data ->> 'state' = 'timed_out' order by n`;
    expect(told[0]!.error).toContain('while the organization was disabled');
    expect(topicsAsked()).toEqual(new Set(['of Ben']));
    expect(await world.ledger(ann)).toEqual([]);
  });
});
