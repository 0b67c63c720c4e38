import { afterAll, describe, expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { sizeOf } from '../../support/processes/chaos.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';
import { element, later } from '../../support/worlds/publishing/post-routes.ts';
import { testApp } from '../../support/worlds/app.ts';
import { syncFrame, varint } from '../../support/wire/co-editor.ts';
import { gate } from '../../support/wire/eventually.ts';
import { settles } from '../../support/wire/settles.ts';

const world = await openCoEditing();
const { app, ann, channel, second, db, network } = world;
afterAll(world.close);
const versionsOf = async (room: string) => (await ann.client.get(`/collaboration/${room}/versions`)).body;
const edit = (id: string, body: object) => ann.client.send('PATCH', `/posts/${id}`, body);

describe('what is typed', () => {
  test('is in the post two seconds after the last change, by its checks and with its version [S208, CL1]', async () => {
    const id = await world.draft();
    const editor = await world.joined(`post:${id}`);
    editor.typeInto(0, 5, ' world');
    editor.write('second');
    await world.holds(id, '<p>Hello world</p><p>second</p>');
    await settles(() => expect(editor.server).toMatchObject({ savedVersion: expect.any(String), problem: null }));
    expect(await world.read(id)).toMatchObject({ version: 2 });
    await editor.close();
  });

  test('is saved at once when the last client leaves [S208]', async () => {
    const id = await world.draft();
    const [one, two] = [await world.joined(`post:${id}`), await world.joined(`post:${id}`)];
    one.write('typed');
    await settles(() => expect(two.xml).toContain('typed'));
    await one.close();
    const left = performance.now();
    await two.close();
    await world.holds(id, '<p>Hello</p><p>typed</p>');
    expect(performance.now() - left).toBeLessThan(1_900);
  });

  test('is saved with settings and media; what the post refuses stays in the document and is told [S208]', async () => {
    const id = await world.draft();
    const editor = await world.joined(`post:${id}`);
    editor.doc.getMap('settings').set('topic', { a: [1] });
    editor.doc.getArray('media').push([{ path: 'https://a.example/a.png', alt: 'A' }]);
    await settles(async () =>
      expect((await db.sql`select settings, media from posts where id = ${id}`)[0]).toMatchObject({
        settings: { topic: { a: [1] } },
        media: [{ path: 'https://a.example/a.png', alt: 'A' }],
      }),
    );
    editor.doc.getArray('media').push([{ path: 1 }]);
    editor.write('typed');
    await settles(() => expect(editor.server?.['problem']).toMatchObject({ code: 'validation_failed' }));
    expect(await world.contentOf(id)).toBe('<p>Hello</p>');
    editor.doc.getArray('media').delete(1, 1);
    await world.holds(id, '<p>Hello</p><p>typed</p>');
    await settles(() => expect(editor.server?.['problem']).toBeNull());
    await editor.close();
  });

  test('is kept with its ids: a document that was closed goes on, and nothing is doubled', async () => {
    const id = await world.draft();
    const first = await world.joined(`post:${id}`);
    first.write('typed');
    await settles(async () => expect(await world.stored(`post:${id}`)).toBeDefined());
    first.socket.terminate();
    await world.holds(id, '<p>Hello</p><p>typed</p>');
    const again = await world.joined(`post:${id}`, { doc: first.doc });
    await settles(() => expect(again.xml).toBe('<paragraph>Hello</paragraph><paragraph>typed</paragraph>'));
    const fresh = await world.joined(`post:${id}`);
    expect(fresh.xml).toBe('<paragraph>Hello</paragraph><paragraph>typed</paragraph>');
    await Promise.all([again.close(), fresh.close()]);
    expect(await world.contentOf(id)).toBe('<p>Hello</p><p>typed</p>');
  });

  test('into a post that nobody has opened yet is one document, though many processes open it at once', async () => {
    const id = await world.draft();
    const other = await testApp({ sql: db.sql, ...world.world.beside });
    const editors = await Promise.all(
      Array.from({ length: 8 }, (_, n) => world.joined(`post:${id}`, {}, n % 2 === 0 ? app.address : other.address)),
    );
    editors[0]!.write('a');
    editors[1]!.write('b');
    // without Redis they meet in the database
    await settles(() => {
      for (const { xml } of editors)
        expect([...xml.matchAll(/Hello|>a<|>b</g)].map(([text]) => text).toSorted()).toEqual(['>a<', '>b<', 'Hello']);
    });
    await settles(async () => {
      expect(
        (await other.client().get('/health')).body.collaboration ??
          (await app.client().get('/health')).body.collaboration,
      ).toEqual({
        isShared: true,
      });
    });
    await Promise.all(editors.map((editor) => editor.close()));
    await settles(async () => expect((await world.contentOf(id)).length).toBe('<p>Hello</p><p>a</p><p>b</p>'.length));
    await other[Symbol.asyncDispose]();
  });
});

describe('an edit from elsewhere', () => {
  test('enters an open document, and typing into another block goes on', async () => {
    const id = await world.draft('<p>one</p><p>two</p>');
    const editor = await world.joined(`post:${id}`);
    expect((await edit(id, { content: '<p>one</p><p>two changed</p><h1>new</h1>' })).status).toBe(200);
    editor.typeInto(0, 3, ' typed');
    const both = '<p>one typed</p><p>two changed</p><h1>new</h1>';
    await settles(() =>
      expect(editor.xml).toBe(
        '<paragraph>one typed</paragraph><paragraph>two changed</paragraph><heading level="1">new</heading>',
      ),
    );
    await world.holds(id, both);
    await editor.close();
  });

  test('that meets typing leaves what was typed, and is a version', async () => {
    const id = await world.draft('<p>one</p>');
    const editor = await world.joined(`post:${id}`);
    editor.typeInto(0, 3, ' typed');
    expect((await edit(id, { content: '<p>ONE</p>' })).status).toBe(200);
    await world.holds(id, '<p>one typed</p>');
    const versions = await versionsOf(`post:${id}`);
    const kept = await Promise.all(
      versions.map(
        async (one: { id: string }) => (await ann.client.get(`/collaboration/post:${id}/versions/${one.id}`)).body,
      ),
    );
    expect(
      kept
        .filter(({ reason }) => reason === 'foreign_edit')
        .map(({ content }) => content)
        .toSorted(),
    ).toEqual(['<p>ONE</p>', '<p>one typed</p>']);
    await editor.close();
  });

  test('of a closed document enters when it is opened', async () => {
    const id = await world.draft('<p>one</p>');
    await (await world.joined(`post:${id}`)).close();
    expect((await edit(id, { content: '<p>two</p>', settings: { a: 1 } })).status).toBe(200);
    const editor = await world.joined(`post:${id}`);
    expect([editor.xml, editor.doc.getMap('settings').get('a')]).toEqual(['<paragraph>two</paragraph>', 1]);
    await editor.close();
  });
});

describe('a queued post', () => {
  test('takes what its network would accept; too long stays in the document and is told', async () => {
    const id = await world.made(world.schedule());
    const editor = await world.joined(`post:${id}`);
    editor.write('fits');
    await world.holds(id, '<p>Hi</p><p>fits</p>');
    editor.write('x'.repeat(101));
    await settles(() => expect(editor.server?.['problem']).toMatchObject({ code: 'invalid_content' }));
    expect(await world.contentOf(id)).toBe('<p>Hi</p><p>fits</p>');
    await editor.close();
    expect(await world.contentOf(id)).toBe('<p>Hi</p><p>fits</p>');
  });

  test('that goes out closes its document to writes; what was typed too late is a version [S207, S208]', async () => {
    const id = await world.made(world.schedule());
    const [held, sending] = [gate(), gate()];
    network.behave = async (_, __, accept) => {
      sending.open();
      await held.passed;
      return accept();
    };
    const editor = await world.joined(`post:${id}`);
    editor.write('in time');
    await world.holds(id, '<p>Hi</p><p>in time</p>');
    expect((await ann.client.put(`/posts/${id}/date`, { date: later(0) })).status).toBe(200);
    await sending.passed;
    editor.write('too late');
    await settles(() => expect(editor.server?.['readOnly']).toBe('published'));
    await settles(() => expect(editor.xml).toBe('<paragraph>Hi</paragraph><paragraph>in time</paragraph>'));
    editor.write('refused');
    await settles(() => expect(editor.denied).toEqual(['permission denied']));
    held.open();
    network.behave = undefined;
    await world.published(id);
    expect(await world.contentOf(id)).toBe('<p>Hi</p><p>in time</p>');
    const [late] = (await versionsOf(`post:${id}`)).filter(({ reason }: { reason: string }) => reason === 'too_late');
    expect(late.authors).toEqual([ann.userId]);
    expect((await ann.client.get(`/collaboration/post:${id}/versions/${late.id}`)).body.content).toContain('too late');
    await editor.close();
    const reader = await world.joined(`post:${id}`);
    expect(reader.xml).toBe('<paragraph>Hi</paragraph><paragraph>in time</paragraph>');
    reader.write('refused');
    await settles(() => expect(reader.denied).toEqual(['permission denied']));
    await reader.close();
  });

  test('whose attempt failed is open again, and what was refused meanwhile comes in', async () => {
    const id = await world.draft();
    const editor = await world.joined(`post:${id}`);
    await db.sql`update posts set state = 'QUEUE', detail = 'unconfirmed' where id = ${id}`;
    await settles(() => expect(editor.server?.['readOnly']).toBe('published'));
    editor.write('meanwhile');
    await settles(() => expect(editor.denied).toEqual(['permission denied']));
    await db.sql`update posts set state = 'DRAFT', detail = null where id = ${id}`;
    await world.holds(id, '<p>Hello</p><p>meanwhile</p>');
    await editor.close();
  });

  test('that is deleted closes its document to writes [S208]', async () => {
    const id = await world.draft();
    const editor = await world.joined(`post:${id}`);
    expect((await ann.client.delete(`/posts/${id}`)).status).toBe(200);
    await settles(() => expect(editor.server?.['readOnly']).toBe('deleted'));
    editor.write('refused');
    await settles(() => expect(editor.denied).toEqual(['permission denied']));
    await editor.close();
    expect((await world.join(`post:${id}`).closed).code).toBe(4404);
  });
});

describe('posts that are typed in while they go out', () => {
  const AT_ONCE = 10;
  const COUNT = Math.ceil(sizeOf({ full: 1_000, short: 20 }) / AT_ONCE) * AT_ONCE;
  const words = Array.from({ length: 8 }, (_, n) => `w${n};`);
  const wordsIn = (text: string): string[] => text.match(/w\d;/g) ?? [];

  /** Types words, and makes the post due behind another word each time; answers what became of all of them. */
  async function typeWhileDue(n: number) {
    const id = await world.made(world.schedule({ posts: [element(n % 2 === 0 ? channel : second)] }));
    const editor = await world.joined(`post:${id}`);
    for (const [typed, word] of words.entries()) {
      editor.write(word);
      // of every second post a word is saved before it is due
      if (typed === 1 && n % 4 < 2) await settles(async () => expect(await world.contentOf(id)).toContain(word));
      else await world.read(id);
      if (typed === 2 + (n % 5))
        expect((await ann.client.put(`/posts/${id}/date`, { date: later(0) })).status).toBe(200);
    }
    await world.published(id);
    await settles(() => expect(editor.server?.['readOnly']).toBe('published'));
    await editor.close();
    const content = await world.contentOf(id);
    const reader = await world.joined(`post:${id}`);
    await settles(() => expect(reader.xml.replace(/paragraph>/g, 'p>')).toBe(content));
    await reader.close();
    const kept = await Promise.all(
      (await versionsOf(`post:${id}`)).map(
        async (one: { id: string }) =>
          (await ann.client.get(`/collaboration/post:${id}/versions/${one.id}`)).body.content as string,
      ),
    );
    const isRefused = (word: string) => editor.denied.length > 0 && editor.xml.includes(word);
    return {
      sent: network.taken.filter(({ postId }) => postId === id).map(({ text }) => wordsIn(text)),
      post: wordsIn(content),
      inTime: n % 4 < 2 ? words.slice(0, 2) : [],
      gone: words.filter(
        (word) => !content.includes(word) && !kept.some((text) => text.includes(word)) && !isRefused(word),
      ),
    };
  }

  test(`${COUNT} of them (1,000 with CHAOS_DEPTH=full): each goes out whole and once, post and document agree, and no word is gone [S207, S208]`, async () => {
    for (let done = 0; done < COUNT; done += AT_ONCE) {
      const ends = await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => typeWhileDue(done + n)));
      for (const { sent, post, inTime, gone } of ends) {
        expect(sent).toEqual([post]);
        expect(post).toEqual(words.slice(0, post.length)); // what was saved last, whole
        expect(post).toEqual(expect.arrayContaining(inTime));
        expect(gone).toEqual([]);
      }
    }
  }, 1_200_000);
});

