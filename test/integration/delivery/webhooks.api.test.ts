// oxlint-disable max-lines -- one product and one receiver serve all cases
import { createHmac } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { type Client, JWT_SECRET, type SignedUp } from '../../support/worlds/app.ts';
import { gate } from '../../support/wire/eventually.ts';
import { type Product, wholeProduct } from '../../support/worlds/product.ts';
import { openPublishing } from '../../support/worlds/publishing/world.ts';
import { type Receiver, startReceiver } from '../../support/wire/receiver.ts';
import { settles } from '../../support/wire/settles.ts';
import { announce, openRows } from '../../support/worlds/publishing/webhooks.ts';

let product: Product;
let receiver: Receiver;
let ann: SignedUp;
let eve: SignedUp;
let key: Client;
let rows: ReturnType<typeof openRows>;
let channel: string;
let foreign: string;

beforeAll(async () => {
  product = await wholeProduct({ env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32', WEBHOOK_TIMEOUT_MS: '20000' } });
  receiver = await startReceiver();
  [ann, eve] = [await product.signUp(), await product.signUp()];
  key = await ann.withKey();
  rows = openRows(product.db.sql);
  [channel, foreign] = [await rows.channel(ann.orgId), await rows.channel(eve.orgId)];
});
afterAll(async () => {
  await product[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});
beforeEach(async () => {
  receiver.ledger.length = 0;
  receiver.answer = (response) => void response.writeHead(200).end();
  await product.db.sql`delete from webhooks`;
});

const good = (more: object = {}) => ({ name: 'Hook', url: `${receiver.url}/hook`, integrations: [], ...more });
const make = async (more: object = {}, client = ann.client) => {
  const answer = await client.post('/webhooks', good(more));
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.body;
};
const count = async () => (await product.db.sql`select count(*)::int as n from webhooks`)[0]!['n'] as number;
/** A process beside this one with little time for an attempt; the others may be as slow as this machine. */
const openHurried = () =>
  openPublishing({
    url: product.db.url,
    env: { SSRF_ALLOWED_PRIVATE_CIDRS: '127.0.0.1/32', WEBHOOK_TIMEOUT_MS: '300' },
    engine: product.context,
  });
const noStats = {
  total: 0,
  succeeded: 0,
  failed: 0,
  lastStatus: null,
  lastDeliveredAt: null,
  lastError: null,
  consecutiveFailures: 0,
};
const published = async () => {
  const id = await rows.post(ann.orgId, channel);
  await announce(product.db.sql, ann.orgId, 'post.published', [id]);
  return id;
};

describe('webhook routes: create, change, list, delete', () => {
  test('an organization has 200 webhooks at most, also without billing: each event goes to all of them', async () => {
    const many = await product.signUp();
    await product.db.sql`
      insert into webhooks (id, org_id, name, url)
      select gen_random_uuid(), ${many.orgId}, 'w', 'https://example.com/'
      from generate_series(1, 199)`;
    expect((await many.client.post('/webhooks', good())).status).toBe(201);
    expect((await many.client.post('/webhooks', good())).body).toMatchObject({
      statusCode: 402,
      code: 'limit_exceeded',
      limit: 'webhooks',
      max: 200,
    });
    expect((await ann.client.post('/webhooks', good())).status).toBe(201);
  });

  test('a member who may not change a webhook sees only the origin of its address, by session and by key [S165]', async () => {
    const vic = await product.signUp();
    const program = await vic.withKey();
    for (const path of ['/hooks/T0K3N', '/?token=T0K3N']) {
      const { body } = await vic.client.post('/webhooks', good({ url: `https://hooks.example.com${path}` }));
      const seen = async () =>
        [
          await vic.client.get('/webhooks'),
          await program.get('/public/v1/webhooks'),
          await program.get(`/public/v1/webhooks/${body.id}`),
        ].map(({ body: answer }) => (Array.isArray(answer) ? answer.find((one) => one.id === body.id) : answer).url);
      expect(await seen()).toEqual(Array(3).fill(`https://hooks.example.com${path}`));
      await product.db.sql`update memberships set role_key = 'viewer' where user_id = ${vic.userId}`;
      await settles(async () => expect(await seen()).toEqual(Array(3).fill('https://hooks.example.com/…')));
      await product.db.sql`update memberships set role_key = 'owner' where user_id = ${vic.userId}`;
      await settles(async () => expect(await seen()).toEqual(Array(3).fill(`https://hooks.example.com${path}`)));
    }
  });

  test('a webhook is created, listed with its statistics, changed and deleted [WH1] [WH3] [WH4] [WH5] [WH8, S165]', async () => {
    const created = await ann.client.post(
      '/webhooks/',
      good({ name: '  Hook é ', integrations: [{ id: channel }, { id: channel }] }),
    );
    expect(created.status).toBe(201);
    expect(created.body).toEqual({
      id: expect.any(String),
      name: 'Hook é',
      url: `${receiver.url}/hook`,
      integrations: [{ id: channel }],
      events: [],
      hasSecret: false,
      createdAt: expect.any(String),
      updatedAt: created.body.createdAt,
      stats: noStats,
    });
    expect((await ann.client.get('/webhooks/')).body).toEqual([created.body]);
    const changed = await ann.client.put('/webhooks/', {
      id: created.body.id,
      name: 'New',
      url: 'https://example.com/x',
      integrations: [],
    });
    expect([changed.status, changed.body]).toEqual([
      200,
      { ...created.body, name: 'New', url: 'https://example.com/x', integrations: [], updatedAt: expect.any(String) },
    ]);
    expect((await ann.client.get('/webhooks')).body).toEqual([changed.body]);
    expect((await ann.client.delete(`/webhooks/${created.body.id}`)).body).toEqual({
      id: created.body.id,
      success: true,
    });
    expect((await ann.client.get('/webhooks')).body).toEqual([]);
    expect((await ann.client.delete(`/webhooks/${created.body.id}`)).status).toBe(404);
  });

  test('the public API has the same routes, by key', async () => {
    const created = await key.post('/public/v1/webhooks', good());
    expect(created.status).toBe(201);
    const { id } = created.body;
    expect((await key.get('/public/v1/webhooks')).body).toEqual([created.body]);
    expect((await key.get(`/public/v1/webhooks/${id}`)).body).toEqual(created.body);
    expect((await key.put(`/public/v1/webhooks/${id}`, good({ name: 'B' }))).body.name).toBe('B');
    expect((await key.put('/public/v1/webhooks', good({ id, name: 'C' }))).body.name).toBe('C');
    expect((await key.put(`/public/v1/webhooks/${id}`, good({ id: newId() }))).status).toBe(400);
    expect((await key.get(`/public/v1/webhooks/${id}/events?after=0`)).body).toEqual({
      items: [],
      last: 0,
      oldest: null,
    });
    expect((await key.delete(`/public/v1/webhooks/${id}`)).body).toEqual({ id, success: true });
  });

  test('a webhook of another org answers as unknown [WH10, S9, S166]', async () => {
    const { id } = await make();
    const unknown = newId();
    const asked = (one: string): [string, string, object?][] => [
      ['PUT', '/webhooks', good({ id: one })],
      ['DELETE', `/webhooks/${one}`],
      ['POST', `/webhooks/test-ping/${one}`],
      ['GET', `/webhooks/${one}/deliveries`],
      ['GET', `/webhooks/${one}/events`],
      ['POST', `/webhooks/${one}/deliveries/${unknown}/redeliver`],
      ['POST', `/webhooks/${one}/replay`, {}],
    ];
    for (const [n, [method, path, body]] of asked(id).entries()) {
      const theirs = await eve.client.send(method, path, body);
      const [, unknownPath, unknownBody] = asked(unknown)[n]!;
      const nobody = await eve.client.send(method, unknownPath, unknownBody);
      expect([method, path, theirs.status, theirs.body]).toEqual([method, path, 404, nobody.body]);
    }
    expect((await eve.client.get('/webhooks')).body).toEqual([]);
    expect([(await ann.client.get('/webhooks')).body.length, receiver.ledger.length]).toEqual([1, 0]);
  });

  test('every fault is named and nothing is written [S6, S166]', async () => {
    const cases: [object, number, string, string?][] = [
      [good({ name: '' }), 400, 'validation_failed', 'name'],
      [good({ name: ' '.repeat(5) }), 400, 'validation_failed', 'name'],
      [good({ name: 'x'.repeat(101) }), 400, 'validation_failed', 'name'],
      [good({ name: 1 }), 400, 'validation_failed', 'name'],
      [{ url: 'https://a.example', integrations: [] }, 400, 'validation_failed', 'name'],
      [{ name: 'a', url: 'https://a.example' }, 400, 'validation_failed', 'integrations'],
      [good({ integrations: ['x'] }), 400, 'validation_failed', 'integrations.0'],
      [good({ integrations: [{ id: channel }, { id: foreign }] }), 400, 'validation_failed', 'integrations.1.id'],
      [good({ integrations: [{ id: 'nonsense' }] }), 400, 'validation_failed', 'integrations.0.id'],
      [good({ integrations: [{ id: newId() }] }), 400, 'validation_failed', 'integrations.0.id'],
      [good({ integrations: [{ id: channel, name: 'x' }] }), 400, 'unknown_field', 'integrations.0.name'],
      [good({ events: ['post.published', 'post.exploded'] }), 400, 'validation_failed', 'events.1'],
      [good({ secret: 'mine' }), 400, 'validation_failed', 'secret'],
      [good({ rotateSecret: true }), 400, 'unknown_field', 'rotateSecret'],
      [good({ organizationId: eve.orgId }), 400, 'unknown_field', 'organizationId'],
      [good({ url: 'https://a.example/'.padEnd(2_001, 'x') }), 400, 'validation_failed', 'url'],
      [good({ url: 'not a url' }), 400, 'validation_failed', 'url'],
      [good({ url: '' }), 400, 'validation_failed', 'url'],
      [good({ url: '/hook' }), 400, 'validation_failed', 'url'],
    ];
    for (const [body, status, code, field] of cases) {
      const answer = await ann.client.post('/webhooks', body);
      expect([body, answer.status, answer.body.code, answer.body.errors?.[0]?.field]).toEqual([
        body,
        status,
        code,
        field,
      ]);
    }
    expect(await count()).toBe(0);
    const made = await make();
    for (const [body, status, code] of cases.filter(([one]) => !('rotateSecret' in one))) {
      const answer = await ann.client.put('/webhooks', { id: made.id, ...body });
      expect([body, answer.status, answer.body.code]).toEqual([body, status, code]);
    }
    expect((await ann.client.get('/webhooks')).body).toEqual([made]);
  });

  test('plain http to a public name is refused at creation [WH2] [OB2]', async () => {
    for (const url of ['http://example.com/', 'http://a.b.example.co.uk./', 'HTTP://EXAMPLE.COM'])
      expect((await ann.client.post('/webhooks', good({ url }))).body.code).toBe('blocked_url');
    for (const url of ['http://localhost:8080/', 'http://receiver/', 'http://hooks.internal/'])
      expect((await ann.client.post('/webhooks', good({ url }))).status).toBe(201);
  });

  test.each([
    'ftp://example.com/',
    'https://user:pass@example.com/',
    'https://10.0.0.1/',
    'https://127.0.0.2/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://2130706434/',
    'https://0x7f000002/',
    'https://0177.0.0.2/',
    'https://0.0.0.0/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[fd00:ec2::254]/',
    'http://10.0.0.1/',
    'http://93.184.215.14/',
    'javascript:alert(1)',
  ])('%s is refused at creation, and by the generic send [WH2] [OB2] [OB3] [OB7] [X1, S264]', async (url) => {
    for (const answer of [
      await ann.client.post('/webhooks', good({ url })),
      await key.post('/public/v1/webhooks', good({ url })),
    ])
      expect([answer.status, answer.body]).toEqual([
        400,
        expect.objectContaining({
          code: 'blocked_url',
          message: 'Blocked URL',
          errors: [
            {
              field: 'url',
              message: expect.stringMatching(/^url: Blocked URL\. .*SSRF_ALLOWED_PRIVATE_CIDRS$/),
              rule: 'blocked_url',
            },
          ],
        }),
      ]);
    expect((await ann.client.post('/webhooks/send', { url })).body).toEqual({
      success: false,
      status: 0,
      error: 'Blocked URL',
    });
    expect([await count(), receiver.ledger.length]).toEqual([0, 0]);
  });

  test('a deleted channel stays in the list of a webhook that had it', async () => {
    const old = await rows.channel(ann.orgId);
    const { id } = await make({ integrations: [{ id: old }] });
    await product.db.sql`update channels set deleted_at = now() where id = ${old}`;
    expect(
      (await ann.client.put('/webhooks', good({ id, integrations: [{ id: old }, { id: channel }] }))).body.integrations,
    ).toEqual([{ id: old }, { id: channel }]);
    expect((await ann.client.post('/webhooks', good({ integrations: [{ id: old }] }))).status).toBe(400);
  });

  test('a secret is shown once, never again, and its idempotent replay is stored sealed', async () => {
    const headers = { 'idempotency-key': newId() };
    const first = await ann.client.post('/webhooks', good({ secret: true }), headers);
    expect([first.body.hasSecret, first.body.secret]).toEqual([true, expect.stringMatching(/^whsec_/)]);
    const again = await ann.client.post('/webhooks', good({ secret: true }), headers);
    expect([again.status, again.text, again.headers.get('idempotency-replayed'), await count()]).toEqual([
      201,
      first.text,
      'true',
      1,
    ]);
    const dump = JSON.stringify([
      await product.db.sql`select * from webhooks`,
      await product.db.sql`select * from idempotency_keys`,
    ]);
    expect(dump).not.toContain(first.body.secret.slice(6));
    const [listed] = (await ann.client.get('/webhooks')).body;
    expect([listed.hasSecret, 'secret' in listed]).toEqual([true, false]);
    const rotated = await ann.client.put('/webhooks', good({ id: listed.id, rotateSecret: true }));
    expect(rotated.body.secret).not.toBe(first.body.secret);
    // it has one
    expect('secret' in (await ann.client.put('/webhooks', good({ id: listed.id, secret: true }))).body).toBe(false);
  });

  test('the available events are listed, those that are not signed as such, and can be subscribed to [WH29]', async () => {
    const types = (await ann.client.get('/webhooks/event-types')).body as {
      event: string;
      description: string;
      signed: boolean;
    }[];
    expect(types.map(({ event }) => event)).toEqual(
      expect.arrayContaining([
        'post.published',
        'post.scheduled',
        'post.failed',
        'post.retrying',
        'post.late',
        'post.missed',
        'post.unconfirmed',
        'post.paused',
        'post.resumed',
        'post.approval_requested',
        'post.approved',
        'post.rejected',
        'post.deleted',
        'first_comment.posted',
        'first_comment.failed',
        'channel.connected',
        'channel.refresh_needed',
        'channel.token_expiring',
        'channel.disabled',
        'channel.deleted',
        'media.job_finished',
      ]),
    );
    expect(types.filter(({ signed }) => !signed).map(({ event }) => event)).toEqual([
      'comment.new',
      'comment.reply',
      'analytics.snapshot_complete',
      'analytics.anomaly_detected',
    ]);
    const { id, events } = await make({ events: types.map(({ event }) => event) });
    expect(events).toHaveLength(types.length);
    // left out: stays
    expect((await ann.client.put('/webhooks', good({ id, name: 'B' }))).body.events).toHaveLength(types.length);
    expect((await ann.client.put('/webhooks', good({ id, events: [] }))).body.events).toEqual([]);
  });
});

describe('test pings and the generic send', () => {
  test('a delivered test ping says so, is signed with JWT_SECRET where no other key is set, and is counted [WH6] [WH15] [WH25] [WH28, S168]', async () => {
    const { id } = await make();
    const answer = await ann.client.post(`/webhooks/test-ping/${id}`);
    expect([answer.status, answer.body]).toEqual([200, { success: true, status: 200 }]);
    const [{ body, headers }] = receiver.ledger as [Receiver['ledger'][0]];
    const { timestamp } = JSON.parse(body.toString()) as { timestamp: string };
    expect(body.toString()).toBe(`{"event":"ping","timestamp":"${timestamp}","data":{"message":"Test ping"}}`);
    expect(headers['x-service-signature']).toBe(
      `sha256=${createHmac('sha256', JWT_SECRET).update(body).digest('hex')}`,
    );
    const [{ stats }] = (await ann.client.get('/webhooks')).body;
    expect(stats).toMatchObject({ total: 1, succeeded: 1, failed: 0, lastStatus: 200, lastError: null });
    expect((await ann.client.get(`/webhooks/${id}/deliveries`)).body).toEqual({
      items: [
        {
          id: expect.any(String),
          event: 'ping',
          attempt: 1,
          status: 200,
          error: null,
          durationMs: expect.any(Number),
          at: expect.any(String),
        },
      ],
      nextCursor: null,
    });
    expect(answer.headers.get('x-ratelimit-limit')).toBe('30000'); // 30, a thousand times as wide here
  });

  test('a failed test ping is 200 with the reason, after one attempt [WH7, S168]', async () => {
    const { id } = await make();
    const ping = async () => (await ann.client.post(`/webhooks/test-ping/${id}`)).body;
    receiver.answer = (response) => void response.writeHead(503).end();
    expect(await ping()).toEqual({ success: false, status: 0, error: 'HTTP 503' });
    receiver.answer = (response) => void response.writeHead(302, { location: '/other' }).end();
    expect(await ping()).toEqual({ success: false, status: 0, error: 'HTTP 302' });
    receiver.answer = (response) => void response.writeHead(307, { location: '/loop' }).end();
    expect(await ping()).toEqual({ success: false, status: 0, error: 'Too many redirects' });
    receiver.answer = (response) => void response.writeHead(307, { location: 'http://10.0.0.1/' }).end();
    expect(await ping()).toEqual({ success: false, status: 0, error: 'Blocked URL' });
    receiver.answer = () => {};
    await using hurried = await openHurried();
    expect(await hurried.webhooks.testPing(ann.orgId, id)).toEqual({ success: false, status: 0, error: 'timeout' });
    expect(receiver.ledger.filter(({ path }) => path === '/hook')).toHaveLength(5);
    const [{ stats }] = (await ann.client.get('/webhooks')).body;
    expect(stats).toMatchObject({
      total: 5,
      failed: 5,
      consecutiveFailures: 5,
      lastStatus: 0,
      lastError: 'timeout',
      lastDeliveredAt: null,
    });
  });

  test('the generic send takes a URL and a message, nothing else [WH9] [WH15] [X14, S169]', async () => {
    const url = `${receiver.url}/anywhere`;
    expect((await ann.client.post('/webhooks/send', { url, message: 'Grüße "you"' })).body).toEqual({
      success: true,
      status: 200,
    });
    expect((await ann.client.post(`/webhooks/send?url=${encodeURIComponent(url)}`, {})).body).toEqual({
      success: true,
      status: 200,
    });
    for (const { headers, body } of receiver.ledger)
      expect(headers['x-service-signature']).toBe(
        `sha256=${createHmac('sha256', JWT_SECRET).update(body).digest('hex')}`,
      );
    expect(receiver.ledger.map(({ body }) => JSON.parse(body.toString()))).toEqual(
      ['Grüße "you"', 'Test ping'].map((message) => ({
        event: 'ping',
        timestamp: expect.any(String),
        data: { message },
      })),
    );
    for (const more of [
      { event: 'post.published' },
      { data: { postId: 'x' } },
      { body: '{}' },
      { payload: {} },
      { headers: {} },
      { timestamp: 'x' },
      { method: 'GET' },
    ]) {
      const answer = await ann.client.post('/webhooks/send', { url, ...more });
      expect([more, answer.status, answer.body.code]).toEqual([more, 400, 'unknown_field']);
    }
    expect((await ann.client.post('/webhooks/send', { url, message: 'x'.repeat(501) })).status).toBe(400);
    expect((await ann.client.post('/webhooks/send', {})).body).toMatchObject({
      code: 'validation_failed',
      errors: [{ field: 'url' }],
    });
    expect((await ann.client.post('/webhooks/send', { url: 'nonsense' })).body).toMatchObject({
      success: false,
      status: 0,
    });
    expect(receiver.ledger).toHaveLength(2);
  });
});

describe('webhook deliveries', () => {
  test('a published post reaches the receiver through outbox, bus and actor, and is listed [WH11] [WH12, S170]', async () => {
    const { id } = await make({ events: ['post.published'] });
    const posts = [await published(), await published(), await published()];
    await settles(() => expect(receiver.ledger).toHaveLength(3));
    await settles(async () => expect((await ann.client.get('/webhooks')).body[0].stats.succeeded).toBe(3));
    const { items, nextCursor } = (await ann.client.get(`/webhooks/${id}/deliveries?limit=2`)).body;
    const rest = (await ann.client.get(`/webhooks/${id}/deliveries?limit=2&cursor=${nextCursor}`)).body;
    expect([items.length, rest.items.length, rest.nextCursor]).toEqual([2, 1, null]);
    expect(items[0]).toEqual({
      id: expect.any(String),
      event: 'post.published',
      attempt: 1,
      status: 200,
      error: null,
      durationMs: expect.any(Number),
      at: expect.any(String),
    });
    const events = (await ann.client.get(`/webhooks/${id}/events?after=1`)).body;
    expect([events.last, events.items.map(({ seq }: { seq: number }) => seq)]).toEqual([3, [2, 3]]);
    expect(events.items.map(({ body }: { body: string }) => JSON.parse(body).data.postId)).toEqual(posts.slice(1));
    expect(events.items.map(({ id: one }: { id: string }) => one)).toEqual(
      receiver.ledger.slice(1).map(({ headers }) => headers['webhook-id']),
    );
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=x'])
      expect((await ann.client.get(`/webhooks/${id}/deliveries?${query}`)).status).toBe(400);
    expect((await ann.client.get(`/webhooks/${id}/events?after=-1`)).status).toBe(400);
  });

  test('a finished delivery can be sent again, with the same id and bytes [S170]', async () => {
    receiver.answer = (response) => void response.writeHead(410).end();
    const { id } = await make();
    await published();
    await settles(async () => {
      // the waits between its attempts, made short
      await product.db.sql`
          update webhook_deliveries set next_attempt_at = now() where webhook_id = ${id} and next_attempt_at > now()`;
      await product.context.webhooks.deliver(`${ann.orgId}:${id}`);
      expect((await ann.client.get('/webhooks')).body[0].stats.failed).toBe(1);
    });
    const [{ id: deliveryId }] = (await ann.client.get(`/webhooks/${id}/deliveries`)).body.items;
    const again = () => ann.client.post(`/webhooks/${id}/deliveries/${deliveryId}/redeliver`);
    expect((await again()).body).toEqual({ success: false, status: 0, error: 'HTTP 410' });
    receiver.answer = (response) => void response.writeHead(202).end();
    expect((await again()).body).toEqual({ success: true, status: 202 });
    expect(
      new Set(receiver.ledger.map(({ body, headers }) => `${body.toString()} ${headers['webhook-id'] as string}`)).size,
    ).toBe(1);
    expect(
      (await ann.client.get(`/webhooks/${id}/deliveries`)).body.items.map(
        ({ attempt, status }: { attempt: number; status: number }) => [attempt, status],
      ),
    ).toEqual([
      [5, 202],
      [4, 410],
      [3, 410],
      [2, 410],
      [1, 410],
    ]);
    const inState = async (state: string) =>
      (await ann.client.get(`/webhooks/${id}/deliveries?state=${state}`)).body.items;
    expect([await inState('succeeded'), await inState('failed')]).toMatchObject([[{ attempt: 5, status: 202 }], []]);
    receiver.answer = (response) => void response.writeHead(410).end();
    await again(); // the last attempt says how it came out, as after a replay
    expect([await inState('succeeded'), await inState('failed')]).toMatchObject([[], [{ attempt: 6, status: 410 }]]);
    expect((await ann.client.post(`/webhooks/${id}/deliveries/${newId()}/redeliver`)).status).toBe(404);
    await product.db.sql`update webhook_deliveries set state = 'pending' where id = ${deliveryId}`;
    expect((await again()).status).toBe(409);
  });

  test('what failed is listed by its last attempt and replayed; each fault of a filter is named [S170]', async () => {
    const { id } = await make({ events: ['post.published'] });
    await published();
    await settles(() => expect(receiver.ledger).toHaveLength(1));
    await published();
    await settles(async () => expect((await ann.client.get('/webhooks')).body[0].stats.succeeded).toBe(2));
    await product.db.sql`update webhook_deliveries set state = 'failed' where webhook_id = ${id} and seq = 2`;
    await product.db.sql`update webhook_attempts set status = 503, error = 'HTTP 503' where delivery_id in (
      select id from webhook_deliveries where webhook_id = ${id} and seq = 2)`;
    const failed = async () => (await ann.client.get(`/webhooks/${id}/deliveries?state=failed`)).body.items;
    expect(await failed()).toMatchObject([{ attempt: 1, status: 503 }]);
    const { status, body } = await ann.client.post(`/webhooks/${id}/replay`, { state: 'failed', after: 1, before: 3 });
    expect([status, body]).toEqual([200, { queued: 1 }]);
    await settles(() => expect(receiver.ledger).toHaveLength(3));
    expect(receiver.ledger[2]!.headers['webhook-id']).toBe(receiver.ledger[1]!.headers['webhook-id']);
    await settles(async () => expect(await failed()).toEqual([]));
    for (const [wrong, field] of [
      [{ after: -1 }, 'after'],
      [{ after: '1' }, 'after'],
      [{ before: 1.5 }, 'before'],
      [{ before: null }, 'before'],
      [{ event: 'post.exploded' }, 'event'],
      [{ event: 'ping' }, 'event'],
      [{ state: 'pending' }, 'state'],
      [{ other: 1 }, 'other'],
    ] as const)
      expect((await ann.client.post(`/webhooks/${id}/replay`, wrong)).body.errors[0].field).toBe(field);
    expect((await ann.client.get(`/webhooks/${id}/deliveries?state=lost`)).body.errors[0].field).toBe('state');
  });

  test('a deleted webhook keeps no secret, and its row goes with its last delivery', async () => {
    const { id } = await make();
    await published();
    await settles(() => expect(receiver.ledger).toHaveLength(1));
    const row = async () => (await product.db.sql`select * from webhooks where id = ${id}`)[0];
    await settles(async () => expect(Number((await row())!['total'])).toBe(1));
    await product.db
      .sql`update webhooks set secret = 'v2:a', previous_secret = 'v2:b', older_secret = 'v2:c' where id = ${id}`;
    await ann.client.delete(`/webhooks/${id}`);
    expect(await row()).toMatchObject({ secret: null, previous_secret: null, older_secret: null });
    await product.db.sql`update webhooks set deleted_at = now() - interval '31 days' where id = ${id}`;
    await product.context.webhooks.dropOld(100);
    expect(await row()).toBeDefined(); // its delivery is still kept
    await product.db.sql`delete from webhook_attempts where webhook_id = ${id}`;
    await product.db.sql`delete from webhook_deliveries where webhook_id = ${id}`;
    await product.context.webhooks.dropOld(100);
    expect(await row()).toBeUndefined();
  });

  test('deleting a webhook drops its waiting deliveries [S167]', async () => {
    const deleted = gate();
    // else it would be sent again meanwhile
    receiver.answer = (response) => void deleted.passed.then(() => response.writeHead(500).end());
    const { id } = await make();
    await published();
    await settles(() => expect(receiver.ledger).toHaveLength(1));
    await published();
    const pending = () => product.db.sql`select from webhook_deliveries where webhook_id = ${id} and state = 'pending'`;
    await settles(async () => expect(await pending()).toHaveLength(2));
    await ann.client.delete(`/webhooks/${id}`);
    expect(await pending()).toHaveLength(0);
    deleted.open();
    await published();
    await settles(async () => expect(await product.db.sql`select from outbox`).toHaveLength(0));
    await product.context.webhooks.deliver(`${ann.orgId}:${id}`);
    expect(receiver.ledger).toHaveLength(1);
  });
});
