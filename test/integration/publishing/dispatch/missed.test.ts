import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { newId, systemClock } from '../../../../src/platform/kernel/index.ts';
import { emptyTables, testDatabase, type TestDatabase } from '../../../support/wire/database.ts';
import { eventually } from '../../../support/wire/eventually.ts';
import { settles } from '../../../support/wire/settles.ts';
import {
  newPost,
  openNetwork,
  type Network,
  openPublishing,
  postActorOf,
  type Publisher,
  seedOrg,
  settled,
  startPublisher,
  stateOf,
} from '../../../support/worlds/publishing/world.ts';
import { noEngine } from '../../../support/worlds/app.ts';
import { waitingOnLock } from '../../../support/wire/database/waiting-on-lock.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let db: TestDatabase;
let network: Network;
let org: Awaited<ReturnType<typeof seedOrg>>;
/** The rooms of a process that hosts nothing, such as one of the API: it stores posts while no host is there. */
let api: Awaited<ReturnType<typeof openPublishing>>;
let host: Publisher | undefined;
const sent: string[] = [];
beforeAll(async () => {
  db = await testDatabase();
  api = await openPublishing({
    url: db.url,
    network: openNetwork(),
    onStatement: (text) => sent.push(text),
    engine: { ...noEngine, engine: { ...noEngine.engine, remindWithin: async () => () => {} } },
  });
});
afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await emptyTables(db.sql, 'organizations', 'actor_reminders', 'leases', 'actor_hosts', 'actor_outages', 'outbox');
  network = openNetwork();
  org = await seedOrg(db.sql);
});
afterEach(async () => {
  await host?.[Symbol.asyncDispose]();
  host = undefined;
});

const ago = (ms: number) => systemClock.in(-ms);
/** The last host fell silent so long ago. */
const silentFor = (ms: number) => db.sql`
  insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
  values (${randomUUID()}, 'embedded', '', '{}', now() - ${ms}::float8 * interval '1 ms')`;
const policy = (missedPolicy: string) => db.sql`
  update organizations set settings = ${db.sql.json({ missedPolicy })} where id = ${org.orgId}`;
/** A post that was created long before it was due, so long ago. */
async function due(ms: number, more: Parameters<typeof newPost>[1] = {}) {
  const post = newPost(org.channelId, { publishDate: ago(ms), ...more });
  await api.posts.admitPosts(org.orgId, [{ posts: [post], createdBy: org.userId }]);
  await db.sql`update posts set created_at = now() - interval '9 days', updated_at = now() - interval '9 days' where id = ${post.id}`;
  return post.id;
}
async function start(env: Record<string, string> = {}) {
  host = await startPublisher({ url: db.url, network, env });
  await host.reconciler.sweep();
  await settled(db.sql, org.orgId);
  return host;
}
const outages = () => db.sql<{ minutes: number; ended: boolean }[]>`
  select round(extract(epoch from ended_at - began_at) / 60)::int as minutes, ended_at is not null as ended
  from actor_outages`;
const facts = (topic: string) => db.sql<{ entity_id: string; payload: Record<string, unknown> }[]>`
  select entity_id, payload from outbox where topic = ${topic} order by id`;
const timeline = async (id: string) =>
  (await api.posts.getTimeline(org.orgId, id)).items.map(({ kind, message }) => `${kind}: ${message}`);

