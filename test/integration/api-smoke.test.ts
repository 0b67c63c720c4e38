import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { testApp, type TestApp } from '../support/app.ts';
import { testDatabase } from '../support/database.ts';

let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
beforeAll(async () => {
  db = await testDatabase();
  app = await testApp({ sql: db.sql });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});

test('signs up, logs in, makes a key and uses it', async () => {
  const ann = await app.signUp();
  const key = await ann.withKey();
  const answer = await key.get('/public/v1/is-connected');
  expect([answer.status, answer.body]).toEqual([200, { connected: true }]);
  expect((await app.client().get('/openapi.json')).status).toBe(200);
});
