import { expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { newId, systemClock } from '../../src/platform/kernel/index.ts';
import type { Contents, SharedDocuments } from '../../src/studio/collaboration/index.ts';
import { doJob, type JobKind } from '../../src/studio/collaboration/jobs.ts';
import { openDocument } from './document.ts';
import type { Source } from './source.ts';

const contents = { content: '<p>Hello</p>', settings: {}, media: [] };

const openWith = (documents: object, row: Options['row'], source: Pick<Source, 'read'> & Partial<Source>) =>
  openDocument({
    documents: documents as SharedDocuments, // as much of them as a test asks for
    clock: systemClock,
    log: { debug() {}, info() {}, warn() {}, error() {} },
    key: { orgId: newId(), room: 'post:1' },
    row,
    source: {
      roots: ['content', 'settings', 'media'],
      prepare: () => Promise.reject(new Error('nothing is saved here')),
      ...source,
    },
    onUpdate() {},
    onStatus() {},
    onAgents() {},
    onOtherProcess() {},
  });
type Options = Parameters<typeof openDocument>[0];

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
  const source: Pick<Source, 'read'> = {
    async read() {
      calls.reads += 1;
      return { contents, version: '1', closed: null };
    },
  };
  const document = openWith(documents, row, source);
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
  const source: Pick<Source, 'read'> = {
    async read() {
      if (!isLate) write('late');
      isLate = true;
      return { contents, version: '2', closed: 'published' };
    },
  };
  const document = openWith(documents, row, source);
  return { document, write, versions, says: () => doJob('read', { state: stored.state }).contents };
}

test('what is typed while a document is closed is in a version too, and the document shows what went out', async () => {
  const { document, write, versions, says } = openLate();
  write('early');
  await document.agree();
  await document.agree(); // as saving does, for what was typed meanwhile
  expect(says()).toEqual(contents);
  const kept = versions.map(({ content }) => content).join();
  expect([kept.includes('early'), kept.includes('late')]).toEqual([true, true]);
});

/** A document that is saved to a post; `whileSaved` runs in the midst of the next save. */
function openSaved() {
  const state = doJob('sow', { contents });
  const stored = { version: 1, state };
  const row = { ...stored, agreed: { post: contents, document: contents }, recent: [], writer: 'this' };
  const typed: (readonly string[])[] = [];
  const documents = {
    writer: 'this',
    worker: { run: async (kind: JobKind, given: never) => doJob(kind, given) },
    find: async () => ({ ...row, ...stored }),
    async update(_: object, version: number, next: { state: Uint8Array; typed: readonly string[] }) {
      Object.assign(stored, { version: version + 1, state: next.state });
      typed.push(next.typed);
      return stored.version;
    },
    writeAgreed: async () => undefined,
  };
  const post = { contents: contents as Contents, version: 1 };
  const savedBy: (string | undefined)[] = [];
  let whileSaved = () => {};
  const document = openWith(documents, row, {
    read: async () => ({ contents: post.contents, version: String(post.version), closed: null }),
    async prepare(wanted, _agreed, _now, by) {
      savedBy.push(by?.userId);
      whileSaved();
      whileSaved = () => {};
      return {
        contents: wanted,
        version: String(post.version + 1),
        async commit() {
          Object.assign(post, { contents: wanted, version: post.version + 1 });
          return true;
        },
      };
    },
  });
  const editor = new Y.Doc();
  Y.applyUpdate(editor, state);
  const write = (userId: string) => {
    const before = Y.encodeStateVector(editor);
    const paragraph = new Y.XmlElement('paragraph');
    paragraph.insert(0, [new Y.XmlText(userId)]);
    editor.getXmlFragment('content').push([paragraph]);
    document.type(Y.encodeStateAsUpdate(editor, before), { userId, schedulesFreely: userId === 'admin' });
  };
  return { document, write, post, savedBy, typed, meanwhile: (work: () => void) => void (whileSaved = work) };
}

test.each(['admin', 'member'])('who types while %s is saved is among those of the next save', async (first) => {
  const { document, write, post, savedBy, typed, meanwhile } = openSaved();
  write(first);
  meanwhile(() => write('member'));
  await document.agree();
  write('admin');
  await document.agree();
  expect(savedBy).toEqual([first, 'member']); // who may not schedule unasked
  expect(post.contents.content).toBe(`<p>Hello</p><p>${first}</p><p>member</p><p>admin</p>`);
  write('admin');
  await document.agree();
  expect(savedBy.at(-1)).toBe('admin');
  expect(typed.filter((users) => users.length > 0)).toEqual([[first], ['member'], ['admin'], ['admin']]);
});