describe('a post that was due while no host was there', () => {
  test('goes out by `publish` up to a day late, and its timeline and a fact say that it was missed [S126]', async () => {
    await silentFor(3 * HOUR);
    const [late, little] = [await due(2 * HOUR), await due(30 * MINUTE)];
    await start();
    expect(await stateOf(db.sql, late)).toMatchObject({ state: 'PUBLISHED' });
    expect(await stateOf(db.sql, little)).toMatchObject({ state: 'PUBLISHED' });
    expect(await timeline(late)).toContain('woke: The service was down when it was due: it goes out late');
    expect((await timeline(little)).filter((entry) => entry.startsWith('woke'))).toEqual([]);
    expect(await facts('post.missed')).toEqual([
      { entity_id: late, payload: expect.objectContaining({ state: 'QUEUE', detail: 'scheduled', policy: 'publish' }) },
    ]);
    expect(await outages()).toEqual([{ minutes: 180, ended: true }]);
  });

  test('waits for a yes by `ask`, and a retry is the yes [S126]', async () => {
    await policy('ask');
    await silentFor(3 * HOUR);
    const id = await due(2 * HOUR);
    const later = newPost(org.channelId, { rootPostId: id, parentPostId: id, publishDate: ago(2 * HOUR) });
    await api.posts.admitPosts(org.orgId, [{ posts: [later], createdBy: org.userId }]);
    const world = await start();
    expect(network.asked).toEqual([]);
    for (const one of [id, later.id])
      expect(await stateOf(db.sql, one)).toMatchObject({
        state: 'ERROR',
        detail: 'missed',
        errorKind: 'missed',
        attempt: 0,
      });
    expect(await facts('post.failed')).toEqual([
      { entity_id: id, payload: expect.objectContaining({ detail: 'missed', errorKind: 'missed', retryable: true }) },
    ]);
    await postActorOf(world, org.orgId, id).retry({ confirm: false });
    await settled(db.sql, org.orgId);
    expect(network.taken.map(({ postId }) => postId)).toEqual([id, later.id]);
    const scheduled = await facts('post.scheduled');
    const { publishDate } = await stateOf(db.sql, id);
    expect(scheduled.map(({ entity_id }) => entity_id)).toEqual([id, id]); // by the create, and by the retry
    expect(new Date(String(scheduled[1]!.payload['publishDate']))).toEqual(publishDate);
  });

  test('is told of in the order of the posts, over several channels [S126]', async () => {
    org = await seedOrg(db.sql, 5);
    await policy('ask');
    await silentFor(3 * HOUR);
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1) ids.push(await due(2 * HOUR, { channelId: org.channelIds[(n * 3) % 5]! }));
    await start();
    for (const topic of ['post.missed', 'post.failed'])
      expect((await facts(topic)).map(({ entity_id }) => entity_id)).toEqual(ids);
  });

  test('is given up by `drop`, and by `publish` asked about when it is more than a day late [S126]', async () => {
    await silentFor(30 * HOUR);
    const old = await due(26 * HOUR);
    const other = await seedOrg(db.sql);
    const mine = org;
    org = other;
    await policy('drop');
    const dropped = await due(2 * HOUR);
    org = mine;
    await start();
    expect(network.asked).toEqual([]);
    const missed = await facts('post.missed');
    expect(
      new Map(
        missed.map(({ entity_id, payload }) => [entity_id, [payload['policy'], payload['state'], payload['detail']]]),
      ),
    ).toEqual(
      new Map([
        [old, ['publish', 'ERROR', 'missed']],
        [dropped, ['drop', 'ERROR', 'missed']],
      ]),
    );
    const failed = await facts('post.failed');
    expect(new Map(failed.map(({ entity_id, payload }) => [entity_id, payload['retryable']]))).toEqual(
      new Map([
        [old, true],
        [dropped, false],
      ]),
    );
  });

  test('is missed by the minutes of MISSED_AFTER_MINUTES only [S126]', async () => {
    await policy('ask');
    await silentFor(3 * HOUR);
    const id = await due(2 * HOUR);
    await start({ MISSED_AFTER_MINUTES: '150' });
    expect(await stateOf(db.sql, id)).toMatchObject({ state: 'PUBLISHED' });
  });

  test('is judged once, however many hosts come back at once', async () => {
    await silentFor(3 * HOUR);
    const id = await due(2 * HOUR);
    const outage = { beganAt: ago(3 * HOUR), endedAt: ago(0) };
    let judging: Promise<unknown> | undefined;
    await db.sql.begin(async (tx) => {
      await tx`select from channels where id = ${org.channelId} for update`;
      judging = Promise.all(Array.from({ length: 3 }, () => api.posts.judgeMissed(outage)));
      await settles(async () => {
        expect(await waitingOnLock(db.sql)).toBe(3); // each has looked at the post before any of them has judged it
      });
    });
    await judging;
    expect((await facts('post.missed')).map(({ entity_id }) => entity_id)).toEqual([id]);
  });

  test('is not judged again when the host that judged it died before it was heard', async () => {
    await silentFor(3 * HOUR);
    const id = await due(2 * HOUR);
    const beganAt = ago(3 * HOUR);
    await api.posts.judgeMissed({ beganAt, endedAt: ago(0) });
    await db.sql`update posts set updated_at = now() - interval '2 minutes' where id = ${id}`;
    await api.posts.judgeMissed({ beganAt, endedAt: ago(0) });
    expect((await facts('post.missed')).map(({ entity_id }) => entity_id)).toEqual([id]);
  });

  test('is not claimed by a host that was silent, before it is judged and the host is heard again [S126]', async () => {
    await policy('ask');
    await db.sql`
      insert into actor_hosts (incarnation, engine, address, types, last_heartbeat)
      values (${api.incarnation}, 'embedded', '', '{}', now() - interval '3 hours')`;
    const id = await due(2 * HOUR);
    sent.length = 0;
    const claiming = api.posts.claimNext(org.orgId, org.channelId);
    await eventually('the claim is tried again', () => sent.filter((text) => /with asked/.test(text)).length > 1);
    await api.posts.judgeMissed({ beganAt: ago(3 * HOUR), endedAt: ago(0) });
    await db.sql`update actor_hosts set last_heartbeat = now()`;
    expect(await claiming).toEqual({ kind: 'idle' });
    expect(await stateOf(db.sql, id)).toMatchObject({ state: 'ERROR', detail: 'missed', attempt: 0 });
  });
});

