import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { startActors } from '../../../actors/host/start.ts';
import { openEmbeddedBus, openEmbeddedEngine } from '../../../src/platform/actor-runtime/embedded/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { testDatabase, type TestDatabase } from '../../support/wire/database.ts';
import { type Publishes, startFakePublisher } from '../../support/wire/fake-publisher.ts';
import { settles } from '../../support/wire/settles.ts';
import { clockWhere, openPublishing } from '../../support/worlds/publishing/world.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';
import { announce, openRows } from '../../support/worlds/publishing/webhooks.ts';

// The product as it is wired beside a sidecar that is played; actors run on the embedded engine, as they play no part.

let db: TestDatabase;
let rows: ReturnType<typeof openRows>;
let cleanUp = new AsyncDisposableStack();
beforeAll(async () => {
  db = await testDatabase();
  rows = openRows(db.sql);
});
afterEach(async () => {
  await cleanUp.disposeAsync();
  cleanUp = new AsyncDisposableStack();
  await db.sql`delete from outbox`;
});
afterAll(async () => db[Symbol.asyncDispose]());

async function start({
  publishes,
  env = { DAPR_EVENTS_PUBSUB: 'events' },
  clock = systemClock,
}: { publishes?: Publishes; env?: Record<string, string>; clock?: typeof systemClock } = {}) {
  const fake = cleanUp.use(await startFakePublisher(publishes));
  const log = quietLog();
  const engine = await openEmbeddedEngine({ sql: db.sql, clock, log, address: 'here', incarnation: newId() });
  cleanUp.defer(() => engine[Symbol.asyncDispose]());
  const bus = cleanUp.use(openEmbeddedBus({ clock, log }));
  const context = cleanUp.use(
    await openPublishing({
      url: db.url,
      clock,
      engine: { engine, bus },
      env: {
        DAPR_HTTP_PORT: '1',
        DAPR_GRPC_PORT: String(fake.port),
        DAPR_API_TOKEN: 'token-of-the-sidecar',
        DATABASE_URL: db.url,
        REDIS_URL: 'redis://127.0.0.1:1',
        ...env,
      },
    }),
  );
  cleanUp.use(await startActors(context, { reconcileMs: 3_600_000 }));
  return { ...fake, log: context.log };
}
const entriesOf = ({ bulks }: { bulks: Awaited<ReturnType<typeof startFakePublisher>>['bulks'] }, topic: string) =>
  bulks.filter((bulk) => bulk.topic === topic).flatMap(({ entries }) => entries);
const cursors = async () => (await db.sql`select listener from outbox_cursors where listener = 'neighbours'`).length;

describe('events for other Dapr applications', () => {
  test('publishes what webhooks tell of as cloud events on a topic for each event', async () => {
    const world = await start();
    const orgId = await rows.org();
    const channelId = await rows.channel(orgId);
    const root = await rows.post(orgId, channelId, { content: '<p>Grüße 🐦</p>' });
    const item = await rows.post(orgId, channelId, { root });
    await announce(db.sql, orgId, 'post.published', [root, item]);
    await announce(db.sql, orgId, 'channel.disabled', [channelId], { reason: 'person' });
    await settles(() => expect(entriesOf(world, 'rookery.channel.disabled')).toHaveLength(1));
    await settles(() => expect(entriesOf(world, 'rookery.post.published')).toHaveLength(1)); // an item of a thread is none

    const [{ entryId, event, contentType }] = entriesOf(world, 'rookery.post.published') as [
      { entryId: string; event: Record<string, unknown>; contentType: string },
    ];
    expect(contentType).toBe('application/cloudevents+json');
    expect(event).toEqual({
      specversion: '1.0',
      id: entryId,
      source: 'rookery',
      type: 'rookery.post.published',
      subject: root,
      time: expect.stringMatching(/^\d{4}-.*Z$/),
      orgid: orgId,
      datacontenttype: 'application/json',
      data: {
        event: 'post.published',
        timestamp: event['time'],
        data: expect.objectContaining({ postId: root, content: '<p>Grüße 🐦</p>', state: 'PUBLISHED' }),
      },
    });
    expect(world.bulks.map(({ pubsub }) => pubsub)).toEqual(['events', 'events']);
    expect(world.tokens).toEqual(['token-of-the-sidecar', 'token-of-the-sidecar']);
    await settles(async () => expect((await db.sql`select from outbox`).length).toBe(0));
  });

  test('publishes again under the same id what failed or was not answered, and sets nothing aside', async () => {
    let answers = 0;
    const world = await start({
      // the first bulk fails in a part, the second is never answered
      publishes: ({ entries }) => [[entries[0]!.entryId], undefined, []][answers++],
      clock: clockWhere((ms) => (ms === 10_000 ? (answers === 1 ? 500 : ms) : Math.min(ms, 50))),
    });
    const orgId = await rows.org();
    const channelId = await rows.channel(orgId);
    const posts = await Promise.all([1, 2, 3].map(() => rows.post(orgId, channelId)));
    await announce(db.sql, orgId, 'post.published', posts);
    await settles(() => expect(world.bulks.length).toBeGreaterThanOrEqual(3));
    const tries = world.bulks.map(({ entries }) =>
      entries
        .map(({ entryId }) => entryId)
        .toSorted()
        .join(),
    );
    expect(new Set(tries).size).toBe(1);
    await settles(async () => expect((await db.sql`select from outbox`).length).toBe(0));
    expect(world.bulks).toHaveLength(3);
    expect((await db.sql`select from outbox_refused`).length).toBe(0);
    const said = world.log.lines.filter(({ message }) => message === 'facts could not be heard, trying again');
    expect(said.length).toBe(2);
  });

  test('a sidecar that does not answer keeps neither other listeners from their facts nor this process from its end', async () => {
    const world = await start({
      publishes: () => undefined,
      clock: clockWhere((ms) => (ms === 10_000 ? 1_000_000_000 : ms)), // in this test nothing ends by the deadline
    });
    const orgId = await rows.org();
    const channelId = await rows.channel(orgId);
    await announce(db.sql, orgId, 'post.published', [await rows.post(orgId, channelId)]);
    await settles(() => expect(world.bulks).toHaveLength(1));
    await announce(db.sql, orgId, 'post.published', [await rows.post(orgId, channelId)]);
    const [{ most }] = (await db.sql`select max(txid) as most from outbox`) as unknown as [{ most: string }];
    await settles(async () => {
      const [passed] = await db.sql`select since > ${most}::xid8 as is from outbox_cursors where listener = 'webhooks'`;
      expect(passed!['is']).toBe(true);
    });
    await cleanUp.disposeAsync();
    cleanUp = new AsyncDisposableStack();
    expect(world.bulks).toHaveLength(1);
  });

  test('has no cursor where no component is named, so that no fact waits for it', async () => {
    await start();
    await settles(async () => expect(await cursors()).toBe(1));
    await cleanUp.disposeAsync();
    cleanUp = new AsyncDisposableStack();

    const off = await start({ env: {} });
    const orgId = await rows.org();
    await announce(db.sql, orgId, 'post.published', [await rows.post(orgId, await rows.channel(orgId))]);
    await settles(async () => expect((await db.sql`select from outbox`).length).toBe(0));
    expect([await cursors(), off.bulks]).toEqual([0, []]);
  });
});
