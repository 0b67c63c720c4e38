import { afterAll, expect, test } from '@jest/globals';
import { counted, varint } from '../../support/wire/co-editor.ts';
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
