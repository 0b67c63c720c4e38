import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { startSandbox } from '../../../../sandbox/index.ts';
import { newId } from '../../../../src/platform/kernel/index.ts';
import { type Client, type SignedUp, testApp, type TestApp } from '../../../support/worlds/app.ts';
import { testDatabase } from '../../../support/wire/database.ts';
import { type Publisher, startPublisher } from '../../../support/worlds/publishing/world.ts';
import { type SocialServer, startSocialServer } from '../../../support/peers/social-server.ts';

const FRONTEND = 'https://app.example';
let db: Awaited<ReturnType<typeof testDatabase>>;
let app: TestApp;
let sandbox: Awaited<ReturnType<typeof startSandbox>>;
let publisher: Publisher;
let network: SocialServer;
let ann: SignedUp;
let ben: SignedUp;
let annKey: Client;

const env = { FRONTEND_URL: FRONTEND, INTEGRATION_RETURN_URL_ALLOWLIST: 'https://partner.example' };

beforeAll(async () => {
  db = await testDatabase();
  sandbox = await startSandbox({ sql: db.sql });
  publisher = await startPublisher({ url: db.url, env, servers: { 'social/sandbox': sandbox.url } });
  app = await testApp({ sql: db.sql, env, ...publisher.beside });
  [ann, ben] = [await app.signUp(), await app.signUp()];
  annKey = await ann.withKey();
});
afterAll(async () => {
  await app?.[Symbol.asyncDispose]();
  await publisher?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  await db?.[Symbol.asyncDispose]();
});
beforeEach(async () => {
  network = await startSocialServer();
});
afterEach(async () => {
  await network[Symbol.asyncDispose]();
  await db.sql`truncate channels, connect_states, provider_apps, outbox, customers cascade`;
});
const sandboxChannel = (name: string, who: SignedUp = ann) =>
  who.client.post('/integrations/social-connect/sandbox', { fields: { name }, allowPreview: true });

