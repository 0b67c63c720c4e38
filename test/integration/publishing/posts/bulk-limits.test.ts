import { afterAll, expect, test } from '@jest/globals';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { CreateBody } from '../../../../src/publishing/posts/index.ts';
import { override, subscribe, WITH_BILLING } from '../../../support/worlds/billing.ts';
import { element, openPostRoutes } from '../../../support/worlds/publishing/post-routes.ts';
import { workOf } from '../../../support/worlds/publishing/work.ts';

const routes = await openPostRoutes({ env: WITH_BILLING });
const { db, app, ann, channel, schedule, rows } = routes;
afterAll(routes.close);

const row = (n: number) => schedule({ posts: [element(channel, `<p>${n}</p>`)] });
const body = (count: number) =>
  schedule({ posts: Array.from({ length: count }, (_, n) => element(channel, `<p>${n}</p>`)) });
const codes = async (count: number) => {
  const { body: entries } = await ann.client.post('/posts/preflight', body(count));
  return entries.map(({ valid, warnings }: { valid: boolean; warnings: { code: string }[] }) => [
    valid,
    ...warnings.map(({ code }) => code),
  ]);
};

test('preflight warns of a limit that create would refuse by, and counts nothing [S116]', async () => {
  await subscribe(db.sql, ann.orgId, { tier: 'PRO' });
  await override(db.sql, ann.orgId, { posts_per_month: 2 });
  for (let n = 0; n < 2; n += 1) {
    expect(await codes(2)).toEqual([[true], [true]]);
    expect(await codes(3)).toEqual([
      [true, 'limit_exceeded'],
      [true, 'limit_exceeded'],
      [true, 'limit_exceeded'],
    ]);
  }
  expect((await ann.client.post('/posts', body(3))).status).toBe(402);
});

test('preflight costs six statements at most with billing, too [S116]', async () => {
  const root = (await ann.client.post('/posts', row(0))).body[0].postId;
  await db.sql`update channels set token_expires_at = now() where id = ${channel}`;
  const image = [{ path: '', id: newId() }];
  const value = (id: string | undefined) => ({ integration: { id: channel }, value: [{ content: 'x', image, id }] });
  const sent = CreateBody.parse(schedule({ posts: [value(root), value(undefined)] }));
  const by = { userId: ann.userId, schedulesFreely: true };
  const { result, statements } = await workOf(db, () => app.context.posts.preflightPosts(ann.orgId, [sent], by));
  expect(result[0]!.entries.map(({ warnings }) => warnings.length > 0)).toEqual([true, true]);
  expect(statements.length).toBeLessThanOrEqual(6);
});

test('a plan is applied whole or not at all against the limit, and can be applied once there is room [S124]', async () => {
  await override(db.sql, ann.orgId, { posts_per_month: 3 });
  const { body: plan } = await ann.client.post('/posts/bulk', { items: [row(1), row(2), row(3)] });
  const before = await rows();
  const apply = () => ann.client.post(`/posts/bulk/${plan.planId}/apply`, {});
  for (let n = 0; n < 2; n += 1) {
    const refused = await apply();
    expect([refused.status, refused.body.limit, await rows()]).toEqual([402, 'posts_per_month', before]);
  }
  await override(db.sql, ann.orgId, { posts_per_month: 4 });
  const applied = await apply();
  expect([applied.status, applied.body.created, await rows()]).toEqual([201, 3, before + 3]);
  expect((await apply()).text).toBe(applied.text); // though nothing is left of the limit
});
