import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { installPeer, peerEnv } from '../../support/peers/peer-install.ts';
import { describePeer } from '../../support/peers/peers.ts';
import type { Receiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { type AutomationWorld, automationWorld } from '../../support/worlds/automation.ts';
import { announce } from '../../support/worlds/publishing/webhooks.ts';

// The nodes for n8n, judged by its linter, and loaded and run by its execution core against the product.

const PACKAGE = fileURLToPath(new URL('../../../clients/automation/n8n', import.meta.url));
type Json = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- what nodes answer

/** The core of n8n with our package, in a process of its own. */
function startN8n(folder: string) {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [`${folder}/main.mjs`, PACKAGE], {
    env: { ...peerEnv(), NODE_PATH: `${folder}/node_modules` }, // n8n has its package beside those of others
  });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => void (complaint += text.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    // oxlint-disable-next-line typescript/no-explicit-any -- judged by each test
    async run(act: string, given: object = {}): Promise<any> {
      child.stdin.write(`${JSON.stringify({ act, ...given })}\n`);
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`The core of n8n ended: ${complaint}`);
        if (!value.startsWith('{')) continue; // a log of its own
        const { results, error, description, httpCode } = JSON.parse(value) as Json;
        if (error !== undefined) throw Object.assign(new Error(`${error} ${description ?? ''}`), { httpCode });
        return results;
      }
    },
    end: () => void child.kill(),
  };
}

