import { describe, expect, test } from '@jest/globals';
import { z } from 'zod';
import { routesOf } from './route.ts';

// Lines below `@ts-expect-error` must not compile; `npm run types` fails where one does.

const answer = z.unknown();
const present = (result: unknown) => result;
const common = { method: 'get', summary: 'Get a probe', auth: ['session'], answer, present } as const;

describe('routesOf', () => {
  const route = routesOf('clock');

  test('names the rooms of its file in each route', () => {
    expect(route({ ...common, path: '/probe', handle: async ({ rooms }) => rooms.clock.now() }).rooms).toEqual([
      'clock',
    ]);
    expect(routesOf()({ ...common, path: '/probe', handle: async () => 1 }).rooms).toEqual([]);
  });

  test('refuses at compile time a room that the file does not name', () => {
    // @ts-expect-error -- `posts` is not declared
    route({ ...common, path: '/probe', handle: async ({ rooms }) => rooms.posts });
    // @ts-expect-error -- nothing is declared
    routesOf()({ ...common, path: '/probe', handle: async ({ rooms }) => rooms.clock });
    // @ts-expect-error -- there is no such room
    routesOf('nowhere');
    // @ts-expect-error -- statements are those of rooms
    routesOf('sql');
  });

  test('types the parameters from the path', () => {
    route({
      ...common,
      path: '/probe/:id/part/:partId',
      handle: async ({ params }) => [params.id, params.partId] satisfies string[],
    });
    route({
      ...common,
      path: '/probe/:id',
      params: z.object({ id: z.coerce.number() }),
      handle: async ({ params }) => params.id satisfies number,
    });
    // @ts-expect-error -- the path has `id` only
    route({ ...common, path: '/probe/:id', handle: async ({ params }) => params.name });
    // @ts-expect-error -- the path has no parameter
    route({ ...common, path: '/probe', handle: async ({ params }) => params.id });
  });
});
