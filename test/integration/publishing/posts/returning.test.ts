import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { saveLogin } from '../../../../src/publishing/channels/transitions/save-login.ts';
import { loginOf, startingWith } from '../../../support/worlds/publishing/world.ts';
import { element, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

// Posts that were deleted with their channel come back with it within 30 days, unless a person has deleted them since
// with others that they belong to.

const routes = await openPostRoutes();
const { db, ann, channel, connect, schedule, create, read } = routes;
const { sql } = db;
afterAll(routes.close);

let gone: string;
beforeEach(async () => {
  await sql`delete from posts`;
  gone = await connect(ann.orgId, 'Gone');
});
const both = () => [element(channel, 'stays', { group: 'both' }), element(gone, 'goes', { group: 'both' })];
const removeChannel = async () => expect((await ann.client.delete(`/integrations/${gone}`)).status).toBe(200);
const login = () =>
  saveLogin(sql, startingWith({ lockOrg: async () => {}, admit: async () => {} }), ann.orgId, loginOf(gone));
const living = () => sql`
  select content
  from posts
  where org_id = ${ann.orgId}
    and group_id = 'both'
    and deleted_at is null`;

describe('a group of posts of which one went with its channel', () => {
  test('is deleted with that one, which does not come back with the channel [S112, S136]', async () => {
    const [, { postId }] = (await create(schedule({ posts: both() }))).body;
    await removeChannel();
    expect((await ann.client.delete('/posts/group/both')).body).toEqual({ id: 'both', deleted: 1 });
    await login();
    expect(await living()).toEqual([]);
    const told = await sql`
      select message
      from post_timeline
      where post_id = ${postId}
        and kind = 'cancelled'
      order by id`;
    expect(told.map(({ message }) => message as string)).toEqual(['The channel was deleted', 'Deleted with its group']);
    const facts = await sql`select from outbox where topic = 'post.deleted' and entity_id = ${postId}`;
    expect(facts).toHaveLength(1);
  });

  test('is not found once all of it went so, and comes back [S112, S136]', async () => {
    const [{ postId }] = (await create(schedule({ posts: both().slice(1) }))).body;
    await removeChannel();
    expect((await ann.client.delete('/posts/group/both')).status).toBe(404);
    await login();
    expect(await read(postId)).toMatchObject({ state: 'QUEUE', detail: 'scheduled' });
    expect((await ann.client.delete('/posts/group/both')).body).toEqual({ id: 'both', deleted: 1 });
  });
});

test('the series of a post that has failed ends with its group [S112, S120]', async () => {
  const [{ postId }] = (await create(schedule({ inter: 1, posts: both().slice(0, 1) }))).body;
  await sql`
    update posts
    set state = 'ERROR', detail = null, error_kind = 'validation', error = 'x', due_at = null
    where id = ${postId}`;
  expect((await ann.client.delete('/posts/group/both')).body).toEqual({ id: 'both', deleted: 1 });
  await routes.world.reconciler.sweep();
  expect(await living()).toEqual([]);
});

test('a plan is undone with a post that went with its channel, which does not come back [S124, S136]', async () => {
  const { planId } = (await ann.client.post('/posts/bulk', { items: [schedule({ posts: both() })] })).body;
  expect((await ann.client.post(`/posts/bulk/${planId}/apply`, {})).status).toBe(201);
  await removeChannel();
  expect((await ann.client.post(`/posts/bulk/${planId}/undo`, {})).body).toEqual({ deleted: 1, kept: [] });
  await login();
  expect(await living()).toEqual([]);
});
