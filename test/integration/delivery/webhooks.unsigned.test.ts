import { createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { append, type NewFact } from '../../../src/platform/outbox/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { addWebhook, announce, openRows, startHost, tls } from '../../support/worlds/publishing/webhooks.ts';

// Events of comments and analytics: flat, not signed, sent once.

let db: TestDatabase;
let rows: ReturnType<typeof openRows>;
let receiver: Receiver;
let host: Awaited<ReturnType<typeof startHost>>;
let orgId: string;
let channelId: string;
const extra: AsyncDisposable[] = [];
beforeAll(async () => {
  db = await testDatabase();
  rows = openRows(db.sql);
});
afterAll(async () => db[Symbol.asyncDispose]());
beforeEach(async () => {
  receiver = await startReceiver({ tls });
  host = await startHost({ url: db.url });
  await host.starts();
  orgId = await rows.org();
  channelId = await rows.channel(orgId);
});
afterEach(async () => {
  for (const one of [...extra.splice(0), host, receiver]) await one[Symbol.asyncDispose]();
});
const hook = (path = '/hook') => `https://hook.test:${receiver.port}${path}`;
const tell = async (...facts: NewFact[]) => {
  await append(db.sql, facts);
};
const commented = (content = 'Nice'): NewFact => ({
  orgId,
  topic: 'comment.new',
  entityId: newId(),
  payload: { channelId, postId: newId(), content, authorName: 'Ann' },
});
const anomaly = () => ({
  integrationId: channelId,
  integrationName: 'Acme',
  metric: 'impressions',
  direction: 'spike' as const,
  value: 9_100,
  baseline: 1_200,
  deviation: 4.2,
  date: '2026-08-31',
  topPostId: null,
});
const got = (count: number) => settles(() => expect(receiver.ledger.length).toBeGreaterThanOrEqual(count));
const bodies = (path = '/hook') =>
  receiver.ledger.filter((one) => one.path === path).map(({ body }) => body.toString());
const stats = (id: string) => host.webhooks.get(orgId, id);

/** Each event with a fact of it, and the bytes that its receiver gets. */
const events: [string, () => { fact: NewFact; body: RegExp | string }][] = [
  [
    'comment.new [WH16]',
    () => {
      const fact = commented('Grüße "☃"') as Extract<NewFact, { topic: 'comment.new' }>;
      const { postId } = fact.payload;
      return {
        fact,
        body: `{"event":"comment.new","postId":"${postId}","commentId":"${fact.entityId}","content":"Grüße \\"☃\\"","authorName":"Ann","integrationId":"${channelId}"}`,
      };
    },
  ],
  [
    'many comments [WH17]',
    () => ({
      fact: {
        orgId,
        topic: 'comment.synced',
        entityId: channelId,
        payload: {
          providerId: 'x',
          name: 'Acme',
          count: 12,
          isBatch: true,
          minutes: 30,
          makers: [],
          content: 'Nice',
          authorName: 'Ann',
        },
      },
      body: '{"event":"comment.new","batchSize":12,"timeframe":"30m"}',
    }),
  ],
  [
    'comment.reply [WH18]',
    () => {
      const [entityId, postId] = [newId(), newId()];
      return {
        fact: {
          orgId,
          topic: 'comment.reply',
          entityId,
          payload: { channelId, postId, content: 'Thanks', authorName: 'Acme' },
        },
        body: `{"event":"comment.reply","postId":"${postId}","commentId":"${entityId}","content":"Thanks","authorName":"Acme"}`,
      };
    },
  ],
  [
    'analytics.snapshot_complete [WH19]',
    () => ({
      fact: { orgId, topic: 'analytics.snapshot_complete', entityId: orgId, payload: { day: '2026-08-31' } },
      body: new RegExp(
        `^\\{"event":"analytics.snapshot_complete","orgId":"${orgId}","timestamp":"\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z"\\}$`,
      ),
    }),
  ],
  [
    'analytics.anomaly_detected [WH20, WH21]',
    () => ({
      fact: {
        orgId,
        topic: 'analytics.anomaly_detected',
        entityId: orgId,
        payload: { anomalies: [anomaly(), { ...anomaly(), direction: 'drop' }] },
      },
      body: new RegExp(
        `^\\{"event":"analytics.anomaly_detected","orgId":"${orgId}","anomalies":\\[(\\{"integrationId":"${channelId}","integrationName":"Acme","metric":"impressions","direction":"(spike|drop)","value":9100,"baseline":1200,"deviation":4.2,"date":"2026-08-31","topPostId":null\\},?){2}\\],"timestamp":"[^"]+"\\}$`,
      ),
    }),
  ],
];

describe('an unsigned event', () => {
  test.each(events)(
    '%s is sent as the bytes of the specification, to webhooks without channels [WH24, W7]',
    async (_, make) => {
      await addWebhook(host.webhooks, orgId, hook());
      await addWebhook(host.webhooks, orgId, hook('/chosen'), { integrations: [{ id: channelId }] });
      const { fact, body } = make();
      const post = await rows.post(orgId, channelId);
      await append(db.sql, [fact]);
      await announce(db.sql, orgId, 'post.published', [post]); // which both get
      await got(3);
      const [first] = bodies();
      if (typeof body === 'string') expect(first).toBe(body);
      else expect(first).toMatch(body);
      expect(bodies('/chosen').map((one) => (JSON.parse(one) as { event: string }).event)).toEqual(['post.published']);
    },
  );

  test('has nothing on the wire beside host, content type and length, whatever secrets the webhook has [WH29]', async () => {
    const requests: string[] = [];
    const sockets = new Set<Socket>();
    const plain = createServer((socket) => {
      sockets.add(socket);
      let text = '';
      socket
        .on('error', () => undefined)
        .on('data', (piece: Buffer) => {
          text += piece.toString();
          const [head = '', body] = text.split('\r\n\r\n');
          const length = Number(/content-length: (\d+)/i.exec(head)?.[1]);
          if (body === undefined || body.length < length) return;
          requests.push(text);
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n');
        });
    });
    await new Promise<void>((done) => plain.listen(0, '127.0.0.1', done));
    extra.push({
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy();
        await new Promise((done) => plain.close(done));
      },
    });
    const { port } = plain.address() as { port: number };
    const options = { secret: true, events: ['comment.new'] };
    const { id } = await addWebhook(host.webhooks, orgId, `http://hook.test:${port}/a?b=c`, options);
    await tell(commented());
    await settles(async () => expect((await stats(id)).succeeded).toBe(1));
    const [head, body] = requests[0]!.split('\r\n\r\n') as [string, string];
    const [line, ...headers] = head.split('\r\n');
    expect(line).toBe('POST /a?b=c HTTP/1.1');
    expect(headers.map((one) => one.toLowerCase()).toSorted()).toEqual(
      [
        `host: hook.test:${port}`,
        'content-type: application/json',
        `content-length: ${Buffer.byteLength(body)}`,
      ].toSorted(),
    );
  });

  test('is attempted once, and seen in the deliveries [WH30, W4]', async () => {
    receiver.answer = (response) => void response.writeHead(500).end();
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await tell(commented());
    await settles(async () => expect((await stats(id)).failed).toBe(1));
    expect(await db.sql`select from webhook_deliveries where webhook_id = ${id} and state = 'pending'`).toEqual([]);
    expect((await host.webhooks.attempts(orgId, id, { limit: 10 })).items).toMatchObject([
      { event: 'comment.new', attempt: 1, status: 500, error: 'HTTP 500' },
    ]);
    await host.webhooks.drain(1_000);
    expect(receiver.ledger).toHaveLength(1);
  });

  test('is attempted for as long as other calls are, and not as signed events are [WH31]', async () => {
    await host[Symbol.asyncDispose]();
    host = await startHost({ url: db.url, timeoutMs: 60_000, unsignedTimeoutMs: 1_000 });
    await host.starts();
    receiver.answer = () => undefined;
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await tell(commented());
    await settles(async () =>
      expect(await stats(id)).toMatchObject({ failed: 1, lastStatus: 0, lastError: 'timeout' }),
    );
  });

  test('keeps the order of its webhook among signed ones, and a receiver that hangs holds only itself [W5]', async () => {
    let release = () => {};
    receiver.answer = (response, { path }) => {
      if (path === '/slow') release = () => void response.writeHead(200).end();
      else response.writeHead(200).end();
    };
    await addWebhook(host.webhooks, orgId, hook('/slow'));
    await addWebhook(host.webhooks, orgId, hook('/fast'));
    await append(db.sql, [commented('1')]);
    await announce(db.sql, orgId, 'post.published', [await rows.post(orgId, channelId)]);
    await append(db.sql, [commented('2')]);
    await settles(() => expect(bodies('/fast')).toHaveLength(3));
    expect(bodies('/fast').map((body) => (JSON.parse(body) as { event: string; content?: string }).content)).toEqual([
      '1',
      undefined,
      '2',
    ]);
    expect(bodies('/slow')).toHaveLength(1);
    for (let n = 1; n <= 3; n++) {
      await settles(() => expect(bodies('/slow')).toHaveLength(n));
      release();
    }
    expect(bodies('/slow')).toEqual(bodies('/fast'));
  });

  test('is sent again on demand as the same bytes, and not signed then either [S170, WH29]', async () => {
    receiver.answer = (response) => void response.writeHead(receiver.ledger.length === 1 ? 500 : 200).end();
    const { id } = await addWebhook(host.webhooks, orgId, hook(), { secret: true });
    await tell(commented());
    await settles(async () => expect((await stats(id)).failed).toBe(1));
    const [attempt] = (await host.webhooks.attempts(orgId, id, { limit: 1 })).items;
    expect(await host.webhooks.redeliver(orgId, id, attempt!.id)).toEqual({ success: true, status: 200 });
    receiver.answer = (response) => void response.writeHead(500).end();
    expect(await host.webhooks.replay(orgId, id, {})).toBe(1);
    await host.webhooks.deliver(`${orgId}:${id}`);
    await settles(async () => expect((await stats(id)).failed).toBe(2));
    expect(receiver.ledger).toHaveLength(3); // one attempt each
    expect(new Set(bodies()).size).toBe(1);
    for (const { headers } of receiver.ledger)
      expect(Object.keys(headers).toSorted()).toEqual(['content-length', 'content-type', 'host']);
  });

  test('follows a redirect as signed ones do, and goes by the guard [WH29, X2]', async () => {
    receiver.answer = (response, { path }) =>
      void (path === '/hook'
        ? response.writeHead(307, { location: hook('/moved') }).end()
        : response.writeHead(200).end());
    const { id } = await addWebhook(host.webhooks, orgId, hook());
    await tell(commented());
    await settles(async () => expect((await stats(id)).succeeded).toBe(1));
    expect(bodies('/moved')).toEqual(bodies('/hook'));
    receiver.answer = (response) => void response.writeHead(307, { location: 'https://10.0.0.1/' }).end();
    await tell(commented());
    await settles(async () => expect(await stats(id)).toMatchObject({ failed: 1, lastError: 'Blocked URL' }));
  });
});

