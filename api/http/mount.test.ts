import { expect, test } from '@jest/globals';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { z } from 'zod';
import { routes as allRoutes } from '../resources/routes.gen.ts';
import type { Exchange } from './exchange.ts';
import { bySpecificity, mountOnExpress, routeTable } from './mount.ts';
import { type AnyRoute, routesOf } from './route.ts';

const route = routesOf();

const at = (path: `/${string}`): AnyRoute =>
  route({
    method: 'get',
    path,
    summary: path,
    auth: ['none'],
    answer: z.unknown(),
    handle: async () => undefined,
    present: (nothing: unknown) => nothing,
  });
const routes = [
  at('/posts/:id'),
  at('/posts/bulk'),
  at('/'),
  at('/posts/:id/missing'),
  at('/posts'),
  at('/posts/group/:group'),
  at('/:any/deep/:id'),
];
const find = routeTable(routes);

test.each([
  ['/posts', '/posts', {}],
  ['/posts/', '/posts', {}],
  ['/api/posts?x=1', '/posts', {}],
  ['/posts/1', '/posts/:id', { id: '1' }],
  ['/posts/group/g', '/posts/group/:group', { group: 'g' }],
  ['/x/deep/2', '/:any/deep/:id', { any: 'x', id: '2' }],
  ['/posts/deep/2', '/:any/deep/:id', { any: 'posts', id: '2' }],
  ['/posts/bulk', '/posts/bulk', {}],
  ['/posts/1/missing', '/posts/:id/missing', { id: '1' }],
  ['/posts/group', '/posts/:id', { id: 'group' }],
  ['/', '/', {}],
  ['/api', '/', {}],
])('%s is found: %s', (url, path, params) => {
  const found = find('GET', url);
  expect([found?.route.path, found?.params]).toEqual([path, params]);
});

test.each(['/posts//', '//posts', '/nothing', '/posts/a%20b', '/Posts', '', 'posts', 'x/posts', 'http://h/posts', '*'])(
  '%j is left to Express',
  (url) => {
    expect(find('GET', url)).toBeUndefined();
  },
);

test('the table finds the same route as Express, for every declared path and for paths between them', () => {
  const asked: [AnyRoute | undefined, object][] = [];
  const express = mountOnExpress(
    allRoutes,
    (_request, _response, params = {}) => ({ headers: {}, params }) as Exchange,
    async ({ params }, own) => void asked.push([own, { ...params }]),
  );
  const table = routeTable(allRoutes);
  const segments = allRoutes.map(({ path }) => path.split('/').slice(1));
  const paths = new Set<string>();
  for (const own of segments)
    for (const other of segments) {
      const mixed = own.map((segment, n) =>
        segment.startsWith(':') ? (other[n]?.replace(':', 'x-') ?? 'x') : segment,
      ); // a parameter that reads like somebody's fixed segment
      paths.add(`/${mixed.join('/')}`);
    }
  let matched = 0;
  for (const path of paths)
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      const request = Object.assign(new IncomingMessage(new Socket()), { method, url: path });
      express(request as never, new ServerResponse(request) as never);
      const [own, params] = asked.pop()!;
      const found = table(method, path);
      if (found?.route !== own)
        throw new Error(`${method} ${path}: ${own?.path} on Express, ${found?.route.path} in the table`);
      if (!found) continue;
      expect(found.params).toEqual(params);
      matched += 1;
    }
  expect(matched).toBeGreaterThanOrEqual(allRoutes.length);
});

test('other methods are left to Express', () =>
  expect([find('POST', '/posts'), find('HEAD', '/posts'), find('', '/posts')]).toEqual([
    undefined,
    undefined,
    undefined,
  ]));

test('fixed segments come before parameters', () => {
  expect(routes.toSorted(bySpecificity).map(({ path }) => path)).toEqual([
    '/',
    '/posts',
    '/posts/bulk',
    '/posts/group/:group',
    '/posts/:id',
    '/posts/:id/missing',
    '/:any/deep/:id',
  ]);
});

test('two declarations of one method and shape are refused at start', () => {
  expect(() =>
    mountOnExpress(
      [at('/posts/:id'), at('/posts/:postId')],
      () => ({}) as never,
      async () => {},
    ),
  ).toThrow('Two routes are declared for GET /posts/:postId');
});
