import { readdir } from 'node:fs/promises';

const FOLDER = new URL('../api/resources/', import.meta.url);
/** The list of all routes; written by `npm run gen`. */
export const ROUTES_FILE = new URL('routes.gen.ts', FOLDER);

/** The files that declare routes, as paths from `api/resources`. */
export async function routeFiles(): Promise<string[]> {
  const files = await readdir(FOLDER, { recursive: true });
  return files.filter((file) => /^[^/]+\/([^/]+\.)?(routes|public|admin)\.ts$/.test(file)).toSorted();
}

const nameOf = (file: string) =>
  file.slice(0, -'.ts'.length).replace(/[^A-Za-z0-9]+(\w)/g, (_, letter: string) => letter.toUpperCase());

/** `routes.gen.ts`: imports every file that declares routes, in the order of their names. */
export async function generateRouteList(): Promise<string> {
  const files = await routeFiles();
  return [
    '// Written by `npm run gen` from the files beside it.',
    "import type { AnyRoute } from '../http/route.ts';",
    ...files.map((file) => `import ${nameOf(file)} from './${file}';`),
    '',
    'export const routes: readonly AnyRoute[] = [',
    ...files.map((file) => `  ...${nameOf(file)},`),
    '];',
    '',
  ].join('\n');
}

/** The list of the modules of shapes; written by `npm run gen`. */
export const SHAPES_FILE = new URL('shapes.gen.ts', FOLDER);

/** `shapes.gen.ts`: imports every file with schemas of bodies and answers, in the order of their names. */
export async function generateShapeList(): Promise<string> {
  const all = await readdir(FOLDER, { recursive: true });
  const files = all.filter((file) => /^[^/]+\/([^/]+\.)?shape\.ts$/.test(file)).toSorted();
  return [
    '// Written by `npm run gen` from the files beside it.',
    ...files.map((file) => `import * as ${nameOf(file)} from './${file}';`),
    '',
    'export const shapeModules: readonly object[] = [',
    ...files.map((file) => `  ${nameOf(file)},`),
    '];',
    '',
  ].join('\n');
}
