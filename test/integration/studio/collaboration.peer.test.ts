import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { describePeer, npmPeer, type Peer } from '../../support/peers/peers.ts';
import { openCoEditing } from '../../support/worlds/co-editing.ts';
import { testApp } from '../../support/worlds/app.ts';
import { settles } from '../../support/wire/settles.ts';

interface Looked {
  xml: string;
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
    const open = async (id: string, room: string, client = world.ann.client, address = world.app.address) => {
      const { token } = (await client.post('/collaboration/ticket', { room })).body;
      await tell('open', { id, url: `${address.replace('http', 'ws')}/collaboration`, room, params: { token } });
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
