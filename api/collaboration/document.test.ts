import { describe, expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { newId, systemClock } from '../../src/platform/kernel/index.ts';
import {
  type Contents,
  DocumentUnreadable,
  type SharedDocuments,
  type Typist,
} from '../../src/studio/collaboration/index.ts';
import { doJob, type JobKind } from '../../src/studio/collaboration/jobs.ts';
import { openDocument } from './document.ts';
import type { Source } from './source.ts';

const contents = { content: '<p>Hello</p>', settings: {}, media: [] };

const openWith = (
  documents: object,
  row: Options['row'],
  source: Pick<Source, 'read'> & Partial<Source>,
  onUpdate: Options['onUpdate'] = () => {},
) =>
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
    onUpdate,
    onStatus() {},
    onAgents() {},
    onOtherProcess() {},
  });
type Options = Parameters<typeof openDocument>[0];

/** A document whose database and post do what they are told at once, and count. */
function openCounted() {
  const calls = { writes: 0, reads: 0 };
  const stored = { version: 1, state: Y.encodeStateAsUpdate(new Y.Doc()) };
  const row = {
    ...stored,
    agreed: { post: contents, document: contents },
    recent: [],
    writer: 'this',
    unsavedBy: null,
  };
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

test('what another process says that it has written and saved is no news; what somebody else has changed between is', async () => {
  const { calls, stored, document } = openCounted();
  await document.agree();
  const status = { savedVersion: '9', savedAt: '2026-01-01T00:00:00.000Z', problem: null };
  const before = { ...calls };
  stored.version = 9;
  document.follow({ version: 9, from: '1', to: '2', status });
  await document.look(9, { version: '2', closed: null });
  expect(calls).toEqual(before);
  expect(document.status).toEqual({ ...status, readOnly: null });
  document.follow({ version: 10, from: '3', to: '4', status }); // an agent has made a 3 of the 2
  await document.look(10, { version: '4', closed: null });
  expect(calls.reads).toBe(before.reads + 1);
  await document.look(10, undefined); // it is deleted
  expect(calls.reads).toBeGreaterThan(before.reads + 1);
});

/** A stored document, and what is read and written of it. */
function openStored() {
  const stored = { version: 1, state: doJob('sow', { contents }) };
  const row = {
    ...stored,
    agreed: { post: contents, document: contents },
    recent: [],
    writer: 'this',
    unsavedBy: null,
  };
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
  };
  return { stored, row, typed, documents };
}

/** Somebody who has this state and adds paragraphs; answers the update of each. */
function openEditor(state: Uint8Array) {
  const editor = new Y.Doc();
  Y.applyUpdate(editor, state);
  return (text: string): Uint8Array => {
    const before = Y.encodeStateVector(editor);
    const paragraph = new Y.XmlElement('paragraph');
    paragraph.insert(0, [new Y.XmlText(text)]);
    editor.getXmlFragment('content').push([paragraph]);
    return Y.encodeStateAsUpdate(editor, before);
  };
}

