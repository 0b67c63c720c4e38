import { afterAll, describe, expect, test } from '@jest/globals';
import { newId } from '../../../src/platform/kernel/index.ts';
import { testApp } from '../../support/worlds/app.ts';
import { clockWhere } from '../../support/worlds/publishing/world.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';
import type { CoEditor } from '../../support/wire/co-editor.ts';
import { called } from '../../support/worlds/mcp.ts';
import { makeApp, tokensFor } from '../../support/worlds/oauth.ts';
import { element, later } from '../../support/worlds/publishing/post-routes.ts';
import { settles } from '../../support/wire/settles.ts';
import { waitingOnLock } from '../../support/wire/database/waiting-on-lock.ts';

const world = await openCoEditing();
const { ann, eve, db, channel, second, key } = world;
afterAll(world.close);
const path = (room: string, rest = '') => `/collaboration/${room}/versions${rest}`;

describe('versions of a document', () => {
  test('are kept on request and when the last client leaves, and say who took part', async () => {
    const room = `post:${await world.draft()}`;
    const person = await world.member('editor');
    const [mine, hers] = [
      await world.joined(room),
      await world.joined(room, { headers: { authorization: person.key } }),
    ];
    mine.write('mine');
    hers.write('hers');
    await settles(() => expect(mine.xml).toContain('hers'));
    await settles(async () => expect(await world.contentOf(room.slice(5))).toMatch(/mine.*hers|hers.*mine/));
    expect((await ann.client.post(path(room), { label: 'First' })).body).toMatchObject({
      content: await world.contentOf(room.slice(5)),
    });
    const [kept] = (await ann.client.get(path(room))).body;
    expect(kept).toMatchObject({ label: 'First', reason: 'manual' });
    expect(kept.authors.toSorted()).toEqual([ann.userId, person.userId].toSorted());
    mine.write('more');
    await Promise.all([mine.close(), hers.close()]);
    await settles(async () =>
      expect((await ann.client.get(path(room))).body[0]).toMatchObject({ reason: 'session', authors: [ann.userId] }),
    );
    const [latest] = (await key.get(path(room))).body;
    expect((await key.get(path(room, `/${latest.id}`))).body.content).toContain('more');
  });

  test("name the programs that typed in somebody's name, each once, and none for who is logged in", async () => {
    const room = `post:${await world.draft()}`;
    const { access } = await tokensFor(world.app, ann, await makeApp(ann));
    const { token } = (
      await ann.client.post('/collaboration/ticket', { room }, { authorization: access, auth: undefined })
    ).body;
    const joined = {
      person: await world.joined(room, { headers: { auth: ann.client.cookies.get('auth')! } }),
      key: await world.joined(room),
      app: await world.joined(room, { headers: {}, path: `/collaboration/${room}?token=${token}` }),
    };
    const keep = async () => (await ann.client.post(path(room), {})).body;
    const typed = async (...by: (keyof typeof joined)[]) => {
      const texts = by.map((one) => `${one} ${newId()}`);
      by.forEach((one, n) => joined[one].write(texts[n]!));
      await settles(async () => {
        const content = await world.contentOf(room.slice(5));
        for (const text of texts) expect(content).toContain(text);
      });
      const { authors, programs } = await keep();
      expect(authors).toEqual([ann.userId]);
      return programs as { kind: string; id: string; name: string }[];
    };
    const [ofKey, ofApp] = [
      { kind: 'api-key', id: (await ann.client.get('/user/api-keys')).body[0].id, name: 'test' },
      { kind: 'oauth', id: (await ann.client.get('/user/approved-apps')).body[0].id, name: 'Scheduler' },
    ];
    expect(await typed('person')).toEqual([]);
    expect(await typed('key')).toEqual([ofKey]);
    expect((await typed('app', 'key', 'app')).toSorted((a, b) => a.kind.localeCompare(b.kind))).toEqual([ofKey, ofApp]);
    expect(await typed('person')).toEqual([]);
    const first = (await ann.client.get(path(room))).body.at(-1);
    expect((await key.post(path(room, `/${first.id}/restore`), {})).status).toBe(200);
    expect((await keep()).programs).toEqual([ofKey]);
    await Promise.all(Object.values(joined).map((editor) => editor.close()));
  });

  test('are kept when nobody has typed for a minute', async () => {
    const quick = await testApp({
      sql: db.sql,
      clock: clockWhere((ms) => (ms === 60_000 ? 300 : ms)),
      ...world.world.beside,
    });
    const room = `post:${await world.draft()}`;
    const editor = await world.joined(room, {}, quick.address);
    editor.write('typed');
    await settles(async () => expect((await ann.client.get(path(room))).body).toMatchObject([{ reason: 'session' }]));
    await editor.close();
    await quick[Symbol.asyncDispose]();
    expect((await ann.client.get(path(room))).body).toHaveLength(1); // nothing was typed since
  });

  test('a restore is one more change: who has the document open types on, and the post says it', async () => {
    const id = await world.draft();
    const room = `post:${id}`;
    const first = (await ann.client.post(path(room), {})).body;
    const editor = await world.joined(room);
    editor.write('typed');
    await world.holds(id, '<p>Hello</p><p>typed</p>');
    expect((await ann.client.post(path(room, `/${first.id}/restore`), {})).body).toMatchObject({ id: first.id });
    await settles(() => expect(editor.xml).toBe('<paragraph>Hello</paragraph>'));
    expect(await world.contentOf(id)).toBe('<p>Hello</p>');
    editor.write('on');
    await world.holds(id, '<p>Hello</p><p>on</p>');
    const before = (await ann.client.get(path(room))).body.find(
      ({ reason }: { reason: string }) => reason === 'restore',
    );
    expect((await ann.client.get(path(room, `/${before.id}`))).body.content).toBe('<p>Hello</p><p>typed</p>');
    await editor.close();
  });

  test('are read by who may read the room and restored by who may write it', async () => {
    const room = `post:${await world.draft()}`;
    const { id } = (await ann.client.post(path(room), {})).body;
    const viewer = await world.member('viewer');
    const member = await world.member('member');
    expect((await viewer.client.get(path(room))).status).toBe(200);
    for (const { client } of [viewer, member]) {
      expect((await client.post(path(room), {})).status).toBe(403);
      expect((await client.post(path(room, `/${id}/restore`), {})).status).toBe(403);
    }
    for (const answer of [
      await eve.client.get(path(room)),
      await eve.client.get(path(room, `/${id}`)),
      await eve.client.post(path(room, `/${id}/restore`), {}),
      await ann.client.get(path(room, `/${newId()}`)),
      await ann.client.get(path(`post:${newId()}`)),
      await ann.client.get(path(`campaign:${newId()}`)),
      await ann.client.get(path(`page:${newId()}`)),
    ])
      expect([answer.status, answer.body.code]).toEqual([404, 'not_found']);
  });

  test('a restore that cannot be saved is refused with what the save was refused with', async () => {
    const id = await world.draft();
    const room = `post:${id}`;
    const { id: kept } = (await ann.client.post(path(room), {})).body;
    const gone = { id: newId(), path: `${world.app.context.media.ownAddresses[0]}gone.png`, alt: '' };
    await db.sql`
      update collaboration_versions
      set contents = jsonb_set(contents, '{media}', ${db.sql.json([gone])})
      where id = ${kept}`;
    const refused = await ann.client.post(path(room, `/${kept}/restore`), {});
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect(refused.body.message).toContain('cannot be saved');
    expect(await world.contentOf(id)).toBe('<p>Hello</p>');
  });

  test('two processes that keep the same contents at once keep one version', async () => {
    const room = `post:${await world.draft()}`;
    await ann.client.post(path(room), {});
    const { documents } = world.app.context;
    const document = { orgId: ann.orgId, room };
    const contents = { content: '<p>Other</p>', settings: {}, media: [] };
    const keep = () => documents.keepVersion(document, { reason: 'session', label: null, contents });
    const both = await db.sql.begin(async (tx) => {
      await tx`select from collaboration_documents where room = ${room} for update`;
      const kept = Promise.all([keep(), keep()]);
      await settles(async () => expect(await waitingOnLock(db.sql, 'collaboration_documents')).toBe(2));
      return { kept };
    });
    expect((await both.kept).filter((one) => one !== undefined)).toHaveLength(1);
  });

  test('a hundred are kept of a document, for 90 days; they go with the post', async () => {
    const id = await world.draft();
    const room = `post:${id}`;
    for (let n = 0; n < 3; n += 1) await ann.client.post(path(room), { label: String(n) });
    await db.sql`
      insert into collaboration_versions (id, org_id, room, label, reason, contents)
      select gen_random_uuid(), ${ann.orgId}, ${room}, 'old', 'session', '{"content":"","settings":{},"media":[]}'
      from generate_series(1, 120)`;
    await ann.client.post(path(room), { label: 'last' });
    expect((await ann.client.get(path(room))).body).toHaveLength(100);
    await db.sql`update collaboration_versions set created_at = now() - interval '91 days' where room = ${room} and label = 'last'`;
    await db.sql`update collaboration_documents set checked_at = now() - interval '2 days' where room = ${room}`;
    const { documents } = world.app.context;
    await documents.sweep(1_000);
    expect((await ann.client.get(path(room))).body).toHaveLength(99);
    expect(await world.stored(room)).toBeDefined();
    await db.sql`update collaboration_documents set checked_at = now() - interval '2 days' where room = ${room}`;
    await db.sql`delete from posts where id = ${id}`;
    await documents.sweep(1_000);
    expect(await world.stored(room)).toBeUndefined();
    expect(await db.sql`select from collaboration_versions where room = ${room}`).toHaveLength(0);
  });
});