describe('channel routes', () => {
  test('list the own channels for the console and the public API, without tokens [S127, S129, S262, S9, X11]', async () => {
    const [a, b] = [(await sandboxChannel('a')).body, (await sandboxChannel('b')).body];
    const foreign = (await sandboxChannel('c', ben)).body;
    expect((await ann.client.get('/integrations/list')).body.integrations.map(({ id }: { id: string }) => id)).toEqual([
      a.id,
      b.id,
    ]);
    await ann.client.put(`/integrations/${b.id}/customer-name`, { name: 'Client' });
    const listed = (await annKey.get('/public/v1/integrations')).body;
    const customer = { id: expect.any(String), name: 'Client' };
    expect(listed).toEqual([
      {
        id: a.id,
        name: 'a',
        identifier: 'sandbox',
        picture: null,
        disabled: false,
        profile: 'a',
        refreshNeeded: false,
      },
      {
        id: b.id,
        name: 'b',
        identifier: 'sandbox',
        picture: null,
        disabled: false,
        profile: 'b',
        refreshNeeded: false,
        customer,
      },
    ]);
    const groups = (await annKey.get('/public/v1/groups')).body;
    expect(groups).toEqual([customer]);
    expect(
      (await annKey.get(`/public/v1/integrations?group=${groups[0].id}`)).body.map(({ id }: { id: string }) => id),
    ).toEqual([b.id]);
    for (const group of [newId(), 'x'])
      expect((await annKey.get(`/public/v1/integrations?group=${group}`)).body).toEqual([]);
    for (const path of [`/integrations/${foreign.id}`, `/integrations/${newId()}`, '/integrations/x'])
      expect((await ann.client.get(path)).status).toBe(404);
    expect((await annKey.get(`/public/v1/integration-settings/${foreign.id}`)).status).toBe(404);
  });

  test('the catalog lists the available networks with their fields [S128, S243, S245]', async () => {
    const { body } = await ann.client.get('/integrations');
    expect(body.article).toEqual([]);
    const by = Object.fromEntries(body.social.map((one: { identifier: string }) => [one.identifier, one]));
    expect(Object.keys(by)).toEqual(expect.arrayContaining(['mastodon', 'pixelfed', 'bluesky', 'nostr', 'sandbox']));
    expect(by['mastodon']).toEqual({
      name: 'Mastodon',
      identifier: 'mastodon',
      toolTip: null,
      isExternal: true,
      isWeb3: false,
      isChromeExtension: false,
      customFields: [],
    });
    expect(by['bluesky'].toolTip).toContain('Make an app password'); // what connecting needs of a person
    expect(by['bluesky'].customFields.find(({ key }: { key: string }) => key === 'password')).toMatchObject({
      type: 'password',
      required: true,
    });
  });

  test('public routes answer exactly as specified [S130, S136]', async () => {
    const { body: channel } = await sandboxChannel('a');
    const settings = await annKey.get(`/public/v1/integration-settings/${channel.id}`);
    expect(settings.body).toEqual({
      output: {
        rules: expect.any(String),
        maxLength: 10_000,
        settings: expect.objectContaining({ type: 'object' }),
        tools: [{ methodName: 'list_posts', description: 'The newest posts of the account.', dataSchema: [] }],
      },
    });
    for (const provider of ['mastodon', 'bluesky', 'sandbox', 'myspace'])
      expect(await annKey.get(`/public/v1/social/${provider}`)).toMatchObject({
        status: 400,
        body: { msg: 'Integration not allowed' },
      });
    expect(await annKey.delete(`/public/v1/integrations/${channel.id}`, {})).toMatchObject({
      status: 200,
      body: { id: channel.id, name: 'a', identifier: 'sandbox' },
    });
    expect((await annKey.delete(`/public/v1/integrations/${channel.id}`)).status).toBe(404);
    expect((await annKey.get('/public/v1/integrations')).body).toEqual([]);
  });

  test('disable, enable and delete the own channels by id, and never those of others [S136, S9, X11]', async () => {
    const { body: channel } = await sandboxChannel('a');
    for (const times of [1, 2])
      expect([times, (await ann.client.post('/integrations/disable', { id: channel.id })).body]).toEqual([
        times,
        { id: channel.id, disabled: true },
      ]);
    expect((await ann.client.post('/integrations/enable', { id: channel.id })).body).toEqual({
      id: channel.id,
      disabled: false,
    });
    for (const path of ['/integrations/enable', '/integrations/disable']) {
      expect((await ben.client.post(path, { id: channel.id })).status).toBe(404);
      for (const [body, field] of [
        [{}, 'id'],
        [{ id: 5 }, 'id'],
        [{ id: '' }, 'id'],
        [{ id: channel.id, force: true }, 'force'],
      ] as const)
        expect((await ann.client.post(path, body)).body.errors?.[0]?.field).toBe(field);
      expect((await ann.client.post(path, { id: 'x' })).status).toBe(404);
    }
    expect((await ben.client.delete(`/integrations/${channel.id}`)).status).toBe(404);
    expect((await ben.client.delete('/integrations', { id: channel.id })).status).toBe(404);
    expect((await ann.client.delete('/integrations', {})).status).toBe(400);
    expect(await ann.client.delete('/integrations/', { id: channel.id })).toMatchObject({
      status: 200,
      body: { id: channel.id },
    });
    expect((await ann.client.delete(`/integrations/${channel.id}`)).status).toBe(404);
    expect((await ann.client.get('/integrations/list')).body.integrations).toEqual([]);
  });

  test('change posting times, groups, settings and nickname, with each field checked [S138, S139, S140, S9]', async () => {
    const { body: channel } = await sandboxChannel('a');
    const foreign = (await sandboxChannel('b', ben)).body;
    const at = `/integrations/${channel.id}`;
    expect(
      (await ann.client.post(`${at}/time`, { time: [{ time: 600 }, { time: 0 }, { time: 600 }, { time: 1_439 }] }))
        .body,
    ).toEqual({
      id: channel.id,
      postingTimes: [{ time: 0 }, { time: 600 }, { time: 1_439 }],
    });
    expect((await ann.client.put(`${at}/customer-name`, { name: ' Acme ' })).body).toEqual({ success: true });
    await ann.client.put(`${at}/customer-name`, { name: 'ACME' });
    const groups = (await ann.client.get('/integrations/customers')).body;
    expect(groups).toEqual([{ id: expect.any(String), name: 'Acme' }]);
    expect((await ann.client.put(`${at}/group`, { group: null })).body).toEqual({ success: true });
    expect((await ann.client.get(at)).body.customer).toBeNull();
    await ann.client.put(`${at}/group`, { group: groups[0].id });
    expect((await ann.client.get(at)).body.customer).toEqual(groups[0]);
    expect((await ann.client.post(`${at}/settings`, { additionalSettings: '{"latencyMs":5}' })).body).toEqual({
      success: true,
    });
    expect(
      (await ann.client.post(`${at}/nickname`, { name: 'Our studio', picture: 'https://a.example/p.png' })).body,
    ).toEqual({ success: true });
    await sandboxChannel('a');
    expect((await ann.client.get(at)).body).toMatchObject({
      name: 'Our studio',
      picture: 'https://a.example/p.png',
      additionalSettings: '{"latencyMs":5}',
    });
    await ann.client.post(`${at}/nickname`, { name: 'Our shop' });
    expect((await ann.client.get(at)).body).toMatchObject({ name: 'Our shop', picture: 'https://a.example/p.png' });
    await ann.client.post(`${at}/nickname`, { name: 'Our shop', picture: null });
    expect((await ann.client.get(at)).body.picture).toBeNull();

    const bad: [string, string, Record<string, unknown>, number][] = [
      ['POST', 'time', {}, 400],
      ['POST', 'time', { time: [{ time: 1_440 }] }, 400],
      ['POST', 'time', { time: [{ time: 1.5 }] }, 400],
      ['POST', 'time', { time: 'x' }, 400],
      ['POST', 'time', { time: [{ time: 1, day: 2 }] }, 400],
      ['PUT', 'customer-name', {}, 400],
      ['PUT', 'customer-name', { name: '  ' }, 400],
      ['PUT', 'customer-name', { name: 'x'.repeat(256) }, 400],
      ['PUT', 'group', {}, 400],
      ['PUT', 'group', { group: newId() }, 400],
      ['PUT', 'group', { group: 'x' }, 400],
      ['POST', 'settings', {}, 400],
      ['POST', 'settings', { additionalSettings: 'not json' }, 400],
      ['POST', 'settings', { additionalSettings: '{"outcome":"explode"}' }, 400],
      ['POST', 'settings', { additionalSettings: '5' }, 400],
      ['POST', 'settings', { additionalSettings: {} }, 400],
      ['POST', 'nickname', { name: '' }, 400],
      ['POST', 'nickname', { name: 'a', picture: 'javascript:alert(1)' }, 400],
      ['POST', 'nickname', { picture: null }, 400],
    ];
    for (const [method, path, body, status] of bad)
      expect([path, body, (await ann.client.send(method, `${at}/${path}`, body)).status]).toEqual([path, body, status]);
    for (const [method, path, body] of [
      ['POST', 'time', { time: [] }],
      ['PUT', 'customer-name', { name: 'x' }],
      ['PUT', 'group', { group: null }],
      ['POST', 'settings', { additionalSettings: '{}' }],
      ['POST', 'nickname', { name: 'x' }],
    ] as const)
      expect([path, (await ann.client.send(method, `/integrations/${foreign.id}/${path}`, body)).status]).toEqual([
        path,
        404,
      ]);
    expect((await ben.client.put(`/integrations/${foreign.id}/group`, { group: groups[0].id })).status).toBe(400);
    expect((await ben.client.get(`/integrations/${foreign.id}`)).body).toMatchObject({ name: 'b', customer: null });
  });

  test.each([
    ['viewer', { list: 200, begin: 403, refresh: 403, remove: 403 }],
    ['editor', { list: 200, begin: 403, refresh: 400, remove: 403 }],
    ['admin', { list: 200, begin: 400, refresh: 400, remove: 200 }],
  ])('require the permissions of their kind: %s [S141]', async (role, expected) => {
    const cat = await app.signUp();
    const { body: channel } = await sandboxChannel('a', cat);
    const program = await cat.withKey();
    await db.sql`update memberships set role_key = ${role} where org_id = ${cat.orgId}`;
    const status = async (answer: Promise<{ status: number }>) => (await answer).status;
    expect({
      list: await status(program.get('/public/v1/integrations')),
      // allowed: then 400, for it needs the address of a server
      begin: await status(program.get('/public/v1/social/mastodon')),
      refresh: await status(program.get(`/public/v1/social/mastodon?refresh=${channel.id}`)),
      remove: await status(program.delete(`/public/v1/integrations/${channel.id}`)),
    }).toEqual(expected);
  });
});
