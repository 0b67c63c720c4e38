import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { override, subscribe, WITH_BILLING } from '../../support/worlds/billing.ts';
import { testDatabase } from '../../support/wire/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let boss: SignedUp;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  app = await testApp({ sql: db.sql, env: WITH_BILLING });
  boss = await app.signUp(); // a super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const invite = (ann: SignedUp, email = `${randomUUID()}@example.com`) =>
  ann.client.post('/members/invitations', { email, role: 'viewer' });
const tokenOf = (url: string) => new URL(url).searchParams.get('org')!;
async function join(org: SignedUp, { disabled = false } = {}): Promise<SignedUp> {
  const user = await app.signUp();
  await db.sql`
    insert into memberships (org_id, user_id, role_key, disabled)
    values (${org.orgId}, ${user.userId}, 'viewer', ${disabled})`;
  return user;
}
const seats = async ({ orgId }: SignedUp): Promise<number> =>
  (await db.sql`select 1 from memberships where org_id = ${orgId} and not disabled`).length;
const full = { code: 'limit_exceeded', limit: 'team_members', url: expect.stringMatching(/^https?:.*\/billing$/) };

test('an org without free seats invites, admits and enables nobody: 402 naming the limit [S47, S5, LM14, ER2, ER3]', async () => {
  const ann = await app.signUp();
  await subscribe(db.sql, ann.orgId, { tier: 'PRO' }); // three seats
  const [bob, invited] = [await app.signUp(), await app.signUp()];
  const first = (await invite(ann, bob.email)).body.url as string;
  const second = (await invite(ann, invited.email)).body.url as string;
  const away = await join(ann, { disabled: true }); // counts for nothing
  await join(ann);
  expect((await bob.client.post('/user/join-org', { org: tokenOf(first) })).status).toBe(200);
  const refused = await invited.client.post('/user/join-org', { org: tokenOf(second) });
  expect([refused.status, refused.body]).toMatchObject([402, { ...full, max: 3 }]);
  expect((await invite(ann)).body).toMatchObject({ ...full, max: 3 });
  expect((await ann.client.post('/settings/team', { email: 'x@example.com', role: 'viewer' })).body).toMatchObject(
    full,
  );
  expect((await ann.client.put(`/members/${away.userId}`, { disabled: false })).body).toMatchObject(full);
  expect(await seats(ann)).toBe(3);

  await ann.client.delete(`/members/${bob.userId}`); // frees a seat; the link is still good
  expect((await invited.client.post('/user/join-org', { org: tokenOf(second) })).status).toBe(200);
  expect(await seats(ann)).toBe(3);
});

test('exactly one of twenty joining and ten enabled members gets the one free seat [X25, S47]', async () => {
  const ann = await app.signUp();
  await subscribe(db.sql, ann.orgId, { tier: 'TEAM' });
  await override(db.sql, ann.orgId, { team_members: 2 });
  const people = await Promise.all(Array.from({ length: 20 }, () => app.signUp()));
  const links: string[] = [];
  for (const { email } of people) links.push((await invite(ann, email)).body.url);
  const away = await Promise.all(Array.from({ length: 10 }, () => join(ann, { disabled: true })));
  const answers = await Promise.all([
    ...people.map(({ client }, n) => client.post('/user/join-org', { org: tokenOf(links[n]!) })),
    ...away.map(({ userId }) => ann.client.put(`/members/${userId}`, { disabled: false })),
  ]);
  expect(answers.map(({ status }) => status).toSorted()).toEqual([200, ...Array(29).fill(402)]);
  expect(await seats(ann)).toBe(2);
});

test('the super-admin flag overrides roles, not limits [RB6, RB7, S54]', async () => {
  await subscribe(db.sql, boss.orgId, { tier: 'STARTER' }); // one seat
  const other = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${boss.orgId}, ${other.userId}, 'owner')`;
  await db.sql`update memberships set role_key = 'viewer' where org_id = ${boss.orgId} and user_id = ${boss.userId}`;
  expect((await invite(boss)).body).toMatchObject({ ...full, max: 1 });
  expect((await boss.client.post('/roles', { name: newId(), permissions: ['billing:manage'] })).status).toBe(201);
});
