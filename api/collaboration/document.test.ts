import { expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { newId, systemClock } from '../../src/platform/kernel/index.ts';
import type { SharedDocuments } from '../../src/studio/collaboration/index.ts';
import { openDocument } from './document.ts';
import type { Source } from './source.ts';

const contents = { content: '<p>Hello</p>', settings: {}, media: [] };

/** A document whose database and post do what they are told at once, and count. */
function openCounted() {
  const calls = { writes: 0, reads: 0 };
  const stored = { version: 1, state: Y.encodeStateAsUpdate(new Y.Doc()) };
  const row = { ...stored, agreed: { post: contents, document: contents }, recent: [], writer: 'this' };
  const documents = {
    writer: 'this',
    worker: { run: async (_: string, { state }: { state: Uint8Array }) => ({ contents, state }) },
    find: async () => ({ ...row, ...stored }),
    async update(_: object, version: number, { state }: { state: Uint8Array }) {
      calls.writes += 1;
      Object.assign(stored, { version: version + 1, state });
      return stored.version;
    },
  };
  const source: Source = {
    roots: ['content', 'settings', 'media'],
    async read() {
      calls.reads += 1;
      return { contents, version: '1', closed: null };
    },
    prepare: () => Promise.reject(new Error('nothing is saved here')),
  };
  const document = openDocument({
    documents: documents as unknown as SharedDocuments,
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    key: { orgId: newId(), room: 'post:1' },
    row,
    source,
    onUpdate() {},
    onStatus() {},
    onAgents() {},
    onOtherProcess() {},
  });
  const type = () => {
    const made = new Y.Doc();
    made.getMap('settings').set('a', 1);
    document.type(Y.encodeStateAsUpdate(made), { userId: 'ann', schedulesFreely: true });
  };
  return { calls, stored, document, type };
}

test('a look that ran beside a write of this process is no news: nothing is written or read again (H19)', async () => {
  const { calls, document, type } = openCounted();
  await document.agree();
  type();
  await document.write();
  type();
  const before = { ...calls };
  await document.look(1, { version: '1', closed: null }); // as it was before the write
  expect(calls).toEqual(before);
});

test('what another process has written is news, and so is another version of the post', async () => {
  const { calls, stored, document } = openCounted();
  await document.agree();
  stored.version = 7;
  await document.look(7, { version: '1', closed: null });
  expect(calls.reads).toBe(2);
  await document.look(7, { version: '2', closed: null });
  expect(calls.reads).toBe(3);
});
