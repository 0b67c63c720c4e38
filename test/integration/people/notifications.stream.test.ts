import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { Client, testApp } from '../../support/worlds/app.ts';
import { type Notified, notified } from '../../support/worlds/mail/notified.ts';
import { emptyTables } from '../../support/wire/database.ts';
import { type EventStream, openEventStream } from '../../support/wire/event-stream.ts';
import { eventually, gate } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';
import { startRedis } from '../../support/wire/services.ts';

// What open pages are told: by the process that they are connected to, whichever wrote it.

/** A clock that a test moves on; whoever sleeps on it wakes then. */
function movedClock() {
  let ahead = 0;
  const sleepers = new Set<() => void>();
  return {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + ahead,
    async sleep(ms: number, signal?: AbortSignal) {
      const until = systemClock.monotonic() + ahead + ms;
      for (;;) {
        const left = until - systemClock.monotonic() - ahead;
        if (left <= 0) return;
        signal?.throwIfAborted();
        const moved = new AbortController();
        const wake = () => moved.abort();
        sleepers.add(wake);
        const either = signal ? AbortSignal.any([signal, moved.signal]) : moved.signal;
        await systemClock.sleep(left, either).catch(() => undefined);
        sleepers.delete(wake);
      }
    },
    move(ms: number) {
      ahead += ms;
      for (const wake of sleepers) wake();
    },
  };
}

let world: Notified;
const clock = movedClock();
let opened: EventStream[];
type Member = Awaited<ReturnType<Notified['member']>>;
let ann: Member;
let bob: Member;
beforeAll(async () => {
  world = await notified({ clock });
  ann = await world.member('admin');
  bob = await world.member('member');
});
afterAll(() => world?.[Symbol.asyncDispose]());
beforeEach(async () => {
  opened = [];
  await emptyTables(world.sql, 'notifications', 'notification_windows');
});
afterEach(async () => {
  await Promise.all(opened.map((stream) => stream.close()));
});

/** Rows of a transaction are told when all that are older have ended, those of other databases too. */
const noneHeldBack = () =>
  settles(async () =>
    expect(await world.sql`select from notifications where txid >= pg_snapshot_xmin(pg_current_snapshot())`).toEqual(
      [],
    ),
  );
async function follow({ client }: { client: Client }, headers: Record<string, string> = {}, address?: string) {
  await noneHeldBack();
  const stream = await openEventStream(`${address ?? client.address}/notifications/stream`, {
    cookies: client.cookies,
    headers: { accept: 'text/event-stream', ...headers },
  });
  opened.push(stream);
  return stream;
}
const broadcast = (title: string, userIds: readonly string[] = [ann.userId]) =>
  world.owner.client.post('/notifications/broadcast', {
    title,
    content: 'c',
    target: { type: 'users', userIds },
    channels: ['in-app'],
  });
const told = (title: string) => ({ event: 'notification', data: expect.objectContaining({ title }) });
const count = (total: number) => ({ event: 'count', data: { total } });
const listed = async () => (await ann.client.get('/notifications/list')).body.notifications;

