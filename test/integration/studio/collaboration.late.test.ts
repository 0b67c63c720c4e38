import { expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { openDocument } from '../../../api/collaboration/document.ts';
import type { Source } from '../../../api/collaboration/source.ts';
import { newId, systemClock } from '../../../src/platform/kernel/index.ts';
import type { Contents, SharedDocuments } from '../../../src/studio/collaboration/index.ts';
import { doJob, type JobKind } from '../../../src/studio/collaboration/jobs.ts';

const contents: Contents = { content: '<p>Hello</p>', settings: {}, media: [] };

/** A document that is typed into while its post, which has gone out, is read. */
function openLate() {
  const state = doJob('sow', { contents });
  const stored = { version: 1, state };
  const row = { ...stored, agreed: { post: contents, document: contents }, recent: [], writer: 'this' };
  const versions: Contents[] = [];
  const documents = {
    writer: 'this',
    worker: { run: async (kind: JobKind, given: never) => doJob(kind, given) },
    find: async () => ({ ...row, ...stored }),
    async update(_: object, version: number, next: { state: Uint8Array }) {
      Object.assign(stored, { version: version + 1, state: next.state });
      return stored.version;
    },
    async keepVersion(_: object, kept: { contents: Contents }) {
      versions.push(kept.contents);
      return newId();
    },
  };
  const editor = new Y.Doc();
  Y.applyUpdate(editor, state);
  const write = (text: string) => {
    const before = Y.encodeStateVector(editor);
    const paragraph = new Y.XmlElement('paragraph');
    paragraph.insert(0, [new Y.XmlText(text)]);
    editor.getXmlFragment('content').push([paragraph]);
    document.type(Y.encodeStateAsUpdate(editor, before), { userId: 'ann', schedulesFreely: true });
  };
  let isLate = false;
  const source: Source = {
    roots: ['content', 'settings', 'media'],
    async read() {
      if (!isLate) write('late');
      isLate = true;
      return { contents, version: '2', closed: 'published' };
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
  return { document, write, versions, says: () => doJob('read', { state: stored.state }).contents };
}

test('what is typed while a document is closed is in a version too, and the document shows what went out [S207]', async () => {
  const { document, write, versions, says } = openLate();
  write('early');
  await document.agree();
  await document.agree(); // as saving does, for what was typed meanwhile
  expect(says()).toEqual(contents);
  const kept = versions.map(({ content }) => content).join();
  expect([kept.includes('early'), kept.includes('late')]).toEqual([true, true]);
});
