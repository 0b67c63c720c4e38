import { describe, expect, test } from '@jest/globals';
import * as Y from 'yjs';
import { asWritten, type Contents } from './contents.ts';
import { mergeIntoDocument, readDocument, sowDocument } from './document.ts';

const contents = (content: string, more: Partial<Contents> = {}): Contents => ({
  content,
  settings: {},
  media: [],
  ...more,
});
const picture = { id: '01900000-0000-7000-8000-000000000000', path: 'https://a.example/a.png', alt: '' };
const opened = (state: Uint8Array) => {
  const doc = new Y.Doc();
  Y.applyUpdate(doc, state);
  return doc;
};

describe('a document of a post', () => {
  test('holds content, settings and media, and says them as the post does [S208]', () => {
    const post = contents('<p>Hi <strong>you</strong></p><ul><li><p>a</p></li></ul>', {
      settings: { a: [1, { b: null }] },
      media: [picture],
    });
    const state = sowDocument(post);
    expect(readDocument(state).contents).toEqual(post);
    const doc = opened(state);
    expect(doc.getXmlFragment('content').toJSON()).toBe(
      '<paragraph>Hi <bold>you</bold></paragraph><bulletlist><listitem><paragraph>a</paragraph></listitem></bulletlist>',
    );
    expect([doc.getMap('settings').toJSON(), doc.getArray('media').toJSON()]).toEqual([post.settings, post.media]);
  });

  test('reads the names of Tiptap and of the basic schema; an unknown node becomes its text [S208]', () => {
    const doc = new Y.Doc();
    const text = (insert: string, attributes: object) => {
      const node = new Y.XmlText();
      node.applyDelta([{ insert, attributes }]);
      return node;
    };
    const element = (name: string, children: (Y.XmlElement | Y.XmlText)[], attributes: Record<string, string> = {}) => {
      const node = new Y.XmlElement(name);
      for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
      node.insert(0, children);
      return node;
    };
    doc
      .getXmlFragment('content')
      .insert(0, [
        element('heading', [text('T', {})], { level: '9' }),
        element('bullet_list', [element('list_item', [element('paragraph', [text('a', { strong: true, em: {} })])])]),
        element('blockquote', [
          element('paragraph', [text('q', { code: {} }), element('hard_break', []), text('r', {})]),
        ]),
        element('codeBlock', [text('x < y', {})]),
        element('paragraph', [
          text('l', { link: { href: 'javascript:x' } }),
          text('m', { 'link--1': { href: 'https://a.example/' } }),
        ]),
        element('paragraph', [element('mention', [], { id: '7', label: 'Ann' })]),
      ]);
    expect(readDocument(Y.encodeStateAsUpdate(doc)).contents.content).toBe(
      '<h3>T</h3><ul><li><p><strong><em>a</em></strong></p></li></ul><p>q<br>r</p><p>x &lt; y</p>' +
        '<p>l<a href="https://a.example/">m</a></p>' +
        '<p><span class="mention" data-type="mention" data-id="7" data-label="Ann">@Ann</span></p>',
    );
  });

  test('is smaller without what was deleted, and merges with what others still have of it', () => {
    const doc = new Y.Doc({ gc: false });
    Y.applyUpdate(doc, sowDocument(contents('<p>a</p>')));
    const node = (doc.getXmlFragment('content').get(0) as Y.XmlElement).get(0) as Y.XmlText;
    for (let n = 0; n < 500; n += 1) {
      node.insert(1, 'typed and gone');
      node.delete(1, 14);
    }
    const state = Y.encodeStateAsUpdate(doc);
    const { state: small } = readDocument(state);
    expect(small.length).toBeLessThan(state.length / 2);
    node.insert(0, 'b');
    const merged = Y.mergeUpdates([small, Y.encodeStateAsUpdate(doc, Y.encodeStateVectorFromUpdate(small))]);
    expect(readDocument(merged).contents.content).toBe('<p>ba</p>');
  });

  test.each([
    [
      'an edit where nobody typed',
      '<p>a</p><p>b</p>',
      '<p>a</p><p>b</p>',
      '<p>a!</p><p>c</p>',
      '<p>a!</p><p>c</p>',
      false,
    ],
    [
      'an edit of another block',
      '<p>a</p><p>b</p>',
      '<p>a typed</p><p>b</p>',
      '<p>a</p><p>B</p>',
      '<p>a typed</p><p>B</p>',
      false,
    ],
    ['an edit of a typed block', '<p>a</p>', '<p>a typed</p>', '<p>A</p>', '<p>a typed</p>', true],
    ['a new block', '<p>a</p>', '<p>a typed</p>', '<p>a</p><h1>n</h1>', '<p>a typed</p><h1>n</h1>', false],
  ])('takes in %s block by block', (_, base, ours, theirs, merged, met) => {
    const sown = sowDocument(contents(base));
    const typed = mergeIntoDocument(sown, undefined, contents(ours));
    const state = Y.mergeUpdates([sown, typed.update]);
    const change = mergeIntoDocument(state, contents(base), contents(theirs));
    expect(change.met).toBe(met);
    expect(readDocument(Y.mergeUpdates([state, change.update])).contents.content).toBe(merged);
  });

  test('keeps what is typed into a block while an edit of its text comes in', () => {
    const sown = sowDocument(contents('<p>one two</p>'));
    const doc = opened(sown);
    const node = (doc.getXmlFragment('content').get(0) as Y.XmlElement).get(0) as Y.XmlText;
    node.insert(7, ' three');
    const { update } = mergeIntoDocument(sown, contents('<p>one two</p>'), contents('<p>ONE two</p>'));
    Y.applyUpdate(doc, update);
    expect(readDocument(Y.encodeStateAsUpdate(doc)).contents.content).toBe('<p>ONE two three</p>');
  });

  test('takes settings and media in by key and by entry', () => {
    const base = contents('', { settings: { a: 1, b: 1, c: 1 }, media: [picture] });
    const sown = sowDocument(base);
    const doc = opened(sown);
    doc.getMap('settings').set('a', 2);
    doc.getArray('media').push([{ ...picture, alt: 'ours' }]);
    const theirs = contents('', { settings: { a: 3, b: 4 }, media: [{ ...picture, alt: 'theirs' }] });
    const { update, met } = mergeIntoDocument(Y.encodeStateAsUpdate(doc), base, theirs);
    Y.applyUpdate(doc, update);
    expect(met).toBe(true);
    expect(readDocument(Y.encodeStateAsUpdate(doc)).contents).toMatchObject({
      settings: { a: 2, b: 4 },
      media: [
        { ...picture, alt: 'theirs' },
        { ...picture, alt: 'ours' },
      ],
    });
  });

  test('takes another plan in by its words: what was typed stays, but not of a step that is gone', () => {
    const base = contents('', { plan: { 'a.title': 'A', 'a.brief': 'A', 'b.title': 'B', 'b.brief': 'B' } });
    const doc = opened(sowDocument(base));
    doc.getMap('plan').set('a.title', 'typed');
    doc.getMap('plan').set('b.title', 'typed');
    const theirs = contents('', { plan: { 'a.title': 'A', 'a.brief': 'A2', 'c.title': 'C' } });
    const { update, met } = mergeIntoDocument(Y.encodeStateAsUpdate(doc), base, theirs);
    Y.applyUpdate(doc, update);
    expect(met).toBe(true);
    expect(readDocument(Y.encodeStateAsUpdate(doc)).contents.plan).toEqual({
      'a.title': 'typed',
      'a.brief': 'A2',
      'c.title': 'C',
    });
  });

  test('leaves out what no post can hold', () => {
    const doc = new Y.Doc();
    doc.getMap('settings').set('n', { bad: Infinity, bytes: new Uint8Array(3), text: 'a\0\ud800', deep: 1n });
    doc.getArray('media').push([null, 1]);
    expect(readDocument(Y.encodeStateAsUpdate(doc)).contents).toEqual({
      content: '',
      settings: { n: { text: 'a\ufffd' } },
      media: [null, 1],
    });
    expect(asWritten(contents('plain\ntext')).content).toBe('<p>plain</p><p>text</p>');
  });
});