describe('GET /notifications/stream', () => {
  test('tells the count at once, then each new notification as the list shows it, with the new count', async () => {
    await broadcast('before');
    const stream = await follow(ann);
    expect([stream.status, stream.headers.get('content-type'), stream.headers.get('cache-control')]).toEqual([
      200,
      'text/event-stream; charset=utf-8',
      'no-store',
    ]);
    expect(await stream.next()).toMatchObject(count(1));
    await broadcast('now');
    const { data, ...event } = await stream.next();
    expect(event).toEqual({ event: 'notification', id: expect.stringMatching(/^\d+-\d+$/) });
    expect(data).toEqual((await listed())[0]);
    expect(await stream.next()).toMatchObject(count(2));
  });

  test('tells what an older transaction holds back soon after that has ended, and counts it then', async () => {
    const stream = await follow(ann);
    expect(await stream.next()).toMatchObject(count(0));
    const [begun, ended] = [gate(), gate()];
    const older = world.sql.begin(async (tx) => {
      await tx`select pg_current_xact_id()`;
      begun.open();
      await ended.passed;
    });
    await begun.passed;
    await broadcast('one');
    await broadcast('two');
    await settles(async () => expect(await listed()).toHaveLength(2));
    ended.open();
    await older;
    expect(await stream.next()).toMatchObject(told('one'));
    expect(await stream.next()).toMatchObject(told('two'));
    expect(await stream.next()).toMatchObject(count(2));
  });

  test('tells of facts that the listener hears, too', async () => {
    const stream = await follow(ann);
    expect(await stream.next()).toMatchObject(count(0));
    await world.hear([world.published(ann.userId)]);
    expect(await stream.next()).toMatchObject(told('Published on Acme'));
  });

  test('tells nobody of what others are told, nor of other organizations', async () => {
    const stream = await follow(bob);
    const elsewhere = await follow(ann, { showorg: ann.orgId });
    expect([await stream.next(), await elsewhere.next()]).toMatchObject([count(0), count(0)]);
    await world.sql`
      insert into notifications (id, org_id, user_id, source, category, title, content)
      select ${newId()}, id, ${ann.userId}, 'elsewhere', 'storage', 'elsewhere', 'c'
      from organizations
      where id <> ${ann.orgId}
      limit 1`;
    await broadcast('for ann');
    expect(await elsewhere.next()).toMatchObject(told('for ann'));
    await broadcast('for bob', [bob.userId]);
    expect(await stream.next()).toMatchObject(told('for bob'));
  });

  test.each([
    ['PATCH', (id: string) => `/notifications/${id}/read`, 1],
    ['POST', () => '/notifications/read-all', 0],
    ['DELETE', (id: string) => `/notifications/${id}`, 1],
  ] as const)('tells the new count after %s by another page', async (method, pathOf, left) => {
    await broadcast('one');
    await broadcast('two');
    const stream = await follow(ann);
    expect(await stream.next()).toMatchObject(count(2));
    const [{ id }] = await listed();
    expect((await ann.client.send(method, pathOf(id))).status).toBe(200);
    expect(await stream.next()).toMatchObject(count(left));
  });

  test('brings what came after Last-Event-ID, in order, and at most the newest 100', async () => {
    const stream = await follow(ann);
    const { id } = await stream.next();
    await stream.close();
    for (let n = 0; n < 3; n += 1) await broadcast(`missed ${n}`);
    const again = await follow(ann, { 'last-event-id': id! });
    const isNotice = ({ event }: { event: string }) => event === 'notification';
    // one may be told after the count: a transaction of another database stood before it
    await eventually('all is told', () => again.heard.filter(isNotice).length === 3);
    await eventually('the count is told', () => again.heard.some(({ data }) => data.total === 3));
    const [first, ...rest] = again.heard.filter(isNotice);
    expect([first, ...rest]).toMatchObject([told('missed 0'), told('missed 1'), told('missed 2')]);
    await again.close();
    await world.sql`
      insert into notifications (id, org_id, user_id, source, category, title, content)
      select gen_random_uuid(), ${ann.orgId}, ${ann.userId}, 'many ' || n, 'storage', 'many ' || n, 'c'
      from generate_series(1, 120) n`;
    const late = await follow(ann, { 'last-event-id': first!.id! });
    await eventually('all is told', () => late.heard.filter(isNotice).length === 100);
    const titles = late.heard.filter(isNotice).map(({ data }) => data.title);
    expect([titles.length, titles[0], titles.at(-1)]).toEqual([100, 'many 21', 'many 120']);
  });

  test('tells each page of a session what follows on its own place, though some share theirs', async () => {
    const first = await follow(ann);
    const { id: beginning } = await first.next();
    await broadcast('one');
    const { id: afterOne } = await first.next();
    const pages = [
      await follow(ann, { 'last-event-id': afterOne! }),
      await follow(ann, { 'last-event-id': afterOne! }),
    ];
    const early = await follow(ann, { 'last-event-id': beginning! });
    const other = await follow(bob);
    await broadcast('two', [ann.userId, bob.userId]);
    await broadcast('three');
    const titlesOf = ({ heard }: EventStream) =>
      heard.filter(({ event }) => event === 'notification').map(({ data }) => data.title);
    await settles(async () =>
      expect([first, ...pages, early, other].map(titlesOf)).toEqual([
        ['two', 'three'],
        ['two', 'three'],
        ['two', 'three'],
        ['one', 'two', 'three'],
        ['two'],
      ]),
    );
    await settles(async () =>
      expect([first, ...pages, early].map(({ heard }) => heard.at(-1))).toMatchObject(Array(4).fill(count(3))),
    );
  });

  test.each(['', 'x', '1', '-1-2', `${'9'.repeat(19)}-0`, `${'9'.repeat(30)}-1`, "1-1'; drop table notifications"])(
    'begins anew for a Last-Event-ID that is none: %j',
    async (id) => {
      await broadcast('before');
      const stream = await follow(ann, { 'last-event-id': id });
      expect(await stream.next()).toMatchObject(count(1));
      await broadcast('after');
      expect(await stream.next()).toMatchObject(told('after'));
    },
  );

  test('misses none of two transactions that end in another order than they began', async () => {
    const stream = await follow(ann);
    expect(await stream.next()).toMatchObject(count(0));
    const held = gate();
    const written = gate();
    const slow = world.sql.begin(async (tx) => {
      await tx`
        insert into notifications (id, org_id, user_id, source, category, title, content)
        values (${newId()}, ${ann.orgId}, ${ann.userId}, 'slow', 'storage', 'slow', 'c')`;
      written.open();
      await held.passed;
    });
    await written.passed;
    await broadcast('fast');
    held.open();
    await slow;
    clock.move(20_000);
    await eventually('both are told', () => stream.heard.filter(({ event }) => event === 'notification').length === 2);
    expect(
      stream.heard.filter(({ event }) => event === 'notification').map(({ data }) => data.title as string),
    ).toEqual(['slow', 'fast']);
  });

  test('says every 15 s that it lives, and looks at the database itself when a message was lost', async () => {
    const stream = await follow(ann);
    expect(await stream.next()).toMatchObject(count(0));
    clock.move(15_000);
    await eventually('a comment comes', () => stream.comments.length === 1);
    await world.sql`
      insert into notifications (id, org_id, user_id, source, category, title, content)
      values (${newId()}, ${ann.orgId}, ${ann.userId}, 'silent', 'storage', 'silent', 'c')`; // nobody was told
    clock.move(15_000);
    expect(await stream.next()).toMatchObject(told('silent'));
  });

  test.each([
    ['the session', (eve: Member) => eve.client.post('/user/logout')],
    [
      'the membership',
      (eve: Member) => world.sql`update memberships set disabled = true where user_id = ${eve.userId}`,
    ],
    ['the user', (eve: Member) => world.sql`update users set deleted_at = now() where id = ${eve.userId}`],
  ])('ends within a minute when %s ends', async (_, end) => {
    const eve = await world.member('member');
    const [stream, other] = [await follow(eve), await follow(bob)];
    expect([await stream.next(), await other.next()]).toMatchObject([count(0), count(0)]);
    await end(eve);
    expect(stream.isEnded()).toBe(false);
    clock.move(15_000);
    await stream.ended();
    expect(other.isEnded()).toBe(false);
  });

  test('is open five times for a person and no sixth time, until one is closed', async () => {
    const own = [];
    for (let n = 0; n < 5; n += 1) own.push(await follow(ann));
    for (const stream of own) expect(await stream.next()).toMatchObject(count(0));
    expect((await follow(ann)).status).toBe(429);
    expect((await follow(bob)).status).toBe(200);
    await own[0]!.close();
    await eventually('there is room', async () => (await follow(ann)).status === 200);
  });

  test('is counted by person: 60 openings a minute', async () => {
    await using strict = await testApp({ sql: world.sql, env: { RATE_LIMIT_SCALE: '1' } });
    const as = ({ client }: Member) => {
      const same = new Client(strict.address);
      client.cookies.forEach((value, name) => same.cookies.set(name, value));
      return (n: number) => same.get('/notifications/stream', { accept: 'application/json', 'x-request-id': `r${n}` });
    };
    const [asAnn, asBob] = [as(ann), as(bob)];
    const answers = [];
    for (let n = 0; n < 61; n += 1) answers.push((await asAnn(n)).status);
    expect([answers.filter((status) => status === 200).length, answers.at(-1)]).toEqual([60, 429]);
    expect((await asBob(0)).status).toBe(200);
  });

  test('answers the number alone to who asks for JSON, and ends a HEAD at once', async () => {
    await broadcast('one');
    expect(await ann.client.get('/notifications/stream', { accept: 'application/json' })).toMatchObject({
      status: 200,
      body: { total: 1 },
    });
    expect((await ann.client.send('HEAD', '/notifications/stream')).status).toBe(200);
  });

  test('is what a client gets that asks for anything', async () => {
    const stream = await follow(ann, { accept: '*/*' });
    expect(await stream.next()).toMatchObject(count(0));
  });

  test('is refused without a session', async () => {
    const nobody = new Client(ann.client.address);
    expect((await nobody.get('/notifications/stream')).status).toBe(401);
  });

  test('ends whole when the process closes, and goes on elsewhere by Last-Event-ID', async () => {
    await using first = await testApp({ sql: world.sql });
    const stream = await follow(ann, {}, first.address);
    const { id } = await stream.next();
    const started = performance.now();
    await first.close();
    await stream.ended();
    expect(performance.now() - started).toBeLessThan(6_000); // it was not cut off with what hangs
    await broadcast('meanwhile');
    const again = await follow(ann, { 'last-event-id': id! });
    expect(await again.next()).toMatchObject(told('meanwhile'));
  });
});

