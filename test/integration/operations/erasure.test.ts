import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Client, signUp, testApp, type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { codeTo } from '../../support/worlds/mail-links.ts';

// What is left of somebody who deleted the account: every table is searched for what they told and for where they came
// from.

const PASSWORD = 'correct horse battery';
const WORD = 'zebulon-quirk';
const CAME_FROM = '203.0.113.77';
const FIRST = `first-${WORD}@example.com`;
const ADDRESS = `later-${WORD}@example.com`;

let db: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({
    sql: db.sql,
    env: { ...WITH_MAIL, TRUST_PROXY_HOPS: '1', IP_RETENTION_DAYS: '90', EMAIL_LOG_RETENTION_DAYS: '90' },
  });
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

/** `table.column` of every place whose row holds the word. */
async function placesOf(word: string): Promise<string[]> {
  const tables = await db.sql<{ name: string }[]>`
    select table_name as name from information_schema.tables
    where table_schema = current_schema() and table_type = 'BASE TABLE' and table_name <> 'migrations' order by 1`;
  expect(tables.length).toBeGreaterThan(40);
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await db.sql<{ key: string }[]>`
      select distinct f.key
      from ${db.sql(name)} t
      cross join jsonb_each_text(to_jsonb(t)) f
      where f.value ilike ${`%${word}%`}
      order by 1`;
    found.push(...rows.map(({ key }) => `${name}.${key}`));
  }
  return found;
}

/** Everything that is stored is so many days older. */
async function age(days: number): Promise<void> {
  const columns = await db.sql<{ table: string; column: string }[]>`
    select c.table_name as "table", c.column_name as "column"
    from information_schema.columns c join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = current_schema()
      and t.table_type = 'BASE TABLE'
      and c.data_type = 'timestamp with time zone'
      and c.is_generated = 'NEVER'`;
  await db.sql.begin(async (tx) => {
    await tx`select set_config('rookery.audit_log', 'retention', true), set_config('rookery.ai_ledger', 'change', true)`;
    for (const { table, column } of columns)
      await tx`
        update ${tx(table)}
        set ${tx(column)} = ${tx(column)} - make_interval(days => ${days})
        where ${tx(column)} is not null`;
  });
}

/** Every sweep that forgets by age, until nothing is left to forget. */
async function sweep(): Promise<void> {
  const sweeps = app.context.sweeps.filter(
    ({ name }) => !['media', 'routes', 'server-limits', 'payments', 'contents'].includes(name),
  ); // those call out
  for (const { run } of [...sweeps, ...sweeps]) while (((await run(100)) ?? 0) > 0);
}

/**
 * Somebody of this address and name who has done what leaves traces, as a member of the org of somebody else, and has
 * left.
 */
async function comeAndGo(): Promise<void> {
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
  expect((await me.delete('/user', { password: PASSWORD })).status).toBe(200);
}

test('30 days after the deletion of an account no table holds its address, name, browser or origin', async () => {
  await comeAndGo();
  const before = [...(await placesOf(WORD)), ...(await placesOf(CAME_FROM))];
  for (const place of ['users.email', 'users.agent', 'user_profiles.name', 'emails.to_address', 'audit_log.ip'])
    expect(before).toContain(place);
  await age(31);
  await sweep();
  expect((await db.sql`select from users`).count).toBe(1); // the other one
  expect(await placesOf(ADDRESS)).toEqual([]);
  // of mails to the earlier address and to the one invited, until EMAIL_LOG_RETENTION_DAYS
  expect(await placesOf(WORD)).toEqual(['emails.to_address']);
  expect(await placesOf(CAME_FROM)).toEqual([]);
  expect((await db.sql`select from audit_log where action = 'email.changed'`).count).toBe(1); // the note itself stays
  await age(60);
  await sweep();
  expect(await placesOf(WORD)).toEqual([]);
});

test('the audit log drops addresses after IP_RETENTION_DAYS and keeps the entries', async () => {
  await using plain = await testApp({ sql: db.sql, env: { IP_RETENTION_DAYS: '10' } });
  const { userId } = await signUp(plain.address, {});
  const notes = async () =>
    (await db.sql<{ ip: string | null }[]>`select ip from audit_log where user_id = ${userId}`).map(({ ip }) => ip);
  const forget = async () => {
    while ((await plain.context.auth.forgetTraces(1)) > 0);
  };
  const before = await notes();
  expect(before).toEqual(Array(2).fill(expect.stringMatching(/127\.0\.0\.1/)));
  await age(9);
  await forget();
  expect(await notes()).toEqual(before);
  await age(2);
  await forget();
  expect(await notes()).toEqual([null, null]);
});
