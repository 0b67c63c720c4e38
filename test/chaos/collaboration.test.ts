import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { lendActors } from '../support/processes/actors-elsewhere.ts';
import { openCoEditing } from '../support/worlds/studio/co-editing.ts';
import { describePeer, npmPeer, type Peer } from '../support/peers/peers.ts';
import { chance, isFull, note, rounds } from '../support/processes/chaos.ts';
import type { CollaborationSetup } from '../support/processes/scripts/collaboration-process.ts';
import { databaseOf, type OwnPostgres, startOwnPostgres } from '../support/processes/own-postgres.ts';
import { startBalancer } from '../support/wire/balancer.ts';
import { eventually } from '../support/wire/eventually.ts';
import type { Receiver } from '../support/wire/receiver.ts';
import { startRedis } from '../support/wire/services.ts';

// A hundred unmodified clients of y-websocket write one post by one address, behind which processes of the product over
// one Redis are killed, drained and started. Whatever a client was shown by the server, and whatever it holds, stays. At
// full depth the power of their Postgres fails, too.

const PROCESS = fileURLToPath(new URL('../support/processes/scripts/collaboration-process.ts', import.meta.url));
const EDITORS = 100;
/** A person may have so many connections. */
const OF_A_PERSON = 10;
/** What happens in the midst of writing. */
const KINDS = ['kill', 'drain', 'cut Redis', 'kill', ...(isFull ? (['stop Postgres'] as const) : [])] as const;
const FAULTS = rounds(4).flatMap(() => KINDS);
const MOST_MS = 60_000;
/** A server forgets who was not heard of for 30 s with its next sign of life, which it gives every 15 s. */
const GHOST_MS = 60_000;

interface Gathered {
  /** Each document that some of them have. */
  xmls: string[];
  areSynced: boolean;
  /** Of those whom each of them shows. */
  names: string[][];
  closed: (number | null)[];
}
interface Replica {
  url: string;
  kill(): Promise<unknown>;
  drain(): Promise<unknown>;
}
async function startReplica(setup: CollaborationSetup): Promise<Replica> {
  const child: ChildProcess = spawn(process.execPath, [PROCESS, JSON.stringify(setup)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, NODE_OPTIONS: '' },
  });
  const exited = once(child, 'exit');
  const [url] = (await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    exited.then(([code]) => Promise.reject(new Error(`A process of co-editing ended with ${code}`))),
  ])) as [string];
  return {
    url,
    kill: () => (child.kill('SIGKILL'), exited),
    drain: () => (child.stdin!.write('drain\n'), exited),
  };
}

const found = await startRedis();
let redis = found!;
afterAll(async () => redis?.[Symbol.asyncDispose]());
const findClients = () => (found ? npmPeer('collaboration') : Promise.resolve({ missing: 'no Redis on this machine' }));

