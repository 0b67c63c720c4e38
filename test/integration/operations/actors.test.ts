import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import type { SignedUp } from '../../support/worlds/app.ts';
import { eventually } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';

// GET /admin/actors over the whole product on the embedded engine; `dapr-operate.test.ts` has it on a cluster.

let product: Product;
let db: Product['db'];
let ann: SignedUp; // the first user: a super-admin
let eve: SignedUp;
beforeAll(async () => {
  product = await wholeProduct();
  db = product.db;
  ann = await product.signUp();
  eve = await product.signUp();
});
afterAll(async () => product[Symbol.asyncDispose]());

/** A channel that nothing can be published on. */
async function channelOf({ orgId }: SignedUp) {
  const id = newId();
  await db.sql`
    insert into channels (id, org_id, provider_id, provider_version, internal_id, name, credentials)
    values (${id}, ${orgId}, 'sandbox', 'v1', ${id}, 'Canary', ${product.context.vault.seal('{"values":{}}')})`;
  return id;
}
const report = async () => (await ann.client.get('/admin/actors')).body;

describe('access to the actor view', () => {
  test('a super-admin is admitted by cookie and by the header `auth`; a user is refused, programs and strangers are 401 [S210]', async () => {
    expect((await ann.client.get('/admin/actors')).status).toBe(200);
    const bare = Object.assign(ann.client, {});
    expect((await bare.get('/admin/actors', { auth: ann.client.cookies.get('auth'), cookie: undefined })).status).toBe(
      200,
    );
    const refused = await eve.client.get('/admin/actors');
    expect([refused.status, refused.body.code]).toEqual([403, 'super_admin_required']);
    const key = await ann.withKey();
    expect((await key.get('/admin/actors')).status).toBe(401);
    expect((await key.get('/admin/actors', { authorization: `Bearer ${key.key}` })).status).toBe(401);
    expect((await ann.client.get('/admin/actors', { authorization: 'pos_something' })).status).toBe(401);
    expect((await ann.client.get('/admin/actors', { cookie: undefined })).status).toBe(401);
  });
});

describe('the actor view', () => {
  test('shows this host with its types, its active actors, the reminders of the engine and no runtime', async () => {
    const channelId = await channelOf(ann);
    const before = await report();
    const { status } = await (
      await ann.withKey()
    ).post('/public/v1/posts', {
      type: 'schedule',
      date: new Date(Date.now() + 3_600_000).toISOString(),
      shortLink: false,
      tags: [],
      posts: [{ integration: { id: channelId }, value: [{ content: 'Hi', image: [] }], settings: {} }],
    });
    expect(status).toBe(201);
    await eventually(
      'the heartbeat tells of the active actor',
      async () => (await report()).types.find(({ type }: { type: string }) => type === 'Organization').active === 1,
    );
    const after = await report();
    expect(after).toMatchObject({
      engine: 'embedded',
      runtime: null,
      reminders: { pending: before.reminders.pending + 1, overdue: 0, from: 'engine' },
      lateness: { count: 0, p50Ms: null, p99Ms: null },
    });
    expect(after.types.map(({ type }: { type: string }) => type)).toEqual([
      'Channel',
      'Organization',
      'Post',
      'Webhook',
    ]);
    expect(after.hosts).toEqual([
      {
        incarnation: product.context.incarnation,
        engine: 'embedded',
        address: product.context.config.http.internalUrl,
        startedAt: expect.stringMatching(/Z$/),
        lastBeatAt: expect.stringMatching(/Z$/),
        silent: false,
        here: true,
        types: expect.arrayContaining(['Channel', 'Organization', 'Post', 'Webhook']),
        active: expect.objectContaining({ Organization: 1, Webhook: 0 }),
        mailboxes: expect.objectContaining({ Organization: { queued: 0, longest: 0 } }),
        publishing: 0,
        delivering: 0,
      },
    ]);
  });

  test('shows a silent host with its remaining actors, and without types in the host table', async () => {
    const lost = newId();
    const channelId = await channelOf(eve);
    await db.sql`
      insert into actor_hosts (incarnation, engine, address, types, active, last_heartbeat)
      values (${lost}, 'embedded', 'elsewhere', '{Channel}', '{"Channel": 7}', now() - interval '1 minute')`;
    await db.sql`
      update channels set slot_incarnation = ${lost}, slot_until = now() + interval '1 hour' where id = ${channelId}`;
    const { hosts, types } = await report();
    expect(hosts.find(({ incarnation }: { incarnation: string }) => incarnation === lost)).toMatchObject({
      silent: true,
      here: false,
      active: { Channel: 7 },
    });
    expect(types.find(({ type }: { type: string }) => type === 'Channel')).toMatchObject({ hosts: 1 });
    await db.sql`delete from actor_hosts where incarnation = ${lost}`;
  });

  test('reports the same reminders from the rows as from the engine', async () => {
    const counted = (await product.context.engine.reminderCounts())!;
    expect(await product.context.posts.work()).toMatchObject({ pending: counted.pending, overdue: counted.overdue });
    const channelId = await channelOf(eve);
    await db.sql`
      update channels
      set next_due_at = now() - interval '1 minute', disabled = true
      where id = ${channelId}`; // stands still: nothing of it waits
    expect(await product.context.posts.work()).toMatchObject({ pending: counted.pending, overdue: counted.overdue });
  });

  test('counts rows for each host by its incarnation', async () => {
    const [channelId, webhookId, host] = [await channelOf(eve), newId(), newId()];
    await db.sql`
      insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
      values (${host}, 'embedded', 'elsewhere', '{}', now() + interval '1 hour')`; // lives for as long as this takes
    await db.sql`
      update channels set slot_incarnation = ${host}, slot_until = now() + interval '1 hour' where id = ${channelId}`;
    await db.sql`
      insert into webhooks (id, org_id, name, url, slot_incarnation, slot_until)
      values (${webhookId}, ${eve.orgId}, 'Hook', 'https://example.com/', ${host}, now() + interval '1 hour')`;
    expect(
      (await report()).hosts.find(({ incarnation }: { incarnation: string }) => incarnation === host),
    ).toMatchObject({ publishing: 1, delivering: 1 });
    await db.sql`delete from actor_hosts where incarnation = ${host}`;
  });
});