describe('what somebody types who may not schedule unasked', () => {
  test('holds a queued post for approval', async () => {
    const id = await world.made(world.schedule());
    const member = await world.member('member');
    await db.sql`update posts set created_by = ${member.userId} where id = ${id}`;
    expect((await ann.client.put('/settings', { approvalRequired: 'members' })).status).toBe(200);
    const [mine, hers] = [
      await world.joined(`post:${id}`),
      await world.joined(`post:${id}`, { headers: { authorization: member.key } }),
    ];
    hers.write('hers');
    mine.write('mine');
    await settles(async () =>
      expect(await world.read(id)).toMatchObject({ state: 'DRAFT', detail: 'awaiting_approval' }),
    );
    await Promise.all([mine.close(), hers.close()]);
    await ann.client.put('/settings', { approvalRequired: false });
  });
});

describe('the end of a process', () => {
  test('saves what was typed and closes with 1012; clients bring the rest to the next one [S206]', async () => {
    const id = await world.draft();
    const ending = await testApp({ sql: db.sql, ...world.world.beside });
    const editors = await Promise.all([1, 2, 3].map(() => world.joined(`post:${id}`, {}, ending.address)));
    editors[0]!.write('typed');
    await settles(() => expect(editors[1]!.xml).toContain('typed'));
    await ending.close();
    for (const { closed } of editors) expect((await closed).code).toBe(1012);
    expect(await world.contentOf(id)).toBe('<p>Hello</p><p>typed</p>');
    editors[1]!.write('meanwhile');
    const again = await world.joined(`post:${id}`, { doc: editors[1]!.doc });
    await world.holds(id, '<p>Hello</p><p>typed</p><p>meanwhile</p>');
    await again.close();
    await ending[Symbol.asyncDispose]();
  });

  test('takes nobody any more while it drains', async () => {
    app.context.health.draining = true;
    expect((await world.join(`post:${await world.draft()}`).refused).status).toBe(503);
    app.context.health.draining = false;
  });
});

