import { expect } from '@jest/globals';
import type { Database } from '../../../../src/platform/db/index.ts';
import { Client, type TestApp } from '../app.ts';
import { codeTo } from '../mail/links.ts';

// Somebody whose name and address stand wherever a member leaves traces.

const PASSWORD = 'correct horse battery';
/** Occurs in all that they told of themselves. */
export const WORD = 'zebulon-quirk';
export const CAME_FROM = '203.0.113.77';
const FIRST = `first-${WORD}@example.com`;
/** Theirs in the end; it was another one at first. */
export const ADDRESS = `later-${WORD}@example.com`;

/** `table.column` of every place whose row holds the word. */
export async function placesOf(sql: Database, word: string): Promise<string[]> {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> 'migrations' order by 1`;
  expect(tables.length).toBeGreaterThan(40);
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await sql<{ key: string }[]>`
      select distinct f.key
      from ${sql(name)} t
      cross join jsonb_each_text(to_jsonb(t)) f
      where f.value ilike ${`%${word}%`}
      order by 1`;
    found.push(...rows.map(({ key }) => `${name}.${key}`));
  }
  return found;
}

/**
 * Somebody of this address and name who has done what leaves traces, as a member of the org of somebody else.
 */
export async function tracedPerson(app: Pick<TestApp, 'address' | 'context'>) {
  const from = { 'x-forwarded-for': CAME_FROM, 'user-agent': `Mozilla/5.0 ${WORD}` };
  const boss = new Client(app.address);
  await boss.post('/auth/register', {
    provider: 'LOCAL',
    email: 'boss@example.com',
    password: PASSWORD,
    company: 'Acme',
  });
  expect(
    (await boss.post('/auth/activate', { code: await codeTo(app.context, 'boss@example.com', 'activation') })).body.can,
  ).toBe(true);

  const me = new Client(app.address);
  me.headers = from;
  const person = { email: FIRST, password: PASSWORD, name: `Name ${WORD}`, company: `Of ${WORD}` };
  await me.post('/auth/register', { provider: 'LOCAL', ...person });
  await me.post('/auth/register', { provider: 'LOCAL', ...person });
  expect((await me.post('/auth/activate', { code: await codeTo(app.context, FIRST, 'activation') })).body.can).toBe(
    true,
  );
  await me.post('/user/personal', { lastName: WORD, bio: `I am ${WORD}` });
  expect((await me.post('/user/change-email', { email: ADDRESS, password: PASSWORD })).status).toBeLessThan(300);
  expect(
    (await me.post('/auth/confirm-email', { code: await codeTo(app.context, ADDRESS, 'email-change') })).body,
  ).toEqual({ can: true });

  const invite = async (email: string) =>
    (await boss.post('/members/invitations', { email, role: 'admin', sendEmail: true })).body;
  const withdrawn = await invite(`other-${WORD}@example.com`);
  expect((await boss.delete(`/members/invitations/${withdrawn.id}`)).status).toBe(200);
  const { url } = await invite(ADDRESS);
  expect((await me.post('/user/join-org', { org: new URL(url).searchParams.get('org') })).status).toBe(200);
  expect(
    (await me.post('/members/invitations', { email: 'third@example.com', role: 'viewer', sendEmail: true })).status,
  ).toBe(201);
  expect((await me.post('/user/api-keys', { name: 'a key' })).status).toBe(201);

  const stranger = new Client(app.address);
  stranger.headers = from;
  expect(
    (await stranger.post('/auth/login', { provider: 'LOCAL', email: ADDRESS, password: 'wrong password' })).status,
  ).toBe(400);
  expect((await stranger.post('/auth/login', { provider: 'LOCAL', email: ADDRESS, password: PASSWORD })).status).toBe(
    200,
  );
  await stranger.post('/auth/forgot', { email: ADDRESS });
  const code = await codeTo(app.context, ADDRESS, 'password-reset');
  expect(
    (await stranger.post('/auth/forgot-return', { token: code, password: PASSWORD, repeatPassword: PASSWORD })).body,
  ).toEqual({ reset: true });
  expect((await me.post('/auth/login', { provider: 'LOCAL', email: ADDRESS, password: PASSWORD })).status).toBe(200);
  const [{ id: userId }, { id: orgId }] = [(await me.get('/user/self')).body, (await boss.get('/orgs/current')).body];
  return { me, boss, userId: userId as string, orgId: orgId as string, password: PASSWORD };
}
