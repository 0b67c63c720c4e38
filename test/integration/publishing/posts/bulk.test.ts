import { afterAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { element, later, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { workOf } from '../../../support/worlds/publishing/work.ts';

const routes = await openPostRoutes();
const { db, app, network, ann, eve, key, channel, second, foreign, connect, schedule, rows, made, read } = routes;
afterAll(routes.close);
beforeEach(() => {
  network.declares = {};
});

interface Row {
  index: number;
  valid: boolean;
  errors: { field: string; message: string; rule: string }[];
  postId?: string;
  warnings: { code: string; message: string }[];
}
const row = (content: string, more: object = {}) => schedule({ posts: [element(channel, content)], ...more });
async function bulk(items: unknown[], more: object = {}, headers: Record<string, string> = {}) {
  const answer = await ann.client.post('/posts/bulk', { items, ...more }, headers);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body as { planId: string; rows: Row[] };
}
const apply = (planId: string, client = ann.client) => client.post(`/posts/bulk/${planId}/apply`, {});
const told = (list: readonly Row[]) => list.map(({ index, valid, errors }) => [index, valid, errors[0]?.field]);

describe('POST /posts/bulk', () => {
  test('says of which rows it does not know what to warn of [S124, S116]', async () => {
    const posts = Array.from({ length: 100 }, (_, n) => element(channel, `${n}`));
    const items = Array.from({ length: 21 }, (_, n) => schedule({ type: 'draft', date: later(n * 86_400_000), posts }));
    const { rows: planned } = await bulk([...items, { ...items[0], date: 'never' }]);
    expect(planned.map(({ valid, warnings }) => [valid, warnings.map(({ code }) => code)])).toEqual([
      ...Array.from({ length: 20 }, () => [true, []]),
      [true, ['not_compared']],
      [false, []],
    ]);
  });

  test('judges each row as create does and stores none; a row that is no body spoils no other [S124]', async () => {
    const before = await rows();
    const id = await made();
    const items = [
      row('<p>one</p>'),
      row('x'.repeat(101)),
      { type: 'schedule' },
      'no body',
      null,
      { ...row('x'), bogus: 1 },
      schedule({ posts: [element(foreign)] }),
      row('x', { date: '2020-01-01' }),
      schedule({ posts: [{ integration: { id: channel }, value: [{ id, content: 'edits' }] }] }),
      { ...schedule(), type: 'update', posts: [{ integration: { id: channel }, value: [{ id, content: 'edits' }] }] },
      row('a draft', { type: 'draft' }),
    ];
    const plan = await bulk(items);
    expect(told(plan.rows)).toEqual([
      [0, true, undefined],
      [1, false, 'posts.0.value.0.content'],
      [2, false, 'posts'],
      [3, false, ''],
      [4, false, ''],
      [5, false, 'bogus'],
      [6, false, 'posts.0.integration.id'],
      [7, false, 'date'],
      [8, false, 'posts.0.value.0.id'],
      [9, false, 'type'],
      [10, true, undefined],
    ]);
    expect(await rows()).toBe(before + 1);
  });

  test('creates the valid rows at once with apply, and the same rows under the same key [S124, S18]', async () => {
    const before = await rows();
    const items = [row('<p>one</p>', { tags: [{ label: 'Bulk' }] }), row(''), row('<p>two</p>')];
    const headers = { 'idempotency-key': 'bulk at once' };
    const plan = await bulk(items, { apply: true }, headers);
    expect(plan.rows.map(({ valid, postId }) => [valid, typeof postId])).toEqual([
      [true, 'string'],
      [false, 'undefined'],
      [true, 'string'],
    ]);
    expect(await read(plan.rows[0]!.postId!)).toMatchObject({
      content: '<p>one</p>',
      state: 'QUEUE',
      tags: [{ tag: { name: 'Bulk' } }],
    });
    expect(await bulk(items, { apply: true }, headers)).toEqual(plan);
    // as after a kill between the commit and the answer
    await db.sql`delete from idempotency_keys where key = 'bulk at once'`;
    expect(await bulk(items, { apply: true }, headers)).toEqual(plan);
    expect(await rows()).toBe(before + 2);
  });

  test('warns of each valid row as preflight does, the rows beside each other, and says so again [S116, S124]', async () => {
    network.declares = { pace: [{ per: 'account', posts: 3, ms: 86_400_000 }] };
    const id = await connect(ann.orgId, 'Warned');
    const at = (hours: number, text: string, more: object = {}) =>
      schedule({ date: later(hours * 3_600_000), posts: [element(id, text)], ...more });
    const items = [
      at(60, 'twice'),
      at(61, 'x'.repeat(101)),
      at(62, 'twice'),
      schedule({ date: later(63 * 3_600_000), posts: [element(id, 'one'), element(id, 'other')] }),
      at(130, 'alone'),
    ];
    const headers = { 'idempotency-key': 'warned of' };
    const codes = (plan: { rows: Row[] }) => plan.rows.map(({ warnings }) => warnings.map(({ code }) => code));
    const plan = await bulk(items, { apply: true }, headers);
    expect(codes(plan)).toEqual([['duplicate_content'], [], ['duplicate_content'], ['rate_budget'], []]);
    await db.sql`delete from idempotency_keys where key = 'warned of'`; // as after a kill before the answer
    expect(await bulk(items, { apply: true }, headers)).toEqual(plan);
    expect(codes(await bulk([items[4]]))).toEqual([['duplicate_content']]); // it is stored by now
  });

  test('refuses a body that is malformed, has too many rows or too much markup, and a larger one [S8, S124]', async () => {
    const before = await rows();
    const ask = (body: unknown) => key.post('/public/v1/posts/bulk', body);
    const fields = async (body: unknown) => {
      const { status, body: answer } = await ask(body);
      return [status, answer.errors[0].field];
    };
    expect(await fields({})).toEqual([400, 'items']);
    expect(await fields({ items: [] })).toEqual([400, 'items']);
    expect(await fields({ items: 'x' })).toEqual([400, 'items']);
    expect(await fields({ items: Array.from({ length: 501 }, () => 1) })).toEqual([400, 'items']);
    expect(await fields({ items: [1], apply: 'yes' })).toEqual([400, 'apply']);
    expect(await fields({ items: [row('<br>'.repeat(20_001)), row('<br>'.repeat(20_000))] })).toEqual([400, 'items']);
    expect((await ask({ items: ['x'.repeat(10_000_000)] })).status).toBe(413);
    expect(await rows()).toBe(before);
  });

  test('judges 500 rows in at most 20 statements, and creates them in one commit [S124]', async () => {
    const ids = await Promise.all(Array.from({ length: 10 }, (_, n) => connect(ann.orgId, `Bulk ${n}`)));
    const items = Array.from({ length: 500 }, (_, n) => ({
      ...schedule({ tags: [{ label: `t${n % 3}` }] }),
      posts: [element(ids[n % 10]!, `<p>${n}</p>`, { value: [{ content: `<p>${n}</p>`, image: [picture(n)] }] })],
    }));
    const { result: planned, statements } = await workOf(db, () =>
      app.context.posts.planPosts(ann.orgId, newId(), items, { userId: ann.userId, schedulesFreely: true }),
    );
    expect(planned.filter(({ valid }) => valid)).toHaveLength(500);
    expect(statements.length).toBeLessThanOrEqual(20);
    const { planId } = await bulk(items);
    const answer = await apply(planId);
    expect([answer.status, answer.body.created]).toEqual([201, 500]);
    const stored = await db.sql`
      select count(*)::int as n, count(distinct created_at)::int as commits
      from posts
      where org_id = ${ann.orgId} and channel_id = any(${ids}::uuid[])`;
    expect(stored).toEqual([{ n: 500, commits: 1 }]);
  });

  test('takes ten megabytes of 500 rows [S8, S124]', async () => {
    const items = Array.from({ length: 500 }, () => row('x'.repeat(19_000)));
    const plan = await bulk(items);
    expect(plan.rows.filter(({ valid }) => valid)).toHaveLength(0);
    expect(plan.rows[499]!.errors).toMatchObject([{ rule: 'max_length' }]);
  });
});
const picture = (n: number) => ({ path: `https://a.example/${n}.png` });

describe('POST /posts/bulk/:planId/apply', () => {
  test('creates what is still valid, tells what became invalid, and answers the same when it is asked again [S124]', async () => {
    const shut = await connect(ann.orgId, 'Shut');
    const { planId } = await bulk([row('<p>kept</p>'), row(''), schedule({ posts: [element(shut)] })]);
    await db.sql`update channels set disabled = true where id = ${shut}`;
    const before = await rows();
    const first = await apply(planId);
    expect([first.status, first.body.created, told(first.body.rows)]).toEqual([
      201,
      1,
      [
        [0, true, undefined],
        [2, false, 'posts.0.integration.id'],
      ],
    ]);
    await db.sql`update channels set disabled = false where id = ${shut}`;
    expect((await apply(planId)).text).toBe(first.text);
    expect((await key.post(`/public/v1/posts/bulk/${planId}/apply`, {})).text).toBe(first.text);
    expect(await rows()).toBe(before + 1);
  });

  test('creates them once, however many apply it at once [S124]', async () => {
    const { planId } = await bulk([row('<p>a</p>'), row('<p>b</p>')]);
    const before = await rows();
    const answers = await Promise.all(Array.from({ length: 8 }, () => apply(planId)));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(await rows()).toBe(before + 2);
  });

  test('goes on after a process that died while it applied the plan [S124]', async () => {
    const { planId } = await bulk([row('<p>after a kill</p>')]);
    const before = await rows();
    const begun = await app.context.posts.beginPlan(ann.orgId, planId, ann.userId);
    expect(begun.kind).toBe('claimed'); // and nobody commits it
    await db.sql`update idempotency_keys set claimed_until = now() where key = ${planId}`;
    expect((await apply(planId)).body.created).toBe(1);
    if (begun.kind !== 'claimed') return;
    const late = { posts: begun.posts, createdBy: ann.userId };
    const idempotency = { ...begun.claim, status: 201, reply: '{}' };
    const [outcome] = await routes.world.posts.admitPosts(ann.orgId, [{ ...late, idempotency }]);
    expect(outcome!.refused).toMatchObject({ code: 'idempotency_in_flight' });
    expect(await rows()).toBe(before + 1);
  });

  test('answers 410 an hour after it was made, and 404 to others; the sweep forgets it [S124, GN2]', async () => {
    const { planId } = await bulk([row('<p>late</p>')]);
    const stranger = await apply(planId, eve.client);
    expect([stranger.status, (await apply(newId())).status, (await apply('no-id')).status]).toEqual([404, 404, 404]);
    await db.sql`update post_plans set created_at = now() - interval '61 minutes' where id = ${planId}`;
    const before = await rows();
    expect([(await apply(planId)).status, await rows()]).toEqual([410, before]);
  });

  test('keeps the latest plans of an organization only [S124]', async () => {
    for (let n = 0; n < 22; n += 1) await bulk([row(`<p>${n}</p>`)]);
    const [kept] = await db.sql`select count(*)::int as n from post_plans where org_id = ${ann.orgId}`;
    expect(kept!['n']).toBeLessThanOrEqual(20);
  });
});

test('who may not create may not plan either [S54]', async () => {
  const bob = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'viewer')`;
  bob.client.headers = { showorg: ann.orgId };
  const { planId } = await bulk([schedule({ date: later(), posts: [element(second)] })]);
  expect((await bob.client.post('/posts/bulk', { items: [row('x')] })).status).toBe(403);
  expect((await apply(planId, bob.client)).status).toBe(403);
});