await describePeer('y-websocket, a hundred editors', findClients, ({ start }) => {
  /** Two processes of clients, one of which dies. */
  let peers: Peer[];
  let world: Awaited<ReturnType<typeof openCoEditing>>;
  let actors: Receiver;
  /** Where its power is to fail. */
  let postgres: OwnPostgres | undefined;
  beforeAll(async () => {
    postgres = isFull ? await startOwnPostgres() : undefined;
    const own = postgres && { db: await databaseOf(postgres) };
    [peers, world] = await Promise.all([Promise.all([start(), start()]), openCoEditing(own)]);
    actors = await lendActors(world.world.engine);
  }, 180_000);
  afterAll(async () => {
    await Promise.all(peers.map((peer) => peer.stop()));
    await actors[Symbol.asyncDispose]();
    await world.close();
    await postgres?.[Symbol.asyncDispose]();
  });
  async function tell<T>(peer: Peer, act: string, given: object): Promise<T> {
    const answer = await fetch(peer.url, { method: 'POST', body: JSON.stringify({ act, ...given }) });
    if (answer.status !== 200) throw new Error(await answer.text());
    return ((await answer.json()) as { done: T }).done;
  }

  test(
    'all converge over processes that are killed and drained, and the post holds each word once [S206, S208, CL2]',
    async () => {
      const dice = chance('collaboration');
      const setup: CollaborationSetup = { databaseUrl: world.db.url, redisUrl: redis.url, actorsUrl: actors.url };
      await using balancer = await startBalancer();
      const alive = await Promise.all([startReplica(setup), startReplica(setup)]);
      const tellBalancer = () => balancer.backends.splice(0, Infinity, ...alive.map(({ url }) => url));
      /** One of the processes, which nobody is sent to any more. */
      const take = (): Replica => {
        const [gone] = alive.splice(dice.pick(alive.length), 1);
        tellBalancer();
        return gone!;
      };
      tellBalancer();
      const id = await world.draft('<p>Begin</p>');
      const room = `post:${id}`;
      const people: Awaited<ReturnType<typeof world.member>>[] = [];
      for (let n = 0; n < EDITORS / OF_A_PERSON; n += 1) people.push(await world.member('editor'));
      let tickets: { params: { token: string } }[];
      /** A ticket is for ten minutes, and many faults take longer. */
      const takeTickets = async () => {
        const answers = await Promise.all(people.map(({ client }) => client.post('/collaboration/ticket', { room })));
        tickets = answers.map(({ body }) => ({ params: { token: body.token as string } }));
      };
      const ticketOf = (one: string) => tickets[Number(one) % tickets.length]!;
      const editors = Array.from({ length: EDITORS }, (_, n) => String(n));
      const halves = peers.map((peer, half) => ({
        peer,
        ids: editors.slice((half * EDITORS) / 2, ((half + 1) * EDITORS) / 2),
      }));
      let here = halves;
      const each = (given: (one: string) => object) =>
        Promise.all(
          here.map(({ peer, ids }) => tell(peer, 'all', { calls: ids.map((one) => ({ id: one, ...given(one) })) })),
        );
      async function gather(): Promise<Gathered> {
        await sleep(200);
        const all = await Promise.all(here.map(({ peer, ids }) => tell<Gathered>(peer, 'gather', { ids })));
        return {
          xmls: [...new Set(all.flatMap(({ xmls }) => xmls))],
          areSynced: all.every(({ areSynced }) => areSynced),
          names: all.flatMap(({ names }) => names),
          closed: [...new Set(all.flatMap(({ closed }) => closed))],
        };
      }
      const words: string[] = [];
      const areOnce = (text: string) => words.every((word) => text.split(word).length === 2);
      /** All have one document, with each word once. */
      const converge = (what: string) =>
        eventually(
          what,
          async () => {
            const { xmls, areSynced } = await gather();
            return areSynced && xmls.length === 1 && areOnce(xmls[0]!);
          },
          MOST_MS,
        );
      const write = (part: string) =>
        each((one) => {
          words.push(`w${part}x${one}w`);
          return { act: 'write', text: words.at(-1) };
        });
      /** Everybody who is here is shown to everybody, once, and nobody else. */
      const seeEachOther = (what: string) =>
        eventually(
          what,
          async () => {
            const wanted = here
              .flatMap(({ ids }) => ids)
              .toSorted()
              .join();
            return (await gather()).names.every((names) => names.toSorted().join() === wanted);
          },
          GHOST_MS,
        );

      try {
        const url = `${balancer.url.replace('http', 'ws')}/collaboration`;
        await takeTickets();
        await each((one) => ({ act: 'open', url, room, ...ticketOf(one) }));
        await converge('all have the document');
        await each((one) => ({ act: 'say', state: { user: { name: one } } }));
        await seeEachOther('everybody sees everybody');
        for (const [n, fault] of FAULTS.entries()) {
          // some come anew, so that there are editors at each process
          await takeTickets();
          await each((one) => ({ act: Number(one) % 2 === 0 ? 'reconnect' : 'renew', ...ticketOf(one) }));
          await write(`${n}a`); // some of it is on its way, some was shown, and little is stored
          if (fault === 'cut Redis') {
            await redis[Symbol.asyncDispose]();
            await write(`${n}b`);
            redis = (await startRedis([], Number(new URL(redis.url).port)))!;
          } else if (fault === 'stop Postgres') {
            await postgres!.stopAtOnce();
            await write(`${n}b`);
            await sleep(500 + dice.pick(5_000)); // who comes meanwhile waits outside
            await postgres!.start();
          } else {
            const gone = take();
            await (fault === 'drain' ? gone.drain() : gone.kill());
            await write(`${n}b`);
          }
          await converge(`all agree after fault ${n + 1}: ${fault}`);
          if (fault === 'kill' || fault === 'drain') alive.push(await startReplica(setup));
          tellBalancer();
        }
        await seeEachOther('everybody sees everybody again');

        // half of them are gone without a word, at once with a process that has told of them
        const [staying, leaving] = halves as [(typeof halves)[0], (typeof halves)[0]];
        await Promise.all([take().kill(), leaving.peer.stop()]);
        here = [staying];
        await seeEachOther('nobody sees who is gone');
        await converge('those who stayed agree');
        const { xmls, closed } = await gather();
        note({ editors: EDITORS, faults: FAULTS.length, words: words.length, closed });
        expect(closed.filter((code) => ![1005, 1006, 1012].includes(code ?? 1005))).toEqual([]);
        await each(() => ({ act: 'destroy' }));
        const stored = `<paragraph>Begin</paragraph>${xmls[0]!.slice('<paragraph>Begin</paragraph>'.length)}`;
        await eventually('the post holds it', async () => {
          await sleep(200);
          return (await world.contentOf(id)).replaceAll('p>', 'paragraph>') === stored;
        });
        const [documents] = await world.db.sql<{ n: number }[]>`
        select count(*)::int as n from collaboration_documents where room = ${room}`;
        expect(documents!.n).toBe(1);
      } finally {
        await Promise.all(alive.map((one) => one.kill()));
      }
    },
    MOST_MS * (FAULTS.length + 4),
  );
});