test('one comment or many: webhooks with a list of events get what it names [WH24]', async () => {
  const { id } = await addWebhook(host.webhooks, orgId, hook(), { events: ['comment.reply'] });
  await tell(commented(), {
    orgId,
    topic: 'comment.reply',
    entityId: newId(),
    payload: { channelId, postId: newId(), content: 'Thanks', authorName: 'Acme' },
  });
  await settles(async () => expect((await stats(id)).succeeded).toBe(1));
  expect(bodies().map((body) => (JSON.parse(body) as { event: string }).event)).toEqual(['comment.reply']);
});

test('the end of a media job is told to webhooks that ask for it, whatever channels they have chosen [W7]', async () => {
  const asked = ['media.job_finished'];
  for (const integrations of [[], [{ id: channelId }]])
    await addWebhook(host.webhooks, orgId, hook(integrations.length === 0 ? '/all' : '/chosen'), {
      events: asked,
      integrations,
    });
  await addWebhook(host.webhooks, orgId, hook('/others'), { integrations: [{ id: channelId }] });
  await tell({
    orgId,
    topic: 'media.job_ended',
    entityId: newId(),
    payload: {
      userId: null,
      operation: 'render',
      providerId: 'a',
      state: 'done',
      fileIds: [],
      path: null,
      error: null,
    },
  });
  await announce(db.sql, orgId, 'post.published', [await rows.post(orgId, channelId)]); // which comes behind it
  await settles(() => expect(bodies('/others')).toHaveLength(1));
  await settles(() => expect(bodies('/all')).toHaveLength(1));
  await settles(() => expect(bodies('/chosen')).toEqual(bodies('/all')));
});
