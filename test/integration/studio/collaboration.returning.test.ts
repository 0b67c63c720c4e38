import { afterAll, expect, test } from '@jest/globals';
import { awarenessFrameOf, type CoEditor, counted, varint } from '../../support/wire/co-editor.ts';
import { settles } from '../../support/wire/settles.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';

// Clients that come back, by another connection or with other rights, and what they say of themselves.

const world = await openCoEditing();
const { ann, db } = world;
afterAll(world.close);

test('who may write after all is asked for what was refused, and nothing typed since lies behind it [S204, S207]', async () => {
  const id = await world.draftOf(ann.userId);
  const person = await world.member('viewer');
  const editor = await world.joined(`post:${id}`, { headers: { authorization: person.key } });
  const watcher = await world.joined(`post:${id}`);
  editor.write('early');
  await settles(() => expect(editor.denied).toEqual(['permission denied']));
  await db.sql`update memberships set role_key = 'editor' where org_id = ${ann.orgId} and user_id = ${person.userId}`;
  await settles(() => expect(watcher.xml).toContain('early'));
  editor.write('late');
  await settles(() => expect(watcher.xml).toContain('late'));
  await Promise.all([editor.close(), watcher.close()]);
  await world.holds(id, '<p>Hello</p><p>early</p><p>late</p>');
});

/** Says what clients of y-websocket say, of themselves and, as they repeat what they hear, of others. */
const say = (by: CoEditor, of: CoEditor, clock: number, state: object | null) =>
  by.send(
    awarenessFrameOf(
      Buffer.concat([varint(1), varint(of.doc.clientID), varint(clock), counted(Buffer.from(JSON.stringify(state)))]),
    ),
  );

test('who repeats late what another said who is gone does not speak for them when they come back', async () => {
  const id = await world.draft();
  const other = await world.member('editor');
  const former = await world.joined(`post:${id}`);
  const slow = await world.joined(`post:${id}`, { headers: { authorization: other.key } });
  const watcher = await world.joined(`post:${id}`);
  const seen = () => watcher.awareness.getStates().get(former.doc.clientID);
  say(former, former, 5, { cursor: 1 });
  await settles(() => expect(seen()).toEqual({ cursor: 1 }));
  await former.close();
  await settles(() => expect(seen()).toBeUndefined());
  say(slow, former, 5, { cursor: 1 });
  say(slow, slow, 1, { after: true });
  await settles(() => expect(watcher.awareness.getStates().get(slow.doc.clientID)).toEqual({ after: true }));
  const next = await world.joined(`post:${id}`, { doc: former.doc });
  say(next, former, 6, { cursor: 2 });
  await settles(() => expect(seen()).toEqual({ cursor: 2 }));
  await Promise.all([next, slow, watcher].map((editor) => editor.close()));
});

test('who comes back with what they said last is told that it is over, and so says it anew', async () => {
  const id = await world.draft();
  const [former, watcher] = [await world.joined(`post:${id}`), await world.joined(`post:${id}`)];
  const seen = () => watcher.awareness.getStates().get(former.doc.clientID);
  say(former, former, 5, { cursor: 1 });
  await settles(() => expect(seen()).toEqual({ cursor: 1 }));
  await former.close();
  await settles(() => expect(seen()).toBeUndefined());
  const next = await world.joined(`post:${id}`, { doc: former.doc });
  say(next, former, 5, { cursor: 1 });
  const over = Buffer.concat([varint(1), varint(former.doc.clientID), varint(5), counted(Buffer.from('null'))]);
  await settles(() =>
    expect(next.frames.filter(({ type }) => type === 1).map(({ payload }) => Buffer.from(payload))).toContainEqual(
      over,
    ),
  );
  say(next, former, 6, { cursor: 1 }); // as Awareness does when it hears that it is gone
  await settles(() => expect(seen()).toEqual({ cursor: 1 }));
  await Promise.all([next.close(), watcher.close()]);
});

test('nobody speaks for an awareness id that somebody else introduced', async () => {
  const id = await world.draft();
  const other = await world.member('editor');
  const [one, two] = [
    await world.joined(`post:${id}`),
    await world.joined(`post:${id}`, { headers: { authorization: other.key } }),
  ];
  one.awareness.setLocalState({ user: { name: 'Ann' } });
  await settles(() => expect(two.awareness.getStates().get(one.doc.clientID)).toEqual({ user: { name: 'Ann' } }));
  const state = Buffer.from(JSON.stringify({ user: { name: 'Eve' } }));
  const forged = Buffer.concat([varint(1), varint(one.doc.clientID), varint(1_000), counted(state)]);
  two.send(Buffer.concat([varint(1), counted(forged)]));
  two.awareness.setLocalState({ after: true });
  await settles(() => expect(one.awareness.getStates().get(two.doc.clientID)).toEqual({ after: true }));
  expect(one.awareness.getStates().get(one.doc.clientID)).toEqual({ user: { name: 'Ann' } });
  expect(two.awareness.getStates().get(one.doc.clientID)).toEqual({ user: { name: 'Ann' } });
  await Promise.all([one.close(), two.close()]);
});

test('a client that comes back is seen at once, while its former connection is not known to be gone', async () => {
  const id = await world.draft();
  const [former, watcher] = [await world.joined(`post:${id}`), await world.joined(`post:${id}`)];
  const seen = () => watcher.awareness.getStates().get(former.doc.clientID);
  former.awareness.setLocalState({ cursor: 1 });
  await settles(() => expect(seen()).toEqual({ cursor: 1 }));
  const next = await world.joined(`post:${id}`, { doc: former.doc });
  for (const cursor of [2, 3, 4]) next.awareness.setLocalState({ cursor }); // a clock behind that of the former
  await settles(() => expect(seen()).toEqual({ cursor: 4 }));
  await former.close();
  next.awareness.setLocalState({ cursor: 5 });
  await settles(() => expect(seen()).toEqual({ cursor: 5 }));
  await next.close();
  await settles(() => expect(seen()).toBeUndefined());
  await watcher.close();
});
