import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { bySpecificity, hotTable, mountOnExpress } from './mount.ts';
import { type AnyRoute, route } from './route.ts';

const at = (path: `/${string}`, hot = false): AnyRoute =>
  route({
    method: 'get',
    path,
    summary: path,
    auth: ['none'],
    hot,
    answer: z.unknown(),
    handle: async () => undefined,
    present: (nothing: unknown) => nothing,
  });
const routes = [
  at('/posts/:id', true),
  at('/posts/bulk'),
  at('/posts/:id/missing'),
  at('/posts', true),
  at('/posts/group/:group', true),
  at('/:any/deep/:id', true),
];
const find = hotTable(routes);

test.each([
  ['/posts', '/posts', {}],
  ['/posts/', '/posts', {}],
  ['/api/posts?x=1', '/posts', {}],
  ['/posts/1', '/posts/:id', { id: '1' }],
  ['/posts/group/g', '/posts/group/:group', { group: 'g' }],
  ['/x/deep/2', '/:any/deep/:id', { any: 'x', id: '2' }],
  ['/posts/deep/2', '/:any/deep/:id', { any: 'posts', id: '2' }],
])('%s is hot: %s', (url, path, params) => {
  const found = find('GET', url);
  expect([found?.route.path, found?.params]).toEqual([path, params]);
});

test.each(['/posts/bulk', '/posts/1/missing', '/posts/group', '/posts//', '/nothing', '/', '/posts/a%20b', '/Posts', ''])('%j is left to Express', (url) => {
  const found = find('GET', url);
  expect(url === '/posts/group' ? found?.params : found).toEqual(url === '/posts/group' ? { id: 'group' } : undefined);
});

test('other methods are left to Express', () =>
  expect([find('POST', '/posts'), find('HEAD', '/posts'), find('', '/posts')]).toEqual([undefined, undefined, undefined]));

test('fixed segments come before parameters', () => {
  expect(routes.toSorted(bySpecificity).map(({ path }) => path)).toEqual([
    '/posts',
    '/posts/bulk',
    '/posts/group/:group',
    '/posts/:id',
    '/posts/:id/missing',
    '/:any/deep/:id',
  ]);
});

test('two declarations of one method and shape are refused at the start', () => {
  expect(() =>
    mountOnExpress(
      [at('/posts/:id'), at('/posts/:postId')],
      () => ({}) as never,
      async () => {},
    ),
  ).toThrow('Two routes are declared for GET /posts/:postId');
});
