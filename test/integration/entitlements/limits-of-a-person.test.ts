import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';

// What hangs on an organization is not had n times by who makes n of them.

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
/** With every limit as it is. */
let tight: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  tight = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1', API_LIMIT: '4' } });
  await app.signUp(); // the first: a super-admin
});
afterAll(async () => {
  await tight[Symbol.asyncDispose]();
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const found = ({ client }: SignedUp, name = 'One more') => client.post('/orgs', { name });
/** The same person at the other app. */
function at(there: TestApp, { client }: SignedUp) {
  const other = there.client();
  for (const [name, value] of client.cookies) other.cookies.set(name, value);
  return other;
}

describe('organizations of one person', () => {
  test('are limited to ten owned ones, also under concurrency; deleting one makes room [X25]', async () => {
    const bob = await app.signUp();
    const answers = await Promise.all(Array.from({ length: 30 }, () => found(bob)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([
      ...Array.from({ length: 9 }, () => 201),
      ...Array.from({ length: 21 }, () => 400),
    ]);
    expect(answers.find(({ status }) => status === 400)!.body.message).toContain('You own 10 organizations');
    const { id, name } = answers.find(({ status }) => status === 201)!.body;
    expect((await bob.client.send('DELETE', '/orgs/current', { confirm: name }, { showorg: id })).status).toBe(200);
    expect([(await found(bob)).status, (await found(bob)).status]).toEqual([201, 400]);
  });
  test('do not count where the person is only a member', async () => {
    const bob = await app.signUp();
    for (let n = 0; n < 12; n += 1) {
      const id = newId();
      await db.sql`insert into organizations (id, name) values (${id}, 'Of others')`;
      await db.sql`insert into memberships (org_id, user_id, role_key) values (${id}, ${bob.userId}, 'admin')`;
    }
    expect((await found(bob)).status).toBe(201);
  });
  test('are limited to five created in a day [S17]', async () => {
    const bob = await app.signUp();
    const own = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '1' } });
    try {
      const client = at(own, bob);
      const statuses = [];
      for (let n = 0; n < 6; n += 1) statuses.push((await client.post('/orgs', { name: 'One more' })).status);
      expect(statuses).toEqual([201, 201, 201, 201, 201, 429]);
    } finally {
      await own[Symbol.asyncDispose]();
    }
  });
});

test('share three times an org limit at most per person; other members keep their own limit [RL2]', async () => {
  const bob = await app.signUp();
  const orgs = [bob.orgId];
  for (let n = 0; n < 5; n += 1) orgs.push((await found(bob)).body.id);
  const client = at(tight, bob);
  const told = [];
  for (const showorg of orgs) for (let n = 0; n < 3; n += 1) told.push(await client.get('/orgs/current', { showorg }));
  expect(told.filter(({ status }) => status === 200)).toHaveLength(12); // of 18, where each organization would take all
  const allowed = told
    .slice(0, 3)
    .map(({ headers }) => [headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]);
  expect(allowed).toEqual(['3', '2', '1'].map((left) => ['4', left]));

  const cid = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${orgs.at(-1)!}, ${cid.userId}, 'admin')`;
  expect((await at(tight, cid).get('/orgs/current', { showorg: orgs.at(-1)! })).status).toBe(200);
});

test('that are refused in one organization use up nothing of the person in another, nor the other way round [RL2]', async () => {
  const bob = await app.signUp();
  const [first, second] = [bob.orgId, (await found(bob)).body.id];
  const client = at(tight, bob);
  const statusesIn = async (showorg: string, times: number) => {
    const statuses = [];
    for (let n = 0; n < times; n += 1) statuses.push((await client.get('/orgs/current', { showorg })).status);
    return statuses;
  };
  expect((await statusesIn(first, 20)).filter((status) => status === 200)).toHaveLength(4);
  expect(await statusesIn(second, 4)).toEqual([200, 200, 200, 200]); // of twelve in all
  const third = (await found(bob)).body.id;
  await statusesIn(third, 4);
  const fourth = (await found(bob)).body.id;
  expect(await statusesIn(fourth, 6)).toEqual([429, 429, 429, 429, 429, 429]);
  const cid = await app.signUp();
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${fourth}, ${cid.userId}, 'admin')`;
  expect((await at(tight, cid).get('/orgs/current', { showorg: fourth })).status).toBe(200);
});

test('send at most 200 invitations a day per person, over all organizations [S17, S47]', async () => {
  const bob = await app.signUp();
  const own = await testApp({ sql: db.sql, env: { RATE_LIMIT_SCALE: '0.02', API_LIMIT: '100000' } }); // four
  try {
    const client = at(own, bob);
    const orgs = [bob.orgId, (await found(bob)).body.id];
    const statuses = [];
    for (let n = 0; n < 3; n += 1)
      for (const showorg of orgs)
        statuses.push(
          (
            await client.post(
              '/members/invitations',
              { email: `${newId()}@example.com`, role: 'viewer', sendEmail: false },
              { showorg },
            )
          ).status,
        );
    expect(statuses).toEqual([201, 201, 201, 201, 429, 429]);
  } finally {
    await own[Symbol.asyncDispose]();
  }
});
