import { afterAll, describe, expect, test } from '@jest/globals';
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
});