let folder = '';
const find = async () => {
  folder = await installPeer('n8n', { scripts: false });
  return { start: () => Promise.reject(new Error('it is no server')) };
};
await describePeer('n8n', find, () => {
  let product: AutomationWorld['product'];
  let receiver: Receiver;
  let n8n: ReturnType<typeof startN8n>;
  let credentials: { url: string; apiKey: string };
  let orgId: string;
  let channel: string;
  let own: AutomationWorld['own'];
  let world: AutomationWorld;
  beforeAll(async () => {
    world = await automationWorld('n8n');
    ({ product, receiver, orgId, channel, own, login: credentials } = world);
    n8n = startN8n(folder);
  });
  afterAll(async () => {
    n8n?.end();
    await world?.[Symbol.asyncDispose]();
  });
  const act = (resource: string, operation: string, parameters: object = {}, more: object = {}): Promise<Json[]> =>
    n8n.run('execute', { node: 'rookery', credentials, parameters: { resource, operation, ...parameters }, ...more });
  const inDays = (days: number) => systemClock.in(days * 86_400_000).toISOString();
  const create = (more: object = {}) =>
    act('post', 'create', { channelIds: [channel], content: 'Hello', type: 'schedule', date: inDays(2), ...more });
  const created = async (): Promise<string> => (await create())[0]!['postId'];

  test('is loaded as a package of nodes, and keeps the rules of n8n for them', async () => {
    expect(await n8n.run('load')).toEqual({ nodes: ['rookery', 'rookeryTrigger'], credentials: ['rookeryApi'] });
    // whoever publishes the package says who that is
    const nobody = /require-homepage|valid-author/;
    expect(((await n8n.run('lint')) as string[]).filter((told) => !nobody.test(told))).toEqual([]);
  });

  test('logs in with address and key, says whose they are, and lists channels to choose from', async () => {
    expect(await n8n.run('test', { credentials })).toEqual([expect.objectContaining({ orgId, orgName: 'Acme Ltd' })]);
    const wrong = { credentials: { ...credentials, apiKey: 'pm_live_wrong' } };
    await expect(n8n.run('test', wrong)).rejects.toThrow(/Invalid API key|credentials/i);
    const choice = { name: 'n8n (sandbox)', value: channel };
    const listed = await n8n.run('options', { node: 'rookery', field: 'channelIds', credentials });
    expect(listed).toEqual([choice]);
    expect(await n8n.run('options', { node: 'rookeryTrigger', field: 'channelIds', credentials })).toEqual([choice]);
  });

  describe('actions', () => {
    test('upload a file, create a post with it and tags, get it, edit it, unqueue it and delete it', async () => {
      const [file] = await act('file', 'upload', { url: `${receiver.url}/a.png`, name: 'a.png' });
      expect(file).toMatchObject({ originalName: 'a.png', path: expect.stringContaining('/uploads/') });
      const date = inDays(2);
      const files = { file: [{ id: file!['id'], path: file!['path'] }] };
      const [{ postId } = {}] = await create({ date, files, tags: 'news, spring' });
      const [got] = await act('post', 'get', { postId });
      expect(got).toMatchObject({ id: postId, state: 'QUEUE', publishDate: date, image: [{ id: file!['id'] }] });
      expect((await own('GET', `/public/v1/posts/${postId}`)).body['tags']).toHaveLength(2);

      const later = inDays(3);
      await act('post', 'edit', { postId, changes: { content: 'Goodbye', date: later } });
      const edited = await own('GET', `/public/v1/posts/${postId}`);
      expect(edited.body).toMatchObject({ content: expect.stringContaining('Goodbye'), publishDate: later });
      expect(await act('post', 'setStatus', { postId, status: 'draft' })).toMatchObject([{ state: 'DRAFT' }]);
      expect(await act('post', 'delete', { postId })).toMatchObject([{ id: postId }]);
      expect((await own('GET', `/public/v1/posts/${postId}`)).status).toBe(404);
    });

    test('a date without a zone is one of the workflow', async () => {
      const post = { channelIds: [channel], content: 'Hello', type: 'draft', date: '2999-07-01T10:00:00' };
      const [{ postId } = {}] = await act('post', 'create', post, { timezone: 'Europe/Berlin' });
      expect(await act('post', 'get', { postId })).toMatchObject([{ publishDate: '2999-07-01T08:00:00.000Z' }]);
    });

    test('a free time that is found is the same instant in a workflow of any zone', async () => {
      const free = async () => `${(await own('GET', `/public/v1/find-slot/${channel}`)).body.date}Z`; // told in UTC
      const tokyo = { timezone: 'Asia/Tokyo' };
      const before = await free();
      const [{ date } = {}] = await act('channel', 'findSlot', { channelId: channel }, tokyo);
      expect([before, await free()]).toContain(date);
      const post = { channelIds: [channel], content: 'Hello', type: 'draft', date };
      const [{ postId } = {}] = await act('post', 'create', post, tokyo);
      expect(await act('post', 'get', { postId })).toMatchObject([{ publishDate: new Date(date).toISOString() }]);
    });

    test('find a free time, and retry a post that failed', async () => {
      const [slot] = await act('channel', 'findSlot', { channelId: channel });
      expect(Date.parse(slot!['date'])).toBeGreaterThan(systemClock.now().getTime());
      const id = await created();
      await product.db.sql`
        update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'no' where id = ${id}`;
      expect(await act('post', 'retry', { postId: id })).toMatchObject([{ id, state: 'QUEUE' }]);
    });

    test('run once for each item, with what its expressions say', async () => {
      const ids = [await created(), await created()];
      const items = ids.map((id) => ({ json: { id } }));
      const got = await act('post', 'get', { postId: '={{ $json.id }}' }, { items });
      expect(got.map(({ id }) => id)).toEqual(ids);
    });

    test('create once when n8n repeats a node, and again in another execution', async () => {
      const [one, other] = ['one', 'other'].map((executionId) => ({ executionId }));
      const [date, items] = [inDays(2), [{ json: {} }, { json: {} }]];
      const post = { channelIds: [channel], content: 'Hello', type: 'schedule', date };
      const made = async (more: object) =>
        (await act('post', 'create', post, { items, ...more })).map(({ postId }) => postId as string);
      const first = await made(one!);
      expect(await made(one!)).toEqual(first);
      expect(new Set([...first, ...(await made(other!))]).size).toBe(4);
    });

    test('are refused with the words of the service', async () => {
      await expect(act('post', 'retry', { postId: await created() })).rejects.toThrow(
        /in a state that does not allow this/,
      );
      await expect(create({ channelIds: ['nobody'] })).rejects.toThrow(/channel|integration/i);
    });
  });

  test.each([
    ['post.published', {}],
    ['post.failed', { errorKind: 'validation', error: 'no', detail: null, attempts: 1, retryable: false }],
    ['channel.refresh_needed', { reason: 'expired' }],
  ] as const)(
    'the trigger subscribes to %s, takes its signed deliveries alone, and ends its webhook',
    async (topic, more) => {
      const trigger = {
        node: 'rookeryTrigger',
        credentials,
        parameters: { events: [topic], channelIds: [channel] },
        webhookBaseUrl: `${receiver.url}/${topic}`,
      };
      const asked = (method: string, staticData: object = {}) => n8n.run('hook', { ...trigger, method, staticData });
      expect((await asked('checkExists')).done).toBe(false);
      const { done, kept, url } = await asked('create');
      expect([done, kept]).toEqual([true, { webhookId: expect.any(String), secret: expect.stringMatching(/^whsec_/) }]);
      expect((await asked('checkExists', kept)).done).toBe(true);
      const webhook = async () => own('GET', `/public/v1/webhooks/${kept.webhookId}`);
      expect((await webhook()).body).toMatchObject({ events: [topic], url, integrations: [{ id: channel }] });

      const entity = topic === 'channel.refresh_needed' ? channel : await created();
      await announce(product.db.sql, orgId, topic, [entity], more);
      const got = () =>
        receiver.ledger.filter(({ path, body }) => path.startsWith(`/${topic}/`) && body.includes(`"${entity}"`));
      await settles(() => expect(got()).toHaveLength(1));
      const [{ headers, body }] = got() as [Receiver['ledger'][0]];
      const delivery = { ...trigger, staticData: kept, headers, body: body.toString() };
      const about = topic === 'channel.refresh_needed' ? { integrationId: channel } : { postId: entity };
      expect(await n8n.run('webhook', delivery)).toEqual({
        answered: 0,
        items: [expect.objectContaining({ id: headers['webhook-id'], event: topic, ...about })],
      });
      for (const forged of [
        { body: body.toString().replace('{', '{ ') },
        { headers: { ...headers, 'webhook-timestamp': '1' } },
        { headers: { ...headers, 'webhook-signature': 'v1,AAAA' } },
        { staticData: {} },
      ])
        expect(await n8n.run('webhook', { ...delivery, ...forged })).toEqual({ answered: 401, items: null });

      expect(await asked('delete', kept)).toMatchObject({ done: true, kept: {} });
      expect((await webhook()).status).toBe(404);
      expect((await asked('delete', kept)).done).toBe(true); // somebody had deleted it already
      expect((await asked('checkExists', kept)).done).toBe(false);
    },
  );

  test('the trigger knows its webhook by a key that may not change webhooks, and subscribes anew where it differs', async () => {
    const vic = await product.signUp();
    const { key } = await vic.withKey();
    const permissions = ['webhooks:create', 'webhooks:read', 'webhooks:delete'];
    const role = (await vic.client.post('/roles', { name: 'Subscriber', permissions })).body;
    await product.db.sql`update memberships set role_key = ${role.id} where user_id = ${vic.userId}`;
    const trigger = {
      node: 'rookeryTrigger',
      credentials: { ...credentials, apiKey: key },
      parameters: { events: ['post.failed', 'post.published'], channelIds: [] },
      webhookBaseUrl: `${receiver.url}/vic`,
    };
    const asked = (method: string, staticData: object, more: object = {}) =>
      n8n.run('hook', { ...trigger, ...more, method, staticData });
    const { kept } = await asked('create', {});
    expect((await asked('checkExists', kept)).done).toBe(true);
    const fewer = { parameters: { ...trigger.parameters, events: ['post.failed'] } };
    const elsewhere = { webhookBaseUrl: 'http://127.0.0.2:1/vic' };
    const others = { parameters: { ...trigger.parameters, channelIds: [newId()] } };
    for (const changed of [fewer, elsewhere, others])
      expect((await asked('checkExists', kept, changed)).done).toBe(false);
    const anew = await asked('create', kept, fewer);
    expect((await vic.client.get('/webhooks')).body).toMatchObject([
      { id: anew.kept.webhookId, events: ['post.failed'] },
    ]);
  });
});
