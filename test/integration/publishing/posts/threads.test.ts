import { afterAll, beforeEach, expect, test } from '@jest/globals';
import { ProviderError } from '../../../../src/platform/kernel/index.ts';
import { followUpsOf } from '../../../support/worlds/publishing/follow-ups.ts';
import { openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { gate } from '../../../support/wire/eventually.ts';
import { settles } from '../../../support/wire/settles.ts';

// Threads of which a part is out, and what people do to the rest.

const routes = await openPostRoutes();
const { db, app, network, ann, channel, read, published } = routes;
afterAll(routes.close);
beforeEach(() => {
  network.behave = undefined;
});

const setting = async (approvalRequired: false | 'members') =>
  expect((await ann.client.put('/settings', { approvalRequired })).status).toBe(200);
const HELD = { state: 'DRAFT', detail: 'awaiting_approval' };

async function join(): Promise<typeof ann> {
  const user = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${user.userId}, 'editor')`;
  user.client.headers['showorg'] = ann.orgId;
  return user;
}

test('an item that is held while the one ahead of it is sent is given up with that, and sent again with it [S121, S118, PO6]', async () => {
  const editor = await join();
  const open = gate();
  network.behave = async ({ text }, _, accept) => {
    if (text !== 'one') return accept();
    await open.passed;
    throw new ProviderError('rejected', 'Not this one');
  };
  const value = ['root', 'one', 'two', 'three'].map((content) => ({ content }));
  const posts = [{ integration: { id: channel }, value, settings: { firstComment: 'First' } }];
  const id = (await editor.client.post('/posts', { type: 'now', posts })).body[0].postId as string;
  const [one, two, three] = (await read(id)).thread as { id: string }[];
  await settles(async () => expect((await read(one!.id)).detail).toBe('publishing'));

  await setting('members');
  expect((await editor.client.delete(`/posts/${three!.id}`)).status).toBe(200);
  await setting(false);
  expect((await read(id)).thread).toMatchObject([{ detail: 'publishing' }, HELD]);
  open.open();
  const error = 'The item of the thread before it was not published';
  const givenUp = { state: 'ERROR', detail: null, errorKind: 'validation' };
  await settles(async () => expect((await read(id)).thread).toMatchObject([givenUp, { ...givenUp, error }]));
  await settles(async () => expect(await followUpsOf(db.sql, id)).toMatchObject([{ state: 'none' }]));

  network.behave = undefined;
  expect((await editor.client.post(`/posts/${one!.id}/retry`, {})).body).toMatchObject(HELD);
  expect((await read(id)).thread).toMatchObject([HELD, HELD]);
  expect((await ann.client.post(`/posts/${id}/approve`, {})).status).toBe(200);
  await published(two!.id);
  expect((await read(id)).thread).toMatchObject([{ state: 'PUBLISHED' }, { state: 'PUBLISHED' }]);
});

test('a post whose thread is changed while it is sent is held where it would be tried again [S121]', async () => {
  const editor = await join();
  const open = gate();
  network.behave = async () => {
    await open.passed;
    throw new ProviderError('unavailable', 'Down');
  };
  const posts = [{ integration: { id: channel }, value: [{ content: 'first' }, { content: 'last' }] }];
  const id = (await editor.client.post('/posts', { type: 'now', posts })).body[0].postId as string;
  await settles(async () => expect((await read(id)).detail).toBe('publishing'));
  await setting('members');
  const [last] = (await read(id)).thread;
  expect((await editor.client.delete(`/posts/${last.id}`)).status).toBe(200);
  await setting(false);
  open.open();
  await settles(async () => expect(await read(id)).toMatchObject({ ...HELD, approval: { state: 'awaiting' } }));
  expect(await db.sql`select from outbox where entity_id = ${id} and topic = 'post.retrying'`).toEqual([]);
  network.behave = undefined;
  expect((await ann.client.post(`/posts/${id}/approve`, {})).status).toBe(200);
  await published(id);
});