/** A document that is typed into while its post, which has gone out, is read. */
function openLate() {
  const { stored, row, documents } = openStored();
  const versions: Contents[] = [];
  const keeping = {
    ...documents,
    async keepVersion(_: object, kept: { contents: Contents }) {
      versions.push(kept.contents);
      return newId();
    },
  };
  const add = openEditor(stored.state);
  const write = (text: string) => document.type(add(text), { userId: 'ann', schedulesFreely: true });
  let isLate = false;
  const source: Pick<Source, 'read'> = {
    async read() {
      if (!isLate) write('late');
      isLate = true;
      return { contents, version: '2', closed: 'published' };
    },
  };
  const document = openWith(keeping, row, source);
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
  const { stored, row, typed, documents } = openStored();
  const post = { contents: contents as Contents, version: 1 };
  const savedBy: (string | undefined)[] = [];
  let whileSaved = () => {};
  const document = openWith({ ...documents, writeAgreed: async () => undefined }, row, {
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
  const add = openEditor(stored.state);
  const write = (userId: string) => document.type(add(userId), { userId, schedulesFreely: userId === 'admin' });
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

/** The same document in two processes that hear each other where a test says so, with one row and one post. */
function openTwice() {
  const stored = { version: 1, state: doJob('sow', { contents }), unsavedBy: null as Typist | null };
  const row = () => ({ agreed: { post: contents, document: contents }, recent: [], writer: 'another', ...stored });
  const documents = {
    writer: 'this',
    worker: { run: async (kind: JobKind, given: never) => doJob(kind, given) },
    find: async () => row(),
    async update(_: object, version: number, { state, unsavedBy }: { state: Uint8Array; unsavedBy?: Typist }) {
      if (version !== stored.version) return undefined;
      Object.assign(stored, { version: version + 1, state, unsavedBy: unsavedBy ?? null });
      return stored.version;
    },
    async writeAgreed(_: object, __: object, of: { version: number; unsavedBy?: Typist }) {
      if (of.version === stored.version) stored.unsavedBy = of.unsavedBy ?? null;
    },
    async keepVersion() {},
  };
  const post = { contents: contents as Contents, version: 1 };
  const savedBy: (string | undefined)[] = [];
  let whileSaved: (() => Promise<void>) | undefined;
  const source: Pick<Source, 'read' | 'prepare'> = {
    read: async () => ({ contents: post.contents, version: String(post.version), closed: null }),
    async prepare(wanted, _agreed, _now, by) {
      savedBy.push(by?.userId);
      const work = whileSaved;
      whileSaved = undefined;
      await work?.();
      return {
        contents: wanted,
        async commit() {
          Object.assign(post, { contents: wanted, version: post.version + 1 });
          return true;
        },
      };
    },
  };
  const told: Parameters<Options['onUpdate']>[] = [];
  const open = () => openWith(documents, row(), source, (...update) => void told.push(update));
  const [one, two] = [open(), open()];
  const write = (document: typeof one, userId: string) => {
    const add = openEditor(document.missing(Uint8Array.of(0)));
    document.type(add(userId), { userId, schedulesFreely: userId === 'admin' });
  };
  const look = (document: typeof one) => document.look(stored.version, { version: String(post.version), closed: null });
  /** What the documents have said goes to `document`. */
  const hear = (document: typeof one) => told.splice(0).forEach(([update, by]) => document.receive(update, by));
  const meanwhile = (work: () => Promise<void>) => void (whileSaved = work);
  return { one, two, open, write, look, hear, stored, savedBy, meanwhile };
}

describe('what is typed in another process is saved in the name of whoever has typed it', () => {
  test.each(['admin', 'member'])('heard of %s', async (typist) => {
    const { one, two, write, hear, savedBy } = openTwice();
    write(one, typist);
    hear(two);
    await two.agree();
    expect(savedBy).toEqual([typist]);
    write(two, 'admin');
    await two.agree();
    expect(savedBy).toEqual([typist, 'admin']); // what is saved is nobody's typing any more
  });

  test.each(['admin', 'member'])('found in the database of %s', async (typist) => {
    const { one, two, open, write, look, stored, savedBy } = openTwice();
    write(one, typist);
    await one.write();
    write(two, 'admin');
    await look(two);
    expect(savedBy).toEqual([typist]);
    expect(stored.unsavedBy).toBeNull();
    const third = open();
    write(third, 'admin');
    await third.agree();
    expect(savedBy).toEqual([typist, 'admin']);
  });

  test('found by a process that opens it when the other one is gone', async () => {
    const { one, open, write, savedBy } = openTwice();
    write(one, 'member');
    await one.write();
    const third = open();
    write(third, 'admin');
    await third.agree();
    expect(savedBy).toEqual(['member']);
  });

  test('and taken in while it writes, behind what it saves', async () => {
    const { one, two, write, savedBy, meanwhile } = openTwice();
    meanwhile(async () => {
      write(one, 'member');
      await one.write();
    });
    write(two, 'admin');
    await two.agree();
    await two.agree();
    expect(savedBy).toEqual(['admin', 'member']);
  });

  test("in nobody's name where one is not known, for then it is held for approval", async () => {
    const { one, two, write, look, stored, savedBy } = openTwice();
    write(one, 'admin');
    await one.write();
    stored.unsavedBy = 'unknown';
    write(two, 'admin');
    await look(two);
    expect(savedBy).toEqual([undefined]);
  });

  test('restored there, too', async () => {
    const { one, two, hear, savedBy } = openTwice();
    const restored = { contents: { ...contents, content: '<p>Before</p>' }, changedTo: null };
    await one.restore(restored, { userId: 'member', schedulesFreely: false });
    expect(savedBy).toEqual(['member']);
    await one.restore({ ...restored, contents }, { userId: 'admin', schedulesFreely: true });
    hear(two);
    expect([two.unsavedBy, one.unsavedBy]).toEqual([{ userId: 'member', schedulesFreely: false }, undefined]);
    await two.agree();
    expect([savedBy, two.unsavedBy]).toEqual([['member', 'admin'], undefined]);
  });
});

describe('what cannot be done is a conflict that says why', () => {
  const ann = { userId: 'ann', schedulesFreely: true };
  const source: Pick<Source, 'read'> = { read: async () => ({ contents, version: '1', closed: null }) };

  test('a version of a document that cannot be built', async () => {
    const { row, documents } = openStored();
    const broken = { ...documents, worker: { run: () => Promise.reject(new DocumentUnreadable('it took too long')) } };
    const document = openWith(broken, row, source);
    await expect(document.keep('manual')).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('cannot be built'),
    });
  });

  test('a restore that the document has no room for, which changes nothing', async () => {
    const { row, stored, documents } = openStored();
    const before = stored.state;
    const large = openEditor(before)('x'.repeat(5_000_000));
    const worker = {
      run: async (kind: JobKind, given: never) =>
        kind === 'merge' ? { update: large, met: false } : doJob(kind, given),
    };
    const document = openWith({ ...documents, worker, keepVersion: async () => newId() }, row, source);
    await expect(document.restore({ contents, changedTo: null }, ann)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('larger than 5000000 bytes'),
    });
    expect(stored.state).toEqual(before);
  });
});
