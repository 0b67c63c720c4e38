import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { type PayingApp, payingApp } from '../../support/worlds/paying.ts';

let world: PayingApp;
let root: SignedUp;
beforeAll(async () => {
  world = await payingApp();
  root = await world.signUp(); // the first: a super-admin
});
afterAll(() => world[Symbol.asyncDispose]());

const change = (orgId: string, body: object) => root.client.send('PATCH', `/admin/orgs/${orgId}`, body);
const lineOf = async (orgId: string) => (await root.client.get(`/admin/orgs?search=${orgId}`)).body.items[0];

test('an org without a subscription is on STARTER; a super-admin sets its plan and disables it in one step or not at all [S211, S217]', async () => {
  const ann = await world.signUp();
  expect((await lineOf(ann.orgId)).tier).toBe('STARTER');
  const { status, body } = await change(ann.orgId, { tier: 'TEAM', disabled: true });
  expect([status, body.tier, body.disabled, body.limits.channel.effective]).toEqual([200, 'TEAM', true, 30]);
  expect(await lineOf(ann.orgId)).toMatchObject({ tier: 'TEAM', disabled: true });
  expect((await change(ann.orgId, { disabled: false })).body).toMatchObject({ tier: 'TEAM', disabled: false });
});

test('the queue of an org without a subscription goes on when it is enabled again [S211]', async () => {
  const ann = await world.signUp();
  const [channel, post] = [newId(), newId()];
  await world.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${channel}, ${ann.orgId}, 'sandbox', 'v1', 'queue', 'A', 'x')`;
  await world.sql`
    insert into posts (id, org_id, channel_id, group_id, state, detail, content, publish_date, due_at)
    values (${post}, ${ann.orgId}, ${channel}, ${post}, 'QUEUE', 'scheduled', 'x', now() + interval '1 hour',
      now() + interval '1 hour')`;
  const detail = async () => (await world.sql`select detail from posts where id = ${post}`)[0]!['detail'];
  await change(ann.orgId, { disabled: true });
  expect(await detail()).toBe('paused');
  await change(ann.orgId, { disabled: false });
  expect(await detail()).toBe('scheduled');
});

test('an org that pays answers 409 to a plan by an operator and is not disabled either [S211]', async () => {
  const ann = await world.signUp();
  await world.sql`update organizations set allow_trial = false where id = ${ann.orgId}`;
  await world.buy(ann, 'PRO', 'MONTHLY');
  expect((await lineOf(ann.orgId)).tier).toBe('PRO');
  const { status, body } = await change(ann.orgId, { tier: 'AGENCY', disabled: true });
  expect([status, body.code]).toEqual([409, 'conflict']);
  expect(await lineOf(ann.orgId)).toMatchObject({ tier: 'PRO', disabled: false });
  expect((await ann.client.get('/user/self')).status).toBe(200);
});

test.each([[{}], [{ tier: 'GOLD' }], [{ tier: 'pro' }], [{ tier: null }]])('%j is refused', async (body) => {
  expect((await change(root.orgId, body)).status).toBe(400);
});