describe('an edit of an agent', () => {
  const agentsOf = ({ awareness }: CoEditor) =>
    [...awareness.getStates().values()]
      .map((state) => state['user'] as { kind?: string } | undefined)
      .filter((user) => user?.kind === 'agent');
  const versionsOf = async (room: string, reason: string) =>
    ((await ann.client.get(path(room))).body as { id: string; reason: string; agents: string[] }[]).filter(
      (one) => one.reason === reason,
    );
  /** The name of the key that the agent works with. */
  const agent = { name: 'test', kind: 'agent' };

  test('is shown in the open room by name, is named in a version, and alone is taken back by its restore', async () => {
    const id = await world.draft('<p>one</p><p>two</p><p>three</p>');
    const room = `post:${id}`;
    const editor = await world.joined(room);
    editor.typeInto(2, 5, ' typed before');
    await world.holds(id, '<p>one</p><p>two</p><p>three typed before</p>');
    await called(key, 'update_post', { id, content: '<p>one</p><p>TWO</p><p>three typed before</p><p>four</p>' });
    await settles(() => {
      expect(editor.xml).toContain('TWO');
      expect(agentsOf(editor)).toEqual([agent]);
    });
    const late = await world.joined(room);
    await settles(() => expect(agentsOf(late)).toEqual([agent]));
    editor.typeInto(0, 3, ' typed after');
    await world.holds(id, '<p>one typed after</p><p>TWO</p><p>three typed before</p><p>four</p>');
    const [kept, ...others] = await versionsOf(room, 'agent_edit');
    expect([kept!.agents, others]).toEqual([['test'], []]);
    expect((await ann.client.get(path(room, `/${kept!.id}`))).body.content).toBe(
      '<p>one</p><p>two</p><p>three typed before</p>',
    );
    expect((await ann.client.get(`/posts/${id}/timeline`)).body.items).toContainEqual(
      expect.objectContaining({ kind: 'edited', data: expect.objectContaining({ agent: 'test' }) }),
    );
    expect((await ann.client.post(path(room, `/${kept!.id}/restore`), {})).status).toBe(200);
    const back = '<p>one typed after</p><p>two</p><p>three typed before</p>';
    await world.holds(id, back);
    await settles(() => expect(editor.xml.replace(/paragraph>/g, 'p>')).toBe(back));
    await Promise.all([editor.close(), late.close()]);
  });

  test('is of a co-author whom the next version names', async () => {
    const id = await world.draft('<p>one</p>');
    const room = `post:${id}`;
    const editor = await world.joined(room, { headers: { auth: ann.client.cookies.get('auth')! } });
    await called(key, 'update_post', { id, content: '<p>two</p>' });
    await settles(() => expect(editor.xml).toContain('two'));
    const { authors, programs } = (await ann.client.post(path(room), {})).body;
    expect([authors, programs]).toEqual([[], [{ kind: 'agent', id: null, name: 'test' }]]);
    editor.write('three');
    await settles(async () => expect(await world.contentOf(id)).toContain('three'));
    expect((await ann.client.post(path(room), {})).body).toMatchObject({ authors: [ann.userId], programs: [] });
    await editor.close();
  });

  test('is shown for 30 s by every process that has the room open; one of a person shows nobody', async () => {
    let isQuick = false; // not before the thread for documents has started, which has as long
    const quick = await testApp({
      sql: db.sql,
      clock: clockWhere((ms) => (ms === 30_000 && isQuick ? 500 : ms)),
      ...world.world.beside,
    });
    const id = await world.draft();
    const room = `post:${id}`;
    const [here, there] = [await world.joined(room), await world.joined(room, {}, quick.address)];
    const shown: unknown[] = [];
    there.awareness.on('change', () => shown.push(...agentsOf(there)));
    expect((await ann.client.send('PATCH', `/posts/${id}`, { content: '<p>by hand</p>' })).status).toBe(200);
    await settles(() => expect([here.xml, there.xml]).toEqual(Array(2).fill('<paragraph>by hand</paragraph>')));
    expect([...agentsOf(here), ...shown]).toEqual([]);
    isQuick = true;
    await called(key, 'update_post', { id, content: '<p>by the agent</p>' });
    await settles(() => {
      expect(agentsOf(here)).toEqual([agent]);
      expect(shown).toContainEqual(agent);
      expect(agentsOf(there)).toEqual([]);
    });
    expect(agentsOf(here)).toEqual([agent]);
    expect(await versionsOf(room, 'agent_edit')).toHaveLength(1);
    await Promise.all([here.close(), there.close()]);
    await quick[Symbol.asyncDispose]();
  });
});

