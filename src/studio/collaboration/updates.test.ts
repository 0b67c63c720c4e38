import { describe, expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { fc } from '../../../test/support/properties.ts';
import { readDocument, sowDocument } from './document.ts';
import { MOST_BYTES, MOST_WAITING, openUpdates, UpdateRefused } from './updates.ts';

const POST = ['content', 'settings', 'media'] as const;
const empty = () => sowDocument({ content: '', settings: {}, media: [] });
const made = (work: (doc: Y.Doc) => void): Uint8Array => {
  const doc = new Y.Doc();
  work(doc);
  return Y.encodeStateAsUpdate(doc);
};
const paragraph = (text: string) => {
  const node = new Y.XmlElement('paragraph');
  node.insert(0, [new Y.XmlText(text)]);
  return node;
};

describe('updates of a document', () => {
  test('are told to who has nothing as a whole, and their state vector follows each change', () => {
    const doc = new Y.Doc();
    const updates = openUpdates(Y.encodeStateAsUpdate(doc), POST);
    for (const word of ['one', 'two', 'three']) {
      const before = Y.encodeStateVector(doc);
      doc.getMap('settings').set(word, word);
      updates.add(Y.encodeStateAsUpdate(doc, before));
      expect(updates.vector).toEqual(Y.encodeStateVector(doc));
      const told = new Y.Doc();
      Y.applyUpdate(told, updates.missing(Y.encodeStateVector(told)));
      expect(told.getMap('settings').toJSON()).toEqual(doc.getMap('settings').toJSON());
    }
  });

  test.each([
    ['a root of another name', (doc: Y.Doc) => void doc.getMap('other').set('a', 1)],
    ['content as a map', (doc: Y.Doc) => void doc.getMap('content').set('a', 1)],
    ['content as a text', (doc: Y.Doc) => void doc.getText('content').insert(0, 'a')],
    ['settings as a list', (doc: Y.Doc) => void doc.getArray('settings').push([1])],
    ['media as a text', (doc: Y.Doc) => void doc.getText('media').insert(0, 'a')],
    ['a document in a document', (doc: Y.Doc) => void doc.getMap('settings').set('a', new Y.Doc())],
  ])('%s is refused, and nothing of it is taken in', (_, work) => {
    const updates = openUpdates(empty(), POST);
    const before = updates.state;
    expect(() => updates.add(made(work))).toThrow(UpdateRefused);
    expect(updates.state).toBe(before);
  });

  test('what is there already is nothing new, also what deletes only', () => {
    const doc = new Y.Doc();
    doc.getXmlFragment('content').push([paragraph('a'), paragraph('b')]);
    const updates = openUpdates(empty(), POST);
    const whole = Y.encodeStateAsUpdate(doc);
    expect(updates.add(whole)).toEqual(new Set([doc.clientID]));
    expect(updates.add(whole)).toBeUndefined();
    doc.getXmlFragment('content').delete(0, 1);
    const deleted = Y.encodeStateAsUpdate(doc, Y.encodeStateVectorFromUpdate(whole));
    expect(updates.isNew(deleted)).toBe(true);
    expect(updates.add(deleted)).toEqual(new Set());
    expect(updates.add(deleted)).toBeUndefined();
  });

  test('an update that deletes or is here already is judged by its own parts, not by those of the document', () => {
    const doc = new Y.Doc();
    const list = doc.getArray<number>('media');
    for (let n = 0; n < 500; n += 1) list.insert(0, [n]); // each a part of its own
    const updates = openUpdates(Y.encodeStateAsUpdate(doc), POST);
    const told: Uint8Array[] = [];
    doc.on('update', (update: Uint8Array) => told.push(update));
    const remove = () => {
      list.delete(Math.floor(list.length / 2), 1);
      return told.pop()!;
    };
    updates.add(remove()); // the first reads what the document has
    const known = Y.encodeStateAsUpdate(doc, Y.encodeStateVector(doc));
    const deletions = [remove(), remove(), remove()];
    const decoder = Y.UpdateDecoderV1.prototype;
    const { readInfo } = decoder;
    let read = 0;
    decoder.readInfo = function counted(this: Y.UpdateDecoderV1) {
      read += 1;
      return readInfo.call(this);
    };
    try {
      expect(updates.isNew(known)).toBe(false);
      for (const deletion of deletions) {
        expect(updates.isNew(deletion)).toBe(true);
        expect(updates.add(deletion)).toEqual(new Set());
        expect(updates.isNew(deletion)).toBe(false);
        expect(updates.add(deletion)).toBeUndefined();
      }
    } finally {
      decoder.readInfo = readInfo;
    }
    expect(read).toBe(0); // no struct is in any of them
    const copy = new Y.Doc();
    Y.applyUpdate(copy, updates.state);
    expect(copy.getArray('media').toJSON()).toEqual(list.toJSON());
  });

  test('the first deletion reads nothing of a document whose deletions were told, with what came since', () => {
    const doc = new Y.Doc();
    const list = doc.getArray<number>('media');
    for (let n = 0; n < 500; n += 1) list.insert(0, [n]); // each a part of its own
    list.delete(3, 1);
    const updates = openUpdates(Y.encodeStateAsUpdate(doc), POST);
    const was = updates.state;
    const told: Uint8Array[] = [];
    doc.on('update', (update: Uint8Array) => told.push(update));
    doc.transact(() => {
      list.insert(0, [500]);
      list.delete(7, 1);
    });
    const later = told.pop()!;
    updates.add(later);
    expect(updates.knowsDeleted).toBe(false);
    updates.learnDeleted(was, readDocument(was, { withDeleted: true }).deleted!);
    list.delete(9, 1);
    const deletion = told.pop()!;
    const decoder = Y.UpdateDecoderV1.prototype;
    const { readInfo } = decoder;
    let read = 0;
    decoder.readInfo = function counted(this: Y.UpdateDecoderV1) {
      read += 1;
      return readInfo.call(this);
    };
    try {
      expect(updates.add(deletion)).toEqual(new Set());
      expect(updates.add(deletion)).toBeUndefined();
    } finally {
      decoder.readInfo = readInfo;
    }
    expect(read).toBe(0);
    expect(updates.add(Y.encodeStateAsUpdate(doc))).toBeUndefined(); // all of its deletions are known
  });

  test('more parts that wait for others than are kept are refused, until those come', () => {
    const updates = openUpdates(empty(), POST);
    const alone = (n: number) => {
      const doc = new Y.Doc();
      doc.getArray('media').push([n]);
      const vector = Y.encodeStateVector(doc);
      doc.getArray('media').push([n]);
      return { late: Y.encodeStateAsUpdate(doc, vector), whole: Y.encodeStateAsUpdate(doc) };
    };
    const many = Array.from({ length: MOST_WAITING }, (_, n) => alone(n));
    for (const { late } of many) updates.add(late);
    const { late } = alone(0);
    expect(() => updates.add(late)).toThrow(UpdateRefused);
    for (const { whole } of many) updates.add(whole);
    expect(updates.add(late)).toBeDefined();
  });

  test('what makes a document too large is refused', () => {
    const updates = openUpdates(empty(), POST);
    const text = 'x'.repeat(900_000);
    const add = () => updates.add(made((doc) => doc.getXmlFragment('content').push([paragraph(text)])));
    for (let n = 0; n < Math.floor(MOST_BYTES / 900_100); n += 1) add();
    expect(add).toThrow(`larger than ${MOST_BYTES} bytes`);
  });

  test('a document that is full takes deletions of what it has, and has room again', () => {
    const updates = openUpdates(empty(), POST);
    const doc = new Y.Doc();
    Y.applyUpdate(doc, updates.state);
    const texts = doc.getXmlFragment('content');
    const changed = (work: () => void): Uint8Array => {
      const before = Y.encodeStateVector(doc);
      work();
      return Y.encodeStateAsUpdate(doc, before);
    };
    const fill = MOST_BYTES - updates.state.length - 200;
    updates.add(changed(() => texts.push([paragraph('x'.repeat(fill))])));
    const more = () => updates.add(made((other) => other.getXmlFragment('content').push([paragraph('')])));
    expect(() => {
      for (;;) more();
    }).toThrow(UpdateRefused);
    // deletions of what nobody has would let it grow for ever
    const ranges = Array.from({ length: 200 }, (_, n) => [(n * 2) % 128, 1]).flat();
    const foreign = Uint8Array.from([0, 1, 99, 200, 1, ...ranges]); // no parts; one client, 200 ranges
    expect(() => updates.add(foreign)).toThrow(UpdateRefused);
    const full = (texts.get(texts.length - 1) as Y.XmlElement).get(0) as Y.XmlText;
    for (const signs of [1, 9, MOST_BYTES / 2]) {
      const deletion = changed(() => {
        for (let n = 0; n < 60; n += 1) full.delete(n, Math.floor(signs / 60) + 1);
      });
      expect(deletion.length).toBeGreaterThan(60); // more than there is room for
      expect(updates.add(deletion)).toEqual(new Set());
    }
    const was = updates.state;
    const smaller = new Y.Doc();
    Y.applyUpdate(smaller, was);
    updates.compact(was, Y.encodeStateAsUpdate(smaller));
    expect(more()).toBeDefined();
  });

  test('bytes that are no update throw, whatever they are, and change nothing', () => {
    const real = made((doc) => doc.getXmlFragment('content').push([paragraph('hello')]));
    const cut = fc
      .tuple(fc.nat(real.length), fc.nat(255))
      .map(([at, byte]) => Uint8Array.from([...real.slice(0, at), byte]));
    const updates = openUpdates(empty(), POST);
    const before = updates.state;
    fc.assert(
      fc.property(fc.oneof(fc.uint8Array({ maxLength: 60 }), cut), (bytes) => {
        const own = Uint8Array.from(bytes);
        try {
          if (openUpdates(before, POST).isNew(own)) return; // an update after all
        } catch {
          expect(() => updates.add(own)).toThrow();
        }
        expect(updates.state).toBe(before);
      }),
      { numRuns: 500 },
    );
  });

  test('clients whose messages are lost, doubled and reordered have one document after comparing [S208]', () => {
    const step = fc.record({
      client: fc.nat(3),
      act: fc.constantFrom('type', 'type', 'delete', 'compare'),
      at: fc.nat(20),
      sent: fc.constantFrom('once', 'twice', 'late', 'never'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, compacts) => {
        const updates = openUpdates(empty(), POST);
        const docs = Array.from({ length: 4 }, () => new Y.Doc());
        const late: Uint8Array[] = [];
        const typed: string[] = [];
        const compare = (doc: Y.Doc) => {
          updates.add(Y.encodeStateAsUpdate(doc, updates.vector));
          Y.applyUpdate(doc, updates.missing(Y.encodeStateVector(doc)));
        };
        for (const [n, { client, act, at, sent }] of steps.entries()) {
          const doc = docs[client]!;
          const list = doc.getArray<string>('media');
          const before = Y.encodeStateVector(doc);
          if (act === 'compare') compare(doc);
          else if (act === 'delete' && list.length > 0) list.delete(at % list.length, 1);
          else if (act === 'type') list.insert(at % (list.length + 1), [typed[typed.push(`${n}`) - 1]!]);
          const update = Y.encodeStateAsUpdate(doc, before);
          if (sent === 'late') late.push(update);
          else if (sent !== 'never')
            for (let times = sent === 'twice' ? 2 : 1; times > 0; times -= 1) updates.add(update);
        }
        for (const update of late.toReversed()) updates.add(update);
        if (compacts) {
          const was = updates.state;
          const doc = new Y.Doc();
          Y.applyUpdate(doc, was);
          updates.compact(was, Y.encodeStateAsUpdate(doc));
        }
        for (const doc of [...docs, ...docs]) compare(doc);
        const lists = docs.map((doc) => doc.getArray('media').toJSON() as string[]);
        for (const list of lists) expect(list).toEqual(lists[0]);
        expect(new Set(lists[0]).size).toBe(lists[0]!.length);
        expect(lists[0]!.every((one) => typed.includes(one))).toBe(true);
      }),
      { numRuns: 150 },
    );
  });
});
