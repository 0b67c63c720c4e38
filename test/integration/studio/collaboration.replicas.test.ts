import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, test } from '@jest/globals';
import type { LiveRoom } from '../../../api/collaboration/live-room.ts';
import { openReplicas } from '../../../api/collaboration/replicas.ts';
import { byteChannels } from '../../../src/platform/cache/index.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import type { Typist } from '../../../src/studio/collaboration/index.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';
import { type TestApp, testApp } from '../../support/worlds/app.ts';
import { startRedis } from '../../support/wire/services.ts';
import { settles } from '../../support/wire/settles.ts';

const redis = await startRedis();
const world = await openCoEditing();
afterAll(async () => {
  await world.close();
  await redis?.[Symbol.asyncDispose]();
});
const replica = (url: string): Promise<TestApp> =>
  testApp({
    sql: world.db.sql,
    env: { COLLAB_REDIS_ADAPTER: url, COLLAB_SINGLE_INSTANCE: 'false' },
    ...world.world.beside,
  });

(redis ? describe : describe.skip)('replicas with COLLAB_REDIS_ADAPTER', () => {
  test('show each other what is typed and who is there, before it is written [S208, CL2]', async () => {
    const [one, two] = await Promise.all([replica(redis!.url), replica(redis!.url)]);
    const room = `post:${await world.draft()}`;
    const [mine, hers] = [await world.joined(room, {}, one.address), await world.joined(room, {}, two.address)];
    mine.write('mine');
    await settles(() => expect(hers.xml).toContain('mine'), 1_500);
    hers.awareness.setLocalState({ user: { name: 'Her' } });
    await settles(() => expect(mine.awareness.getStates().get(hers.doc.clientID)).toEqual({ user: { name: 'Her' } }));
    const late = await world.joined(room, {}, one.address);
    await settles(() => expect(late.awareness.getStates().get(hers.doc.clientID)).toEqual({ user: { name: 'Her' } }));
    const moved = await world.joined(room, { doc: hers.doc }, one.address);
    for (const name of ['Her, here', 'Her, again', 'Her, moved']) moved.awareness.setLocalState({ user: { name } });
    const seen = { user: { name: 'Her, moved' } };
    await settles(() => expect(mine.awareness.getStates().get(hers.doc.clientID)).toEqual(seen));
    await hers.close(); // its former connection to the other process
    await late.close();
    await settles(() => expect(mine.awareness.getStates().has(late.doc.clientID)).toBe(false));
    expect(mine.awareness.getStates().get(hers.doc.clientID)).toEqual(seen);
    await moved.close();
    await settles(() => expect(mine.awareness.getStates().has(hers.doc.clientID)).toBe(false));
    expect((await one.client().get('/health')).body.collaboration).toBeUndefined();
    await mine.close();
    await world.holds(room.slice(5), '<p>Hello</p><p>mine</p>');
    await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
  });

  test('show everybody who is at another process, however many they are [S208]', async () => {
    const [one, two] = await Promise.all([replica(redis!.url), replica(redis!.url)]);
    const room = `post:${await world.draft()}`;
    const many = await Promise.all(Array.from({ length: 15 }, () => world.joined(room, {}, one.address)));
    for (const [n, { awareness }] of many.entries()) awareness.setLocalState({ n });
    const watcher = await world.joined(room, {}, two.address);
    await settles(() => {
      const seen = [...watcher.awareness.getStates().values()].flatMap((state) => state['n'] ?? []);
      expect(seen.toSorted((a, b) => a - b)).toEqual(many.map((_, n) => n));
    });
    await Promise.all([watcher, ...many].map((editor) => editor.close()));
    await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
  });

  test('that lose Redis serve their own clients, and have one document within ten seconds of its return', async () => {
    const own = (await startRedis())!;
    const port = Number(new URL(own.url).port);
    const [one, two] = await Promise.all([replica(own.url), replica(own.url)]);
    const id = await world.draft();
    const room = `post:${id}`;
    const [mine, hers] = [await world.joined(room, {}, one.address), await world.joined(room, {}, two.address)];
    await own[Symbol.asyncDispose]();
    mine.write('mine');
    hers.write('hers');
    await settles(() => expect(mine.xml).toContain('mine'));
    await using _ = (await startRedis([], port))!;
    await settles(() => {
      for (const { xml } of [mine, hers]) expect(xml).toMatch(/mine.*hers|hers.*mine/);
      expect(mine.xml).toBe(hers.xml);
    }, 10_000);
    await Promise.all([mine.close(), hers.close()]);
    await settles(async () => expect(await world.contentOf(id)).toMatch(/mine.*hers|hers.*mine/));
    await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
  }, 60_000);

  test('say who has typed what; of a release that does not say it nobody knows', async () => {
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const options = { url: redis!.url, clock: systemClock, log };
    await using one = await openReplicas(options);
    await using two = await openReplicas(options);
    await using older = await byteChannels({ ...options, onBack() {}, onHandlerError() {} });
    const key = { orgId: newId(), room: 'post:1' };
    const member = { userId: newId(), schedulesFreely: false, agent: 'Writer' };
    const roomOf = (unsavedBy: Typist | undefined) => {
      const heard: [number, Typist | undefined][] = [];
      const document = { vector: Buffer.from('vector'), unsavedBy, missing: () => Buffer.of(1), lacks: () => false };
      const receiveUpdate = ([first]: Uint8Array, by: Typist | undefined) => void heard.push([first!, by]);
      return { heard, live: { document, receiveUpdate, ownAwareness: () => [] } as unknown as LiveRoom };
    };
    const [first, second] = [roomOf(member), roomOf(undefined)];
    await one.enter(key, first.live);
    await two.enter(key, second.live);
    await settles(() => expect(second.heard).toContainEqual([1, member])); // compared
    one.peersOf(key).update(Buffer.of(2), member);
    one.peersOf(key).update(Buffer.of(3), undefined);
    one.peersOf(key).update(Buffer.of(4), 'unknown');
    older.publish(`collaboration:${key.orgId}:${key.room}`, Buffer.concat([randomBytes(8), Buffer.of(1, 5)]));
    const all: unknown = [2, 3, 4, 5].map((n) => [n, { 2: member, 4: 'unknown', 5: 'unknown' }[n]]);
    const told = () => second.heard.filter(([n]) => n > 1).toSorted(([a], [b]) => a - b);
    await settles(() => expect(told()).toEqual(all));
    await Promise.all([one.leave(key), two.leave(key)]);
  });

  test('tell each other what they have written, so that the process of those who read does not write it again', async () => {
    const [one, two] = await Promise.all([replica(redis!.url), replica(redis!.url)]);
    const id = await world.draft();
    const room = `post:${id}`;
    const [mine, hers] = [await world.joined(room, {}, one.address), await world.joined(room, {}, two.address)];
    const { documents } = two.context;
    const { update } = documents;
    let writes = 0;
    documents.update = (...given) => {
      writes += 1;
      return update(...given);
    };
    mine.write('mine');
    await world.holds(id, '<p>Hello</p><p>mine</p>');
    await settles(() => expect(savedVersions(hers)).toEqual(savedVersions(mine)));
    expect(writes).toBe(0);
    await Promise.all([mine.close(), hers.close()]);
    await Promise.all([one[Symbol.asyncDispose](), two[Symbol.asyncDispose]()]);
  });
});