describe('nothing is missed', () => {
  test.each([
    ['that was due before the outage, and waits in a queue', 4 * HOUR, async () => {}],
    [
      'that was tried already',
      2 * HOUR,
      (id: string) => db.sql`update posts set attempt = 1, detail = 'retrying' where id = ${id}`,
    ],
    ['that was paused', 2 * HOUR, (id: string) => db.sql`update posts set detail = 'paused' where id = ${id}`],
  ])('of a post %s [S126]', async (_, ms, change) => {
    await policy('drop');
    await silentFor(3 * HOUR);
    const id = await due(ms);
    await change(id);
    await api.posts.judgeMissed({ beganAt: ago(3 * HOUR), endedAt: ago(0) });
    expect(await stateOf(db.sql, id)).toMatchObject({ state: 'QUEUE' });
    expect(await facts('post.missed')).toEqual([]);
  });

  test('when hosts were away for less than a minute, or one was there all the time', async () => {
    await policy('drop');
    await silentFor(50_000);
    await silentFor(3 * HOUR);
    const id = await due(2 * HOUR);
    await start();
    expect([await outages(), (await stateOf(db.sql, id)).state]).toEqual([[], 'PUBLISHED']);
  });

  test('an orderly stop begins an outage, too [S126]', async () => {
    await start();
    await host![Symbol.asyncDispose]();
    expect(await db.sql`select from actor_hosts`).toHaveLength(0);
    await db.sql`update actor_outages set began_at = began_at - interval '3 hours'`;
    await policy('ask');
    const id = await due(2 * HOUR);
    await start();
    expect([await outages(), (await stateOf(db.sql, id)).detail]).toEqual([[{ minutes: 180, ended: true }], 'missed']);
  });
});

describe('a series that was due several times while no host was there', () => {
  const recurring = (days: number) => ({
    id: newId(),
    recurrence: {
      days: `FREQ=DAILY;INTERVAL=${days}`,
      timezone: 'UTC',
      local: '2020-01-01T00:00:00.000',
      until: null,
      left: null,
      inter: days,
    },
  });
  test('publishes the latest date only, and names the others [S120, S126]', async () => {
    await silentFor(80 * HOUR);
    const id = await due(74 * HOUR, recurring(1));
    const [before] = await db.sql<{ at: Date }[]>`select publish_date as at from posts where id = ${id}`;
    host = await startPublisher({ url: db.url, network });
    await host.reconciler.sweep();
    await settles(async () => expect(await stateOf(db.sql, id)).toMatchObject({ state: 'PUBLISHED' }));
    expect(network.taken.map(({ postId }) => postId)).toEqual([id]);
    const { publishDate } = await stateOf(db.sql, id);
    expect(publishDate.getTime() - before!.at.getTime()).toBe(3 * 24 * HOUR);
    const { items } = await api.posts.getTimeline(org.orgId, id);
    expect(items.find(({ message }) => message.includes('skipped'))?.data).toMatchObject({
      skipped: [0, 1, 2].map((days) => new Date(before!.at.getTime() + days * 24 * HOUR).toISOString()),
    });
    expect((await facts('post.missed')).map(({ payload }) => payload['policy'])).toEqual(['publish']);
    const dates = (await facts('post.scheduled')).map(({ payload }) => new Date(String(payload['publishDate'])));
    expect(dates.slice(0, 2)).toEqual([before!.at, publishDate]); // then the next of the series
  });

  test('asks about the latest date, and goes on with the next one [S120, S126]', async () => {
    await policy('ask');
    await silentFor(80 * HOUR);
    const id = await due(74 * HOUR, recurring(1));
    host = await startPublisher({ url: db.url, network });
    await host.reconciler.sweep();
    expect(await stateOf(db.sql, id)).toMatchObject({ state: 'ERROR', detail: 'missed' });
    const [next] = await db.sql<{ at: Date; state: string }[]>`
      select publish_date as at, state from posts where id <> ${id}`;
    expect(next).toMatchObject({ state: 'QUEUE' });
    expect(next!.at.getTime()).toBeGreaterThan(Date.now());
    expect(network.asked).toEqual([]);
  });
});
