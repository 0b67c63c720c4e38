import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { ProviderError } from '../../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually, gate } from '../../../support/wire/eventually.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';
import { settles } from '../../../support/wire/settles.ts';
import {
  admit,
  newPost,
  openNetwork,
  type Network,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';

// An operator disables an organization while a request of it is under way. What that request leaves to be sent waits.

let db: TestDatabase;
let network: Network;
let world: Publisher;
let answer: ReturnType<typeof gate>;
beforeAll(async () => {
  db = await testDatabase();
  network = openNetwork();
  world = await startPublisher({ url: db.url, network });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(() => {
  answer = gate();
  network.asked.length = 0;
});

const setDisabled = (orgId: string, disabled: boolean) =>
  world.context.admin.orgs.change({ userId: null, impersonatorId: null, ip: null }, orgId, { disabled });
const toldOf = async (postId: string) =>
  (
    await db.sql`
      select payload ->> 'reason' as reason from outbox where entity_id = ${postId} and topic = 'post.paused'`
  ).map(({ reason }) => reason);

test('a post whose attempt is to be repeated waits until the organization is enabled [S211]', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId);
  network.behave = async (_post, _sent, accept) => {
    await answer.passed;
    if (network.asked.length === 1) throw new ProviderError('unavailable', 'busy');
    accept();
    return { id: `r-${post.id}`, url: 'https://fake.example/1' };
  };
  await admit(world, orgId, [post]);
  await settles(() => expect(network.asked).toHaveLength(1));
  await setDisabled(orgId, true);
  answer.open();
  await settles(async () => expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'paused' }));
  expect(await toldOf(post.id)).toEqual(['instance']);
  await setDisabled(orgId, false);
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ state: 'PUBLISHED', attempt: 2 });
});

test('the items of a thread behind one that is published wait until the organization is enabled [S211]', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const first = newPost(channelId);
  const second = newPost(channelId, { parentPostId: first.id, rootPostId: first.id, group: first.group });
  network.behave = async ({ id }, _sent, accept) => {
    await answer.passed;
    accept();
    return { id: `r-${id}`, url: `https://fake.example/${id}` };
  };
  await admit(world, orgId, [first, second]);
  await settles(() => expect(network.asked).toHaveLength(1));
  await setDisabled(orgId, true);
  answer.open();
  await settles(async () => expect(await stateOf(db.sql, first.id)).toMatchObject({ state: 'PUBLISHED' }));
  expect(await stateOf(db.sql, second.id)).toMatchObject({ detail: 'paused' });
  expect(await toldOf(second.id)).toEqual(['instance']);
  expect(
    await db.sql`select message from post_timeline where post_id = ${second.id} and kind = 'paused'`,
  ).toMatchObject([{ message: 'The organization was disabled' }]);
  await setDisabled(orgId, false);
  await settled(db.sql, orgId);
  expect(await stateOf(db.sql, second.id)).toMatchObject({ state: 'PUBLISHED' });
});

test('the sweep that keeps disabled organizations still pauses nothing of one that is enabled meanwhile [S211]', async () => {
  const { orgId, channelId } = await seedOrg(db.sql);
  const post = newPost(channelId, { publishDate: new Date(Date.now() + 3_600_000) });
  await admit(world, orgId, [post]);
  await setDisabled(orgId, true);
  await db.sql`update channels set next_due_at = now() where id = ${channelId}`; // as an attempt may leave it
  let enabling: Promise<void>;
  let sweeping: Promise<number>;
  await db.sql.begin(async (tx) => {
    await tx`lock table audit_log in share mode`;
    enabling = setDisabled(orgId, false);
    await eventually('it is enabled but for its commit', async () => (await waitingOnLock(db.sql)) >= 1);
    sweeping = world.context.admin.orgs.keepStill(100);
    await eventually('the sweep waits for it', async () => (await waitingOnLock(db.sql)) >= 2);
  });
  await Promise.all([enabling!, sweeping!]);
  expect(await stateOf(db.sql, post.id)).toMatchObject({ detail: 'scheduled' });
});
