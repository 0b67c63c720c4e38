import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from '@jest/globals';
import type { SignedUp } from '../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { type DesignerWorld, designerWorld, step, type Told } from '../../support/worlds/studio/designer-world.ts';
import { clockWhere } from '../../support/worlds/publishing/world.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { eventually } from '../../support/wire/eventually.ts';

// What a limit that is reached does to the other steps and providers of a run.

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
