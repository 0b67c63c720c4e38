import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';
import { testApp } from '../../support/worlds/app.ts';
import { settles } from '../../support/wire/settles.ts';

interface Looked {
  xml: string;
  settings: Record<string, unknown>;
  media: unknown[];
  /** The types of all frames that came, of those of sync with their step. */
  frames: string[];
  isSynced: boolean;
  states: Record<string, unknown>[];
  denied: string[];
  closed: (number | undefined)[];
}

await describePeer(
  'y-websocket',
  () => npmPeer('collaboration'),
  ({ start }) => {
    let peer: Peer;
    let world: Awaited<ReturnType<typeof openCoEditing>>;
    beforeAll(async () => {
      [peer, world] = await Promise.all([start(), openCoEditing()]);
    }, 120_000);
    afterAll(async () => {
      await peer.stop();
      await world.close();
    });
    const tell = async <T>(act: string, given: object): Promise<T> => {
      const answer = await fetch(peer.url, { method: 'POST', body: JSON.stringify({ act, ...given }) });
      if (answer.status !== 200) throw new Error(await answer.text());
      return ((await answer.json()) as { done: T }).done;
    };
    const look = (id: string) => tell<Looked>('look', { id });
    const open = async (
      id: string,
      room: string,
      client = world.ann.client,
      address = world.app.address,
      number?: number,
    ) => {
      const { token } = (await client.post('/collaboration/ticket', { room })).body;
      const url = `${address.replace('http', 'ws')}/collaboration`;
      await tell('open', { id, url, room, params: { token }, client: number });
      await settles(async () => expect((await look(id)).isSynced).toBe(true));
    };

    test('unmodified clients write one post together, and see each other [S203, S204, S205, CL1]', async () => {
      const post = await world.draft();
      await Promise.all([open('a', `post:${post}`), open('b', `post:${post}`)]);
      await tell('write', { id: 'a', text: 'from a' });
      await tell('insert', { id: 'b', node: 0, at: 5, text: ' from b' });
      await tell('say', { id: 'a', state: { user: { name: 'Ann' } } });
      const both = '<paragraph>Hello from b</paragraph><paragraph>from a</paragraph>';
      await settles(async () => {
        expect([(await look('a')).xml, (await look('b')).xml]).toEqual([both, both]);
        expect((await look('b')).states).toContainEqual({ user: { name: 'Ann' } });
      });
      await world.holds(post, '<p>Hello from b</p><p>from a</p>');
      await tell('disconnect', { id: 'b' });
      await tell('write', { id: 'a', text: 'meanwhile a' });
      await tell('write', { id: 'b', text: 'meanwhile b' });
      await tell('connect', { id: 'b' });
      await settles(async () => {
        const { xml } = await look('a');
        expect(xml).toContain('meanwhile b');
        expect((await look('b')).xml).toBe(xml);
      });
      await Promise.all([tell('destroy', { id: 'a' }), tell('destroy', { id: 'b' })]);
    });

    test('thirty who type and move at the same moments are no flood to each other [S206]', async () => {
      const room = `post:${await world.draft()}`;
      const { token } = (await world.ann.client.post('/collaboration/ticket', { room })).body;
      const other = (await (await world.member('editor')).client.post('/collaboration/ticket', { room })).body.token;
      const url = `${world.app.address.replace('http', 'ws')}/collaboration`;
      const ids = Array.from({ length: 30 }, (_, n) => `of many ${n}`);
      const all = (act: string, given: (n: number) => object) =>
        tell('all', { calls: ids.map((id, n) => ({ act, id, ...given(n) })) });
      await all('open', (n) => ({ url, room, params: { token: n < 15 ? token : other } }));
      // a client sends back each state that it hears: 29 for each of its own
      for (let moment = 0; moment < 40; moment += 1) {
        await all('say', (n) => ({ state: { user: { name: `${n} ${moment}` } } }));
        const wanted = ids.map((_, n) => `${n} ${moment}`).toSorted();
        await settles(async () => {
          const { names } = await tell<{ names: string[][] }>('gather', { ids });
          for (const seen of names) expect(seen.toSorted()).toEqual(wanted);
        });
      }
      expect(await tell('gather', { ids })).toMatchObject({ closed: [], areSynced: true });
      await all('destroy', () => ({}));
    }, 60_000);

    /**
     * One script of clients against a server: after each act both have the same document, and whoever is to hear of it
     * was sent the frame that says so. Answers the documents, what is known of others, and the frames that came.
     */
    async function play(begin: (id: string, client: number) => Promise<void>) {
      const documents: unknown[] = [];
      const seen = { a: 0, b: 0, c: 0 };
      const frames: Record<string, string[]> = {};
      const both = async (frame: string, ids: readonly ('a' | 'b' | 'c')[] = ['a', 'b']) => {
        await settles(async () => {
          const looked = await Promise.all(ids.map(look));
          for (const [n, one] of looked.entries()) expect(one.frames.slice(seen[ids[n]!])).toContain(frame);
          const held = looked.map(({ xml, settings, media }) => ({ xml, settings, media }));
          for (const one of held) expect(one).toEqual(held[0]);
          if (documents.length > 0 && frame !== 'type 1' && frame !== 'sync 1')
            expect(held[0]).not.toEqual(documents.at(-1));
          looked.forEach(({ frames: all }, n) => (seen[ids[n]!] = all.length));
          documents.push(held[0]);
        });
      };
      await begin('a', 11);
      await begin('b', 22);
      await both('type 1');
      await tell('write', { id: 'a', text: 'from a' });
      await both('sync 2');
      await tell('insert', { id: 'b', node: 0, at: 5, text: ' from b' });
      await both('sync 2');
      await tell('set', { id: 'a', key: 'topic', value: { list: [1, null] } });
      await both('sync 2');
      await tell('push', { id: 'b', value: { path: 'https://a.example/a.png', alt: '' } });
      await both('sync 2');
      await tell('disconnect', { id: 'b' });
      for (const id of ['a', 'b']) await tell('insert', { id, node: 1, at: 4, text: ` at once by ${id}` });
      await tell('remove', { id: 'b', node: 0 });
      await tell('connect', { id: 'b' });
      await both('sync 2');
      await tell('say', { id: 'a', state: { user: { name: 'Ann' } } });
      await both('type 1');
      await begin('c', 33);
      await both('sync 1', ['c']);
      await settles(async () => expect((await look('c')).states).toContainEqual({ user: { name: 'Ann' } }));
      await tell('destroy', { id: 'a' });
      await settles(async () => expect((await look('c')).states).not.toContainEqual({ user: { name: 'Ann' } }));
      for (const id of ['b', 'c'] as const) {
        frames[id] = [...new Set((await look(id)).frames)].toSorted();
        await tell('destroy', { id });
      }
      return { documents, frames };
    }

    test('the same clients have the same documents and hear the same frames from @y/websocket-server [S205]', async () => {
      const post = await world.draft();
      const [stored] = await world.db.sql<{ settings: object }[]>`select settings from posts where id = ${post}`;
      const url = await tell<string>('serve', { text: 'Hello', settings: stored!.settings });
      const theirs = await play(async (id, client) => {
        await tell('open', { id, url, room: 'a-room', client });
        await settles(async () => expect((await look(id)).isSynced).toBe(true));
      });
      const ours = await play((id, client) => open(id, `post:${post}`, world.ann.client, world.app.address, client));
      expect(ours).toEqual(theirs);
      expect(ours.frames).toEqual({ b: ['sync 0', 'sync 1', 'sync 2', 'type 1'], c: ['sync 0', 'sync 1', 'type 1'] });
    });

    test('a client of Hocuspocus is closed with 1003, and nothing of it is stored [S206]', async () => {
      const post = await world.draft();
      await open('w', `post:${post}`);
      const before = await world.stored(`post:${post}`);
      const { token } = (await world.ann.client.post('/collaboration/ticket', { room: `post:${post}` })).body;
      const url = `${world.app.address.replace('http', 'ws')}/collaboration/post:${post}?token=${token}`;
      expect(await tell('openHocuspocus', { url, room: `post:${post}`, token })).toBe(1003);
      expect((await look('w')).xml).toBe('<paragraph>Hello</paragraph>');
      await tell('destroy', { id: 'w' });
      expect(await world.stored(`post:${post}`)).toEqual(before);
      expect(await world.contentOf(post)).toBe('<p>Hello</p>');
    });

    test('a reader is told once, and its document goes on receiving [S207]', async () => {
      const post = await world.draft();
      const viewer = await world.member('viewer');
      await open('w', `post:${post}`);
      await open('r', `post:${post}`, viewer.client); // what it is refused is told to the one that was opened last
      await tell('write', { id: 'r', text: 'refused' });
      await tell('write', { id: 'r', text: 'again' });
      await settles(async () => expect((await look('r')).denied).toHaveLength(1));
      await tell('write', { id: 'w', text: 'taken' });
      await settles(async () => expect((await look('r')).xml).toContain('taken'));
      expect((await look('w')).xml).not.toContain('refused');
      await Promise.all([tell('destroy', { id: 'w' }), tell('destroy', { id: 'r' })]);
    });

    test('clients come back by themselves after a restart, with what they typed meanwhile [S206]', async () => {
      const post = await world.draft();
      const start2 = (port: string) => testApp({ sql: world.db.sql, env: { PORT: port }, ...world.world.beside });
      const first = await start2('0');
      const port = new URL(first.address).port;
      await open('c', `post:${post}`, world.ann.client, first.address);
      await tell('write', { id: 'c', text: 'before' });
      await settles(async () => expect((await look('c')).xml).toContain('before'));
      await first[Symbol.asyncDispose]();
      expect((await look('c')).closed).toContain(1012);
      await tell('write', { id: 'c', text: 'meanwhile' });
      const second = await start2(port);
      await world.holds(post, '<p>Hello</p><p>before</p><p>meanwhile</p>');
      await tell('destroy', { id: 'c' });
      await second[Symbol.asyncDispose]();
    });
  },
);
