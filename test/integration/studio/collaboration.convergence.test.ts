import { afterAll, expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { type OpenDocument, openDocument } from '../../../api/collaboration/document.ts';
import { postSource } from '../../../api/collaboration/source.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import { openDocuments } from '../../../src/studio/collaboration/index.ts';
import { fc } from '../../support/properties.ts';
import { openCoEditing } from '../../support/worlds/studio/co-editing.ts';
import { quietLog } from '../../support/worlds/quiet-log.ts';

// Histories of one document in several processes: what is typed travels by messages that are lost, doubled and reordered,
// processes end without a word, and somebody edits the post by the API. Deterministic but for the database.

const world = await openCoEditing();
const context = world.app.context;
const REPLICAS = 3;
const stores = Array.from({ length: REPLICAS }, () =>
  openDocuments({ sql: world.db.sql, clock: systemClock, incarnation: newId() }),
);
afterAll(async () => {
  for (const store of stores) await store[Symbol.asyncDispose]();
  await world.close();
});
const by = { userId: world.ann.userId, schedulesFreely: true };

const Step = fc.record({
  act: fc.constantFrom(
    'type',
    'type',
    'insert',
    'insert',
    'delete',
    'write',
    'agree',
    'agree',
    'foreign',
    'restart',
    'restore',
    'sync',
    'deliver',
  ),
  client: fc.nat(5),
  at: fc.nat(50),
  sent: fc.constantFrom('once', 'once', 'twice', 'late', 'never'),
});
type Step = typeof Step extends fc.Arbitrary<infer S> ? S : never;

interface Replica {
  document: OpenDocument;
  /** Messages of others that have not come yet. */
  inbox: Uint8Array[];
}

async function play(steps: readonly Step[]) {
  const postId = await world.draft('<p>start</p>');
  const key = { orgId: world.ann.orgId, room: `post:${postId}` };
  const source = postSource(context, key.orgId, postId);
  const typed = new Set<string>();
  const gone = new Set<string>();
  /** Nodes that somebody deleted: what others type into one meanwhile goes with it, as in every editor of Yjs. */
  const dead = new Set<string>();
  const typedInto = new Map<string, string>();
  const clients = Array.from({ length: 6 }, () => new Y.Doc());
  const replicas: Replica[] = [];

  async function open(n: number): Promise<Replica> {
    const row = await stores[n]!.open(key, async () => (await source.read())!.contents);
    const replica: Replica = { inbox: [], document: undefined as never };
    replica.document = openDocument({
      documents: stores[n]!,
      clock: systemClock,
      log: quietLog(),
      key,
      row,
      source,
      // by the wire to its clients, and by messages to other processes
      onUpdate: (update) => {
        for (const [c, doc] of clients.entries()) if (c % REPLICAS === n) Y.applyUpdate(doc, update, 'server');
        for (const other of replicas) if (other !== replica) other.inbox.push(update);
      },
      onStatus: () => {},
      onAgents: () => {},
      onOtherProcess: () => {},
    });
    return replica;
  }
  for (let n = 0; n < REPLICAS; n += 1) replicas.push(await open(n));
  /** A client and its process compare what they have, as when a connection opens. */
  const sync = (c: number) => {
    const { document } = replicas[c % REPLICAS]!;
    const doc = clients[c]!;
    Y.applyUpdate(doc, document.missing(Y.encodeStateVector(doc)), 'server');
    document.type(Y.encodeStateAsUpdate(doc, document.vector), by);
  };
  for (const c of clients.keys()) sync(c);
  const paragraphs = (doc: Y.Doc) => doc.getXmlFragment('content').toArray() as Y.XmlElement[];
  const idOf = (node: Y.XmlElement) => `${node._item!.id.client} ${node._item!.id.clock}`;
  const textOf = (node: Y.XmlElement) => node.toString().replace(/<[^>]*>/g, '');
  const tokens = (text: string): string[] => text.match(/[tf]\d+;/g) ?? [];

  for (const [n, { act, client: c, at, sent }] of steps.entries()) {
    const replica = replicas[c % REPLICAS]!;
    const doc = clients[c]!;
    const before = Y.encodeStateVector(doc);
    const nodes = paragraphs(doc);
    const node = nodes[at % Math.max(nodes.length, 1)];
    switch (act) {
      case 'type': {
        const paragraph = new Y.XmlElement('paragraph');
        paragraph.insert(0, [new Y.XmlText(`t${n};`)]);
        doc.getXmlFragment('content').insert(at % (nodes.length + 1), [paragraph]);
        typed.add(`t${n};`);
        break;
      }
      case 'insert': {
        const text = node?.get(0);
        if (!(text instanceof Y.XmlText)) break;
        // not into the middle of another
        const ends = [0, ...[...text.toString().matchAll(/;/g)].map(({ index }) => index + 1)];
        text.insert(ends[at % ends.length]!, `t${n};`);
        typed.add(`t${n};`);
        typedInto.set(`t${n};`, idOf(node!));
        break;
      }
      case 'delete':
        if (!node) break;
        for (const token of tokens(textOf(node))) gone.add(token);
        dead.add(idOf(node));
        doc.getXmlFragment('content').delete(nodes.indexOf(node), 1);
        break;
      case 'write':
        await replica.document.write();
        break;
      case 'agree':
        await replica.document.agree();
        break;
      case 'foreign': {
        const content = await world.contentOf(postId);
        const added = at % 2 === 0 ? `${content}<p>f${n};</p>` : content.replace(/<\/p>$/, `f${n};</p>`);
        const { status } = await world.ann.client.send('PATCH', `/posts/${postId}`, { content: added });
        if (status !== 200 || added === content) break;
        typed.add(`f${n};`);
        if (at % 2 === 1) typedInto.set(`f${n};`, 'the last block');
        break;
      }
      case 'restart': // without a word: what was not written is with the clients
        replicas[c % REPLICAS] = await open(c % REPLICAS);
        break;
      case 'restore': {
        await replica.document.agree();
        const id = await replica.document.keep('manual');
        const version = await stores[0]!.getVersion(key, id!);
        await replica.document.restore(version, by); // the same again: it must double nothing
        break;
      }
      case 'sync':
        sync(c);
        break;
      case 'deliver':
        for (const update of replica.inbox.splice(0).toReversed()) replica.document.receive(update, by);
    }
    if (act !== 'type' && act !== 'insert' && act !== 'delete') continue;
    const update = Y.encodeStateAsUpdate(doc, before);
    const target = replicas[c % REPLICAS]!;
    if (sent === 'late') target.inbox.push(update);
    else if (sent !== 'never')
      for (let times = sent === 'twice' ? 2 : 1; times > 0; times -= 1) target.document.type(update, by);
  }

  // everybody connects again, and every process brings document and post together
  for (let round = 0; round < 3; round += 1) {
    for (const c of clients.keys()) sync(c);
    for (const { document } of replicas) await document.agree();
    for (const replica of replicas) {
      replica.inbox = [];
      await replica.document.look(undefined, undefined);
    }
    for (const c of clients.keys()) sync(c);
  }
  if (dead.size > 0) dead.add('the last block');
  for (const [token, node] of typedInto) if (dead.has(node)) gone.add(token);
  const versions = await Promise.all(
    (await stores[0]!.listVersions(key)).map(async ({ id }) => (await stores[0]!.getVersion(key, id)).contents.content),
  );
  return {
    clients: clients.map((doc) => doc.getXmlFragment('content').toJSON()),
    post: await world.contentOf(postId),
    typed,
    gone,
    versions,
    tokens,
  };
}

test('every history ends in one document, which the post equals; nothing is doubled, and nothing vanishes that nobody deleted [S208]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(Step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const { clients, post, typed, gone, versions, tokens } = await play(steps);
      for (const xml of clients) expect(xml).toBe(clients[0]);
      const inPost = tokens(post);
      expect(tokens(clients[0]!.replace(/<[^>]*>/g, ''))).toEqual(inPost);
      expect(inPost.toSorted()).toEqual([...new Set(inPost)].toSorted());
      const lost = [...typed].filter((token) => !gone.has(token) && !inPost.includes(token));
      expect(lost.filter((token) => !versions.some((content) => content.includes(token)))).toEqual([]);
    }),
    { numRuns: 20 },
  );
}, 120_000);
