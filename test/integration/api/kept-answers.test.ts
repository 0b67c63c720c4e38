import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Api } from '../../../api/main.ts';
import { newId } from '../../../src/platform/kernel/index.ts';
import { Client, type SignedUp } from '../../support/worlds/app.ts';
import { dyingApi } from '../../support/worlds/crash/dying-api.ts';
import { formOf, picture } from '../../support/worlds/samples.ts';
import { type DesignerWorld, designerWorld } from '../../support/worlds/studio/designer-world.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';

// What a request makes is one commit with its answer: a process that dies behind it costs the client a repetition.

let db: TestDatabase;
let world: DesignerWorld;
let dying: Api;
let server: Receiver;
let ann: SignedUp & { channel: string };
let fileId: string;
let sessionId: string;
const postId = newId();
const bytes = await picture(8, 8);
beforeAll(async () => {
  db = await testDatabase({ connections: 8 });
  world = await designerWorld({ db });
  dying = await dyingApi(world.app.context);
  server = await startReceiver({
    answer: (response) => void response.writeHead(200, { 'content-type': 'image/png' }).end(bytes),
  });
  ann = await world.person();
  fileId = (await ann.client.post('/files/upload-server', formOf(bytes))).body.id;
  await db.sql`
    insert into posts (id, org_id, channel_id, group_id, state, content, publish_date)
    values (${postId}, ${ann.orgId}, ${ann.channel}, ${postId}, 'DRAFT', 'A draft', now())`;
  world.work();
  sessionId = await world.begin(ann);
  await world.comes(ann, sessionId, 'failed'); // the plan is empty
  await world.rest(); // what follows is begun, and nobody works on it
}, 60_000);
afterAll(async () => {
  await dying?.[Symbol.asyncDispose]();
  await world?.[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});

/** A path, what is sent there, where a row comes of it, and the status of its answer. */
type Case = [path: () => string, body: () => unknown, table: string, status: number];
const cases: Record<string, Case> = {
  'a brand kit': [() => '/brand-kits', () => ({ name: 'Acme' }), 'brand_kits', 201],
  'a tag': [() => '/posts/tags', () => ({ name: 'Beta' }), 'tags', 201],
  'a campaign': [() => '/campaigns', () => ({ name: 'Spring' }), 'campaigns', 201],
  'a watched account': [
    () => '/competitors',
    () => ({ providerIdentifier: 'mastodon', handle: '@bob@social.example' }),
    'competitors',
    201,
  ],
  'a review note': [() => `/posts/${postId}/comments`, () => ({ content: 'Shorter' }), 'post_notes', 201],
  'an upload': [() => '/files/upload-server', () => formOf(bytes), 'files', 201],
  'an upload from an address': [() => '/files/upload-from-url', () => ({ url: `${server.url}/a.png` }), 'files', 201],
  'a change of a file': [
    () => `/files/${fileId}/transform`,
    () => ({ operation: 'resize', params: { width: 4 } }),
    'media_transforms',
    201,
  ],
  'a media job': [() => '/files/jobs', () => ({ operation: 'image', prompt: 'A kite' }), 'media_jobs', 202],
  'a designer session': [() => '/ai/designer/sessions', () => ({ prompt: 'A launch week' }), 'runs', 201],
  'a message to the planner': [
    () => `/ai/designer/sessions/${sessionId}/messages`,
    () => ({ content: 'One picture will do' }),
    'run_events',
    200,
  ],
  'a content pipeline': [() => '/ai/content-pipeline', () => ({ topic: 'Bees', channels: [ann.channel] }), 'runs', 202],
};

describe('a request whose process dies when its work is committed, and that is repeated with its Idempotency-Key', () => {
  test.each(Object.entries(cases))('makes %s once, and is answered as the first one [S18]', async (_, one) => {
    const [path, body, table, status] = one;
    const headers = { 'idempotency-key': newId() };
    const rows = async () =>
      (await db.sql<{ id: string }[]>`select ctid::text as id from ${db.sql(table)} where org_id = ${ann.orgId}`).map(
        ({ id }) => id,
      );
    const lost = new Client(dying.address);
    for (const [name, value] of ann.client.cookies) lost.cookies.set(name, value);
    const before = await rows();
    expect((await lost.post(path(), body(), headers)).status).toBe(500);
    const made = await rows();
    expect(made.length).toBeGreaterThan(before.length);
    const repeated = await ann.client.post(path(), body(), headers);
    expect([repeated.status, await rows()]).toEqual([status, made]);
    expect((await ann.client.post(path(), body(), headers)).text).toBe(repeated.text);
  });
});