describe('a document that cannot be built', () => {
  test('is read-only and an error that is told; the post and other documents go on', async () => {
    const [id, other] = [await world.draft(), await world.draft()];
    const editor = await world.joined(`post:${id}`);
    // elements inside one another, deeper than a program can go, and their deletion
    const doc = new Y.Doc();
    let parent: Y.XmlFragment = doc.getXmlFragment('content');
    doc.transact(() => {
      for (let n = 0; n < 30_000; n += 1) {
        const child = new Y.XmlElement('paragraph');
        parent.insert(0, [child]);
        parent = child;
      }
    });
    editor.socket.removeAllListeners('message'); // it would not survive its own echo
    editor.send(syncFrame(2, Y.encodeStateAsUpdate(doc)));
    const deletion = [varint(0), varint(1), varint(doc.clientID), varint(1), varint(0), varint(1)];
    editor.send(syncFrame(2, Buffer.concat(deletion)));
    await settles(() =>
      expect(app.log.lines.map(({ message }) => message)).toContain('a document cannot be built and is read-only'),
    );
    const neighbour = await world.joined(`post:${other}`);
    neighbour.write('goes on');
    await world.holds(other, '<p>Hello</p><p>goes on</p>');
    expect((await edit(id, { content: '<p>by the API</p>' })).status).toBe(200);
    await Promise.all([editor.close(), neighbour.close()]);
  });

  test.each([
    ['no bytes of Yjs', Buffer.from('no update, and long enough to be read as one')],
    ['cut', Buffer.from(Y.encodeStateAsUpdate(new Y.Doc())).subarray(0, 1)],
    ['empty', Buffer.alloc(0)],
  ])('nor read, as what is stored is %s, is empty and read-only; the process and the post go on', async (_, state) => {
    const id = await world.draft();
    const room = `post:${id}`;
    await (await world.joined(room)).close();
    await db.sql`update collaboration_documents set state = ${state}, version = version + 1 where room = ${room}`;
    const other = await testApp({ sql: db.sql, ...world.world.beside });
    try {
      const editor = await world.joined(room, {}, other.address);
      await settles(() => expect(editor.server).toMatchObject({ readOnly: 'unreadable' }));
      expect(editor.xml).toBe('');
      editor.write('too late');
      await settles(() => expect(editor.denied).toEqual(['permission denied']));
      expect(other.log.lines.map(({ message }) => message)).toContain('a document cannot be built and is read-only');
      await editor.close();
      expect((await edit(id, { content: '<p>by the API</p>' })).status).toBe(200);
      expect(await world.contentOf(id)).toBe('<p>by the API</p>');
      expect(Buffer.from((await world.stored(room))!.state)).toEqual(state);
    } finally {
      await other[Symbol.asyncDispose]();
    }
  });
});
