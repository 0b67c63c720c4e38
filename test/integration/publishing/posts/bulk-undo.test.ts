import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { element, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';

const routes = await openPostRoutes();
const { db, app, ann, eve, key, channel, second, schedule, rows, read } = routes;
afterAll(routes.close);

const row = (content: string, more: object = {}) => schedule({ posts: [element(channel, content)], ...more });
let planId: string;
/** The posts of each row of the plan. */
let posts: string[][];
beforeEach(async () => {
  const items = [
    row('<p>first</p>'),
    schedule({ posts: [element(channel, '<p>a</p>'), element(second, '<p>b</p>')] }),
    schedule({
      posts: [{ integration: { id: channel }, value: [{ content: '<p>root</p>' }, { content: '<p>item</p>' }] }],
    }),
    row('<p>draft</p>', { type: 'draft' }),
  ];
  const plan = await ann.client.post('/posts/bulk', { items });
  planId = plan.body.planId;
});
async function apply() {
  const applied = await ann.client.post(`/posts/bulk/${planId}/apply`, {});
  expect([applied.status, applied.body.created]).toEqual([201, 4]);
  const made = await db.sql<{ id: string; content: string }[]>`
    select id, content
    from posts
    where org_id = ${ann.orgId}
      and root_post_id is null
      and deleted_at is null
    order by seq desc
    limit 5`;
  const idOf = (content: string) => made.find((post) => post.content === content)!.id;
  posts = [['<p>first</p>'], ['<p>a</p>', '<p>b</p>'], ['<p>root</p>'], ['<p>draft</p>']].map((contents) =>
    contents.map(idOf),
  );
}
const undo = (client = ann.client, prefix = '') => client.post(`${prefix}/posts/bulk/${planId}/undo`, {});
const living = async () =>
  (await db.sql`select count(*)::int as n from posts where org_id = ${ann.orgId} and deleted_at is null`)[0]![
    'n'
  ] as number;

describe('POST /posts/bulk/:planId/undo', () => {
  test('deletes every post of the plan with its thread, and says so in their timelines; again there is nothing left [S124]', async () => {
    const before = await living();
    await apply();
    expect(await living()).toBe(before + 6);
    const first = await undo();
    expect([first.status, first.body]).toEqual([200, { deleted: 5, kept: [] }]);
    expect(await living()).toBe(before);
    const [told] = await db.sql`
      select count(*)::int as n
      from post_timeline
      where post_id in ${db.sql(posts.flat())}
        and kind = 'cancelled'
        and message = 'Deleted with its plan'`;
    expect(told!['n']).toBe(5);
    const again = await undo(key, '/public/v1');
    expect([again.status, again.body]).toEqual([201, { deleted: 0, kept: [] }]);
  });

  test('keeps what is out, on its way or changed since, with its whole thread, and names it [S124]', async () => {
    await apply();
    const [[published], [inFlight, other], [thread], [edited]] = posts as [
      [string],
      [string, string],
      [string],
      [string],
    ];
    await db.sql`update posts set state = 'PUBLISHED', detail = null where id = ${published}`;
    await db.sql`update posts set detail = 'publishing' where id = ${inFlight}`;
    await db.sql`update posts set state = 'ERROR', detail = 'unconfirmed' where root_post_id = ${thread}`;
    expect((await ann.client.send('PATCH', `/posts/${edited}`, { content: '<p>changed</p>' })).status).toBe(200);
    const { body } = await undo();
    expect(body.deleted).toBe(1);
    expect(new Map(body.kept.map(({ postId, reason }: Record<string, string>) => [postId, reason]))).toEqual(
      new Map([
        [published, 'published'],
        [inFlight, 'in_flight'],
        [thread, 'in_flight'],
        [edited, 'changed'],
      ]),
    );
    expect((await ann.client.get(`/posts/${other}`)).status).toBe(404);
    for (const id of [published, inFlight, thread, edited]) expect((await read(id)).id).toBe(id);
    expect((await read(thread)).thread).toHaveLength(1);
  });

  test('announces each deleted post, by its first item [S124]', async () => {
    await apply();
    await undo();
    const told = await db.sql<{ id: string }[]>`
      select entity_id as id
      from outbox
      where topic = 'post.deleted'
        and entity_id in ${db.sql(posts.flat())}`;
    expect(new Set(told.map(({ id }) => id))).toEqual(new Set(posts.flat()));
    expect(told).toHaveLength(5);
  });

  test('leaves a plan that cannot be applied again: what it created is gone [S124]', async () => {
    const reapply = () => ann.client.post(`/posts/bulk/${planId}/apply`, {});
    await apply();
    const [first] = posts[0]!;
    await db.sql`update posts set state = 'PUBLISHED', detail = null where id = ${first!}`;
    expect((await reapply()).status).toBe(201);
    expect((await undo()).body.deleted).toBe(4);
    const before = await living();
    for (let n = 0; n < 2; n++) {
      const again = await reapply();
      expect([again.status, again.body.code, again.body.message]).toEqual([
        409,
        'conflict',
        'The posts of this plan were deleted by undo: send its rows again',
      ]);
    }
    expect([(await undo()).body.deleted, await living()]).toEqual([0, before]);
  });

  test('of a plan of which all is kept deletes nothing, and the plan answers as before [S124]', async () => {
    await apply();
    await db.sql`update posts set state = 'PUBLISHED', detail = null where id in ${db.sql(posts.flat())}`;
    expect((await undo()).body.deleted).toBe(0);
    expect((await ann.client.post(`/posts/bulk/${planId}/apply`, {})).body.created).toBe(4);
  });

  describe('of a series whose first post has failed', () => {
    const sweep = () => routes.world.reconciler.sweep();
    const waiting = () => db.sql<{ id: string }[]>`
      select id
      from posts
      where org_id = ${ann.orgId}
        and recurrence is not null
        and state = 'QUEUE'
        and deleted_at is null`;
    let failed: string;
    beforeEach(async () => {
      ({ planId } = (await ann.client.post('/posts/bulk', { items: [row('<p>daily</p>', { inter: 1 })] })).body);
      await ann.client.post(`/posts/bulk/${planId}/apply`, {});
      const [made] = await db.sql<{ id: string }[]>`
        update posts
        set state = 'ERROR', detail = null, error_kind = 'validation', error = 'x', due_at = null
        where id in ${db.sql((await waiting()).map(({ id }) => id))}
        returning id`;
      failed = made!.id;
    });

    test.each([
      ['that waits', 1],
      ['that has failed, too', 2],
    ])('deletes the next one %s, and the series is over [S124, S120]', async (_, made) => {
      for (let n = 0; n < made; n++) {
        const before = [failed, ...(await waiting()).map(({ id }) => id)];
        await db.sql`update posts set state = 'ERROR', detail = null, due_at = null where id in ${db.sql(before)}`;
        await sweep();
      }
      expect(await waiting()).toHaveLength(1);
      expect((await undo()).body).toEqual({ deleted: 1, kept: [] });
      expect(await waiting()).toEqual([]);
    });

    test('makes no next one after it [S124, S120]', async () => {
      expect((await undo()).body).toEqual({ deleted: 1, kept: [] });
      await sweep();
      expect(await waiting()).toEqual([]);
    });

    test('keeps it for the sake of a next one that somebody has changed [S124, S120]', async () => {
      await sweep();
      const [next] = await waiting();
      expect((await ann.client.send('PATCH', `/posts/${next!.id}`, { content: '<p>x</p>' })).status).toBe(200);
      expect((await undo()).body).toEqual({ deleted: 0, kept: [{ postId: failed, reason: 'changed' }] });
      expect(await waiting()).toEqual([next]);
      await db.sql`update posts set deleted_at = now() where id = ${next!.id}`;
    });
  });

  test('answers 410 ten minutes after the plan was applied, and deletes nothing [S124]', async () => {
    await apply();
    await db.sql`update posts set created_at = now() - interval '601 seconds' where id in ${db.sql(posts.flat())}`;
    const before = await living();
    const late = await undo();
    expect([late.status, late.body.code, await living()]).toEqual([410, 'link_expired', before]);
  });

  test('answers 409 before the plan is applied, 404 to another organization, and 403 without posts:delete [S124, S9]', async () => {
    const early = await undo();
    expect([early.status, early.body.code]).toEqual([409, 'conflict']);
    await apply();
    const bob = await app.signUp();
    await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'member')`;
    bob.client.headers = { showorg: ann.orgId };
    const before = await rows();
    expect([(await undo(eve.client)).status, (await undo(bob.client)).status, await rows()]).toEqual([
      404,
      403,
      before,
    ]);
    expect((await undo()).body.deleted).toBe(5);
  });
});
