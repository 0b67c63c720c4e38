import { describe, expect, test } from '@jest/globals';
import type { CommentRead, SocialAdapter } from '../../providers/registry/index.ts';
import { isRead, keptComment } from './rules.ts';

const read = (author: CommentRead['author']): CommentRead => ({
  id: '1',
  text: 'Hi',
  author,
  createdAt: new Date('2026-09-01T10:00:00Z'),
});

describe('keptComment', () => {
  test.each<[string, CommentRead['author'], boolean]>([
    ['the id of the profile', { id: '7@a.example', name: 'x' }, true],
    ['the id without its server', { id: '7', name: 'x' }, true],
    ['the handle, whatever its case', { id: '9', name: 'x', handle: '@Acme' }, true],
    ['the handle as an id', { id: 'acme', name: 'x', handle: 'acme' }, true],
    ['another id', { id: '77@a.example', name: 'x' }, false],
    ['the same number elsewhere', { id: '7@b.example', name: 'x' }, false],
    ['the name that it shows', { id: '9', name: 'acme' }, false],
    ['nobody', { id: '', name: '', handle: '' }, false],
  ])('knows the channel by %s', (_, author, isOwn) => {
    expect(keptComment(read(author), { internalId: '7@a.example', handle: '@acme' })?.isOwn).toBe(isOwn);
  });

  test('takes nobody for the channel where that has no handle', () => {
    const account = { internalId: '7', handle: '' };
    expect(keptComment(read({ id: '', name: '', handle: '@' }), account)?.isOwn).toBe(false);
  });
});

describe('isRead', () => {
  const adapter = (more: object) => more as SocialAdapter; // what it reads
  const comments = async () => ({ comments: [] });
  test.each<[object, unknown[], boolean[]]>([
    [{ comments }, [undefined, true, false], [true, true, false]],
    [{ comments, commentReads: { lists: 'top' } }, [undefined, true, false], [true, true, false]],
    [{ comments, commentReads: { scarce: true } }, [undefined, true, false], [false, true, false]],
    [{}, [undefined, true, false], [false, false, false]],
  ])('of %j with `syncComments` %j is %j', (declared, wishes, expected) => {
    expect(wishes.map((syncComments) => isRead(adapter(declared), { syncComments }))).toEqual(expected);
  });
});
