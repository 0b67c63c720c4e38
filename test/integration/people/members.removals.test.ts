import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId, sha256 } from '../../../src/platform/kernel/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { settles } from '../../support/wire/settles.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  app = await testApp({ sql: db.sql });
  await app.signUp(); // the super-admin
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

const join = (org: SignedUp, user: SignedUp) =>
  db.sql`insert into memberships (org_id, user_id, role_key) values (${org.orgId}, ${user.userId}, 'editor')`;
const invite = ({ orgId, userId }: SignedUp) => db.sql`
  insert into invitations (id, org_id, email, role_key, token_hash, invited_by)
  values (${newId()}, ${orgId}, 'someone@example.com', 'viewer', ${sha256(newId())}, ${userId})`;
const actorOf = ({ userId }: SignedUp) => ({ userId, impersonatorId: null, ip: null });
const remove = (org: SignedUp, user: SignedUp) => app.context.members.remove(org.orgId, actorOf(org), user.userId);
const close = (org: SignedUp) => app.context.organizations.remove(org.orgId, actorOf(org), org.company);
/** Asked outside of the test's transaction, in which the answer would stay the first one. */
async function waiting(): Promise<number> {
  return waitingOnLock(db.sql);
}
/** The uses of sessions are noted in memberships, too: from here on nobody but the test waits for them. */
const flush = () => app.context.auth.sessions[Symbol.asyncDispose]();
const livingOrgsOf = ({ userId }: SignedUp) => db.sql<{ name: string; role: string }[]>`
  select o.name, m.role_key as role
  from memberships m
  join organizations o on o.id = m.org_id and o.deleted_at is null
  where m.user_id = ${userId}`;

describe('a person whose two organizations let them go at the same moment', () => {
  test.each([
    ['both remove them', remove, remove],
    ['one removes them and one is deleted', remove, close],
    ['both are deleted', close, close],
  ])('gets one of their own when %s [S46, X25]', async (_, first, second) => {
    const [x, y] = [await app.signUp(), await app.signUp()];
    const people = [await app.signUp(), await app.signUp()];
    for (const one of people) {
      await join(x, one);
      await join(y, one);
      await db.sql`delete from memberships where user_id = ${one.userId} and org_id = ${one.orgId}`;
    }
    for (const org of [x, y]) await invite(org);
    const [bob] = people as [SignedUp, SignedUp];
    await flush();
    let leaving: Promise<unknown> | undefined;
    await db.sql.begin(async (tx) => {
      await tx`select from memberships where user_id = ${bob.userId} order by org_id for update`;
      await tx`select from invitations where org_id = any(${[x.orgId, y.orgId]}::uuid[]) for update`; // go with an org
      leaving = Promise.all([first(x, bob), second(y, bob)]);
      // neither has left anything that the other could see
      await settles(async () => expect(await waiting()).toBe(2));
    });
    await leaving;
    expect(await livingOrgsOf(bob)).toEqual([{ name: 'My organization', role: 'owner' }]);
  });
});

test('a key that is being made while its owner is removed is not revived by a new invitation [S53, X13]', async () => {
  const [ann, bob] = [await app.signUp(), await app.signUp()];
  await join(ann, bob);
  await flush();
  const id = newId();
  let removing: Promise<unknown> | undefined;
  await db.sql.begin(async (tx) => {
    await tx`select from memberships where org_id = ${ann.orgId} and user_id = ${bob.userId} for update`;
    await tx`
      insert into api_keys (id, org_id, user_id, name, prefix, key_hash)
      values (${id}, ${ann.orgId}, ${bob.userId}, 'ci', 'pm_live_xxxx', ${sha256(id)})`;
    removing = remove(ann, bob);
    await settles(async () => expect(await waiting()).toBe(1));
  });
  await removing;
  expect(await db.sql`select revoked_at is not null as revoked from api_keys where id = ${id}`).toEqual([
    { revoked: true },
  ]);
});