describe('the room of a group', () => {
  test('holds what its posts have in common, and changes all of them', async () => {
    const group = newId();
    const answer = await key.post('/public/v1/posts', {
      type: 'draft',
      date: later(),
      posts: [element(channel, '<p>one</p>', { group }), element(second, '<p>two</p>', { group })],
    });
    const ids = answer.body.map(({ postId }: { postId: string }) => postId);
    const editor = await world.joined(`group:${group}`);
    const settings = editor.doc.getMap<unknown>('settings');
    expect(settings.toJSON()).toMatchObject({ title: null, tags: [], publishDate: expect.any(String) });
    const date = later(7_200_000);
    editor.doc.transact(() => {
      settings.set('title', 'Launch');
      settings.set('publishDate', date);
      settings.set('tags', [{ label: 'spring', color: '#112233' }]);
    });
    await settles(async () => {
      for (const id of ids)
        expect((await db.sql`select title, publish_date as date from posts where id = ${id}`)[0]).toEqual({
          title: 'Launch',
          date: new Date(date),
        });
    });
    expect((await world.read(ids[1])).tags).toMatchObject([{ tag: { name: 'spring' } }]);
    settings.set('colour', 'red');
    await settles(() => expect(editor.server?.['problem']).toMatchObject({ code: 'unknown_field' }));
    settings.delete('colour');
    expect((await ann.client.send('PATCH', `/posts/${ids[0]}`, { title: 'By the API' })).status).toBe(200);
    await settles(() => expect(settings.get('title')).toBe('By the API'));
    await editor.close();
    const { key: foreign } = await eve.withKey();
    expect((await world.join(`group:${group}`, { headers: { authorization: foreign } }).closed).code).toBe(4404);
  });
});