const redis = await startRedis();
afterAll(async () => {
  await redis?.[Symbol.asyncDispose]();
});
// without Redis: PEERS_REQUIRED=1 fails before any test, as in CI
(redis ? describe : describe.skip)('two replicas with one Redis', () => {
  test('a page hears at once of what the other process wrote', async () => {
    const env = { REDIS_URL: redis!.url };
    await using first = await testApp({ sql: world.sql, env, clock });
    await using second = await testApp({ sql: world.sql, env, clock });
    const stream = await follow(ann, {}, first.address);
    expect(await stream.next()).toMatchObject(count(0));
    const owner = new Client(second.address);
    world.owner.client.cookies.forEach((value, name) => owner.cookies.set(name, value));
    const answer = await owner.post('/notifications/broadcast', {
      title: 'from afar',
      content: 'c',
      target: { type: 'users', userIds: [ann.userId] },
      channels: ['in-app'],
    });
    expect(answer.status).toBe(200);
    expect(await stream.next()).toMatchObject(told('from afar')); // the clock of both stands still
  });

  test('a person has five streams in both together, until one is closed', async () => {
    const env = { REDIS_URL: redis!.url };
    await using first = await testApp({ sql: world.sql, env, clock });
    await using second = await testApp({ sql: world.sql, env, clock });
    for (const { context } of [first, second])
      await eventually('Redis is connected', () => context.cache.health().limitsShared);
    const own = [];
    for (const { address } of [first, second, first, second, first]) own.push(await follow(bob, {}, address));
    for (const stream of own) expect(await stream.next()).toMatchObject(count(0));
    for (const { address } of [first, second]) expect((await follow(bob, {}, address)).status).toBe(429);
    expect((await follow(ann, {}, second.address)).status).toBe(200);
    await own[0]!.close();
    await eventually('there is room', async () => (await follow(bob, {}, second.address)).status === 200);
  });
});