describe('a person whose only other organization is shut to them', () => {
  const shutting: Record<string, (org: SignedUp, user: SignedUp) => Promise<unknown>> = {
    'their membership is disabled': async ({ orgId }, { userId }) =>
      db.sql`update memberships set disabled = true where org_id = ${orgId} and user_id = ${userId}`,
    'an operator has disabled it': async ({ orgId }) =>
      db.sql`update organizations set disabled_at = now() where id = ${orgId}`,
  };
  test.each(Object.keys(shutting))('gets one of their own at a removal, where %s [S46]', async (how) => {
    const [x, y, bob] = [await app.signUp(), await app.signUp(), await app.signUp()];
    for (const org of [x, y]) await join(org, bob);
    await db.sql`delete from memberships where user_id = ${bob.userId} and org_id = ${bob.orgId}`;
    await shutting[how]!(y, bob);
    await remove(x, bob);
    expect((await livingOrgsOf(bob)).filter(({ role }) => role === 'owner')).toEqual([
      { name: 'My organization', role: 'owner' },
    ]);
    expect((await bob.client.get('/user/self')).status).toBe(200);
  });
});

test.each([
  ['editor', 409],
  ['owner', 200],
])(
  'an organization that an %s joins while the account of its only owner ends stays [S43, X25]',
  async (role, expected) => {
    const [ann, bob] = [await app.signUp(), await app.signUp()];
    await flush();
    await db.sql.begin((tx) => app.context.billing.lockOrg(tx, ann.orgId)); // the row is there from here on
    let ending: ReturnType<typeof ann.client.delete> | undefined;
    await db.sql.begin(async (tx) => {
      // taken by whoever ends an organization, and behind the look which these are
      await tx`select from org_counters where org_id = ${ann.orgId} for no key update`;
      ending = ann.client.delete('/user', { password: ann.password });
      await settles(async () => expect(await waiting()).toBe(1));
      await tx`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, ${role})`;
    });
    expect((await ending!).status).toBe(expected);
    expect((await bob.client.get('/user/self', { showorg: ann.orgId })).body.orgId).toBe(ann.orgId);
    expect((await ann.client.get('/user/self')).status).toBe(expected === 409 ? 200 : 401);
  },
);

test('who ends their account leaves no invitation that looks open and leads nowhere [S43, S47]', async () => {
  const [ann, bob] = [await app.signUp(), await app.signUp()];
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'admin')`;
  await invite(bob); // into an organization that goes with them
  await invite({ ...bob, orgId: ann.orgId });
  const invited = async () => (await ann.client.get('/members/invitations')).body;
  expect(await invited()).toMatchObject([{ email: 'someone@example.com' }]);
  expect((await bob.client.delete('/user', { password: bob.password })).status).toBe(200);
  expect(await invited()).toEqual([]);
});

test('an organization whose two owners end their accounts at once is closed by the second one [S43, X25]', async () => {
  const [ann, bob] = [await app.signUp(), await app.signUp()];
  await db.sql`insert into memberships (org_id, user_id, role_key) values (${ann.orgId}, ${bob.userId}, 'owner')`;
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${newId()}, ${ann.orgId}, 'sandbox', 'v1', 'x', 'x', 'v2:')`;
  await flush();
  await db.sql.begin((tx) => app.context.billing.lockOrg(tx, bob.orgId)); // the row is there from here on
  let ending: ReturnType<typeof bob.client.delete> | undefined;
  await db.sql.begin(async (tx) => {
    await tx`select from org_counters where org_id = ${bob.orgId} for no key update`;
    ending = bob.client.delete('/user', { password: bob.password }); // closes what is his alone, and waits for that
    await settles(async () => expect(await waiting()).toBe(1));
    expect((await ann.client.delete('/user', { password: ann.password })).status).toBe(200);
  });
  expect((await ending!).status).toBe(200);
  expect(await db.sql`select disabled from channels where org_id = ${ann.orgId}`).toEqual([{ disabled: true }]);
  expect(await db.sql`select user_id from audit_log where org_id = ${ann.orgId} and action = 'org.deleted'`).toEqual([
    { user_id: bob.userId },
  ]);
});
