import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { signUp, testApp, type TestApp, WITH_MAIL } from '../../support/worlds/app.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { ADDRESS, CAME_FROM, placesOf, tracedPerson, WORD } from '../../support/worlds/erasure/traced-person.ts';

// What is left of somebody who deleted the account: every table is searched for what they told and for where they came
// from.

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

test('30 days after the deletion of an account no table holds its address, name, browser or origin', async () => {
  const { me, password } = await tracedPerson(app);
  expect((await me.delete('/user', { password })).status).toBe(200);
  const before = [...(await placesOf(db.sql, WORD)), ...(await placesOf(db.sql, CAME_FROM))];
  for (const place of ['users.email', 'users.agent', 'user_profiles.name', 'emails.to_address', 'audit_log.ip'])
    expect(before).toContain(place);
  await age(31);
  await sweep();
  expect((await db.sql`select from users`).count).toBe(1); // the other one
  expect(await placesOf(db.sql, ADDRESS)).toEqual([]);
  // of mails to the earlier address and to the one invited, until EMAIL_LOG_RETENTION_DAYS
  expect(await placesOf(db.sql, WORD)).toEqual(['emails.to_address']);
  expect(await placesOf(db.sql, CAME_FROM)).toEqual([]);
  expect((await db.sql`select from audit_log where action = 'email.changed'`).count).toBe(1); // the note itself stays
  await age(60);
  await sweep();
  expect(await placesOf(db.sql, WORD)).toEqual([]);
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
