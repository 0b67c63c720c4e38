import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { PERMISSIONS, permissionsOf } from '../../../src/people/access/index.ts';
import { type SignedUp, testApp, type TestApp } from '../../support/worlds/app.ts';
import { testDatabase } from '../../support/wire/database.ts';
import { makeApp, tokensFor } from '../../support/worlds/oauth.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let ann: SignedUp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
  await app.signUp();
  ann = await app.signUp({ company: 'Ann’s Bakery' });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

test('GET /public/v1/me answers whom a key stands for, with the rights of the role of its owner', async () => {
  const key = await ann.withKey();
  expect((await key.get('/public/v1/me')).body).toEqual({
    userId: ann.userId,
    orgId: ann.orgId,
    orgName: 'Ann’s Bakery',
    role: 'owner',
    permissions: PERMISSIONS,
    scopes: null,
    tier: 'AGENCY', // without billing
  });
  const bob = await app.signUp();
  await db.sql`update memberships set role_key = 'viewer' where org_id = ${bob.orgId}`;
  const { body } = await (await bob.withKey()).get('/public/v1/me');
  expect([body.role, new Set(body.permissions)]).toEqual(['viewer', permissionsOf('viewer', false)]);
});

test('GET /public/v1/me answers the scopes of an access token', async () => {
  const client = await makeApp(ann);
  const { access } = await tokensFor(app, ann, client, { scope: 'mcp:read' });
  const { status, body } = await app.client().get('/public/v1/me', { authorization: `Bearer ${access}` });
  expect([status, body.userId, body.scopes]).toEqual([200, ann.userId, ['mcp:read']]);
});