/** What the server says of a document to a client. */
const savedVersions = ({ awareness }: { awareness: { getStates(): Map<number, Record<string, unknown>> } }) =>
  [...awareness.getStates().values()].flatMap(
    ({ server }) => (server as { savedAt: string } | undefined)?.savedAt ?? [],
  );

test('a stored document names who has typed what is not saved; one that an older release has written, nobody', async () => {
  const { documents } = world.app.context;
  const key = { orgId: world.ann.orgId, room: `post:${await world.draft()}` };
  const contents = { content: '<p>Hello</p>', settings: {}, media: [] };
  const { state, unsavedBy, agreed } = await documents.open(key, async () => contents);
  expect(unsavedBy).toBeNull();
  const member = { userId: world.ann.userId, schedulesFreely: false };
  const found = async () => (await documents.find(key))?.unsavedBy;
  expect(await documents.update(key, 1, { state, typed: [], programs: [], unsavedBy: member })).toBe(2);
  expect(await found()).toEqual(member);
  await documents.writeAgreed(key, agreed, { version: 1, unsavedBy: undefined }); // of what was written before
  expect(await found()).toEqual(member);
  await documents.writeAgreed(key, agreed, { version: 2, unsavedBy: undefined });
  expect(await found()).toBeNull();
  await world.db.sql`update collaboration_documents set version = version + 1 where room = ${key.room}`;
  expect(await found()).toBe('unknown');
  expect(await documents.update(key, 3, { state, typed: [], programs: [], unsavedBy: undefined })).toBe(4);
  expect(await found()).toBeNull();
});
