import { expect, test } from '@jest/globals';
import { routeFiles } from '../../scripts/route-list.ts';
import type { AnyRoute } from '../http/route.ts';
import { routes } from './routes.gen.ts';

const files = await routeFiles();

/**
 * The file in which a URL is declared. The segment after `/public/v1`, after `/admin`, or the first one names the
 * folder; a file of the next segment goes first.
 */
function fileOf(path: string): string {
  const [, kind, rest] = path.startsWith('/public/v1/')
    ? ['', 'public', path.slice('/public/v1/'.length)]
    : (/^\/(admin)\/(.+)$/.exec(path) ?? ['', 'routes', path.slice(1)]);
  const [segment, next] = rest!.split('/');
  const folder = /[a-z-]+/.exec(segment!)![0]; // `.well-known` and `openapi.json` by their word
  const own = `${folder}/${next}.${kind}.ts`;
  return files.includes(own) ? own : `${folder}/${kind}.ts`;
}

const declared = await Promise.all(
  files.map(async (file) =>
    ((await import(`./${file}`)) as { default: readonly AnyRoute[] }).default.map(
      ({ method, path }) => [`${method} ${path}`, file] as const,
    ),
  ),
);

test('the file of each route follows from its path', () => {
  const strays = declared.flat().filter(([route, file]) => fileOf(route.split(' ')[1]!) !== file);
  expect(strays).toEqual([]);
});

test('the generated list holds the routes of all files', () => {
  expect(routes.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual(
    declared
      .flat()
      .map(([route]) => route)
      .toSorted(),
  );
  expect(declared.filter((of) => of.length === 0)).toEqual([]);
});
