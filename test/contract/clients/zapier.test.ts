import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { systemClock } from '../../../src/platform/kernel/index.ts';
import { installPeer, peerEnv } from '../../support/peers/peer-install.ts';
import { describePeer } from '../../support/peers/peers.ts';
import type { Receiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { type AutomationWorld, automationWorld } from '../../support/worlds/automation.ts';
import { announce } from '../../support/worlds/publishing/webhooks.ts';

// The definition for Zapier, judged by its schema and run by its platform against the product.

const APP = new URL('../../../clients/automation/zapier/index.js', import.meta.url).href;

/** Zapier's platform with the definition, in a process of its own. */
function startZapier(folder: string) {
  const child: ChildProcessWithoutNullStreams = spawn(process.execPath, [`${folder}/main.mjs`, APP], {
    env: peerEnv(),
  });
  let complaint = '';
  child.stderr.on('data', (text: Buffer) => void (complaint += text.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    async run(path: string, bundle: object = {}): Promise<unknown> {
      child.stdin.write(`${JSON.stringify({ path, bundle })}\n`);
      const { value, done } = await lines.next();
      if (done) throw new Error(`Zapier's platform ended: ${complaint}`);
      const { results, error, name } = JSON.parse(value) as { results?: unknown; error?: string; name?: string };
      if (error !== undefined) throw Object.assign(new Error(error), { name });
      return results;
    },
    end: () => void child.kill(),
  };
}

let folder = '';
const find = async () => {
  folder = await installPeer('zapier');
  return { start: () => Promise.reject(new Error('it is no server')) };
};
await describePeer('zapier', find, () => {
  let product: AutomationWorld['product'];
  let receiver: Receiver;
  let zapier: ReturnType<typeof startZapier>;
  let authData: { url: string; apiKey: string };
  let orgId: string;
  let channel: string;
  let own: AutomationWorld['own'];
  let world: AutomationWorld;
  beforeAll(async () => {
    world = await automationWorld('zapier');
    ({ product, receiver, orgId, channel, own, login: authData } = world);
    zapier = startZapier(folder);
  });
  afterAll(async () => {
    zapier?.end();
    await world?.[Symbol.asyncDispose]();
  });
  const act = (path: string, inputData: object = {}, more: object = {}) =>
    zapier.run(`${path}.operation.perform`, { authData, inputData, ...more });
  const inDays = (days: number) => systemClock.in(days * 86_400_000).toISOString();
  const created = async (): Promise<string> => {
    const input = { channels: [channel], content: 'Hello', type: 'schedule', date: inDays(2) };
    return ((await act('creates.create_post', input)) as { id: string }).id;
  };

  test('is what the schema of Zapier asks for', async () => {
    expect(await zapier.run('validate')).toEqual([]);
  });

  test('logs in with address and key, and says whose they are', async () => {
    const bundle = { authData };
    expect(await zapier.run('authentication.test', bundle)).toMatchObject({ orgId, orgName: 'Acme Ltd' });
    const wrong = { authData: { ...authData, apiKey: 'pm_live_wrong' } };
    await expect(zapier.run('authentication.test', wrong)).rejects.toThrow(/Invalid API key/);
    expect(await act('triggers.channels')).toEqual([expect.objectContaining({ id: channel })]);
  });

  describe('actions', () => {
    test('create a post with media and tags, find it, edit it, unqueue it and delete it', async () => {
      const input = {
        channels: [channel],
        content: 'Hello',
        type: 'schedule',
        date: inDays(2),
        media: [`${receiver.url}/a.png`],
        tags: ['news'],
      };
      const { id } = (await act('creates.create_post', input)) as { id: string };
      const [found] = (await act('searches.find_post', { post: id })) as [Record<string, unknown>];
      expect(found).toMatchObject({ id, state: 'QUEUE', publishDate: input.date });
      expect((await own('GET', `/public/v1/posts/${id}`)).body.image).toHaveLength(1);

      const date = inDays(3);
      await act('creates.edit_post', { post: id, content: 'Goodbye', date });
      const edited = await own('GET', `/public/v1/posts/${id}`);
      expect(edited.body).toMatchObject({ content: expect.stringContaining('Goodbye'), publishDate: date });
      expect(await act('creates.set_post_status', { post: id, status: 'draft' })).toMatchObject({ state: 'DRAFT' });
      expect(await act('creates.delete_post', { post: id })).toMatchObject({ id });
      expect(await act('searches.find_post', { post: id })).toEqual([]);
    });

    test('create nothing twice in a replay that names its run, and something in each run without a name', async () => {
      const post = { channels: [channel], content: 'Hello', type: 'draft', media: [`${receiver.url}/a.png`] };
      const file = { url: `${receiver.url}/c.png`, name: 'c.png' };
      const ids = async (path: string, ...inputs: object[]) => {
        const made = [];
        for (const input of inputs) made.push(((await act(path, input)) as { id: string }).id);
        return new Set(made).size;
      };
      const [one, two] = [{ run: 'row 1' }, { run: 'row 2' }];
      expect(await ids('creates.create_post', { ...post, ...one }, { ...post, ...one })).toBe(1);
      expect(await ids('creates.create_post', { ...post, ...one }, { ...post, ...two })).toBe(2);
      expect(await ids('creates.create_post', { ...post, ...one }, { ...post, ...one, content: 'Bye' })).toBe(2);
      expect(await ids('creates.create_post', post, post)).toBe(2);
      const raw = { inputDataRaw: { date: 'tomorrow' } };
      const scheduled = { ...post, ...one, type: 'schedule' };
      await act('creates.create_post', { ...scheduled, date: inDays(1) }, raw);
      const later = act('creates.create_post', { ...scheduled, date: inDays(2) }, raw);
      await expect(later).rejects.toThrow(/idempotency_mismatch/);
      expect(await ids('creates.upload_file', { ...file, ...one }, { ...file, ...one })).toBe(1);
    });

    test('upload a file, find a free time, and retry a post that failed', async () => {
      const file = await act('creates.upload_file', { url: `${receiver.url}/b.png`, name: 'b.png' });
      expect(file).toMatchObject({ id: expect.any(String), path: expect.stringContaining('/uploads/') });
      const free = async () => `${(await own('GET', `/public/v1/find-slot/${channel}`)).body.date}Z`; // told in UTC
      const before = await free();
      const [slot] = (await act('searches.find_free_time', { channel })) as [{ date: string }];
      expect([before, await free()]).toContain(slot.date);
      const id = await created();
      await product.db.sql`
        update posts set state = 'ERROR', detail = null, error_kind = 'validation', error = 'no' where id = ${id}`;
      expect(await act('creates.retry_post', { post: id })).toMatchObject({ id, state: 'QUEUE' });
    });

    test('are refused with the words and the code of the service', async () => {
      await expect(act('creates.retry_post', { post: await created() })).rejects.toThrow(/"code":"conflict"/);
      await expect(act('creates.create_post', { channels: [channel], content: 'x', type: 'schedule' })).rejects.toThrow(
        /needs a date/,
      );
      const unknown = { channels: ['nobody'], content: 'x', type: 'draft' };
      await expect(act('creates.create_post', unknown)).rejects.toThrow(/"status":400/);
      const away = { authData: { ...authData, url: 'http://127.0.0.1:9' } };
      await expect(act('searches.find_post', { post: 'p' }, away)).rejects.toThrow(/^(?!.*JSON)/s);
    });
  });

  test.each([
    ['post_published', 'post.published', {}],
    [
      'post_failed',
      'post.failed',
      { errorKind: 'validation', error: 'no', detail: null, attempts: 1, retryable: false },
    ],
    ['channel_refresh_needed', 'channel.refresh_needed', { reason: 'expired' }],
  ] as const)('trigger %s subscribes to %s, takes its deliveries, and ends its webhook', async (name, topic, more) => {
    const targetUrl = `${receiver.url}/${name}`;
    const bundle = { authData, targetUrl, inputData: { channel } };
    const subscribed = (await zapier.run(`triggers.${name}.operation.performSubscribe`, bundle)) as { id: string };
    const listed = async () => (await own('GET', '/public/v1/webhooks')).body as { id: string; events: string[] }[];
    expect((await listed()).find(({ id }) => id === subscribed.id)).toMatchObject({ events: [topic], url: targetUrl });

    const entity = topic === 'channel.refresh_needed' ? channel : await created();
    await announce(product.db.sql, orgId, topic, [entity], more);
    const about = topic === 'channel.refresh_needed' ? { integrationId: channel } : { postId: entity };
    const isMine = ({ path, body }: Receiver['ledger'][0]) =>
      path === `/${name}` && Object.values(about).every((id) => body.includes(`"${id}"`));
    const got = () => receiver.ledger.filter(isMine);
    await settles(() => expect(got()).toHaveLength(1));
    const [{ headers, body }] = got() as [Receiver['ledger'][0]];
    const heard = await act(
      `triggers.${name}`,
      {},
      {
        cleanedRequest: JSON.parse(body.toString()) as object,
        rawRequest: { headers: { 'Http-Webhook-Id': headers['webhook-id'] } },
      },
    );
    expect(heard).toEqual([expect.objectContaining({ id: headers['webhook-id'], ...about })]);
    const [sample] = (await zapier.run(`triggers.${name}.operation.performList`)) as [object];
    expect(Object.keys(sample).toSorted()).toEqual(Object.keys((heard as [object])[0]).toSorted());

    const end = { authData, subscribeData: subscribed };
    expect(await zapier.run(`triggers.${name}.operation.performUnsubscribe`, end)).toMatchObject({ success: true });
    expect((await listed()).map(({ id }) => id)).not.toContain(subscribed.id);
  });
});
