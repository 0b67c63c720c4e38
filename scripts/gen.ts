import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { generateRegistry, REGISTRY_FILE } from '../src/providers/registry/generate.ts';
import { generateRouteList, generateShapeList, ROUTES_FILE, SHAPES_FILE } from './route-list.ts';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/**
 * Writes every generated file, or with `check` only compares them; answers the exit status. The three lists of modules
 * come first and are made from the names of files alone: a list that still names a deleted file could not be imported,
 * and the other files are made by code that imports it.
 */
export async function generate({ check, say }: { check: boolean; say: (line: string) => void }): Promise<number> {
  /** Answers whether the file is fresh now. */
  async function refresh(file: URL, text: string): Promise<boolean> {
    if ((await readFile(file, 'utf8').catch(() => undefined)) === text) return true;
    const name = fileURLToPath(file).slice(ROOT.length);
    if (check) say(`${name} is not what the sources say: run npm run gen`);
    else {
      await writeFile(file, text);
      say(`${name} written`);
    }
    return !check;
  }

  const lists = [
    await refresh(REGISTRY_FILE, await generateRegistry()),
    await refresh(ROUTES_FILE, await generateRouteList()),
    await refresh(SHAPES_FILE, await generateShapeList()),
  ];
  if (!lists.every(Boolean)) return 1;
  const { openApiReference, references } = await import('./references.ts');
  const fresh: boolean[] = [];
  for (const { file, make } of references) fresh.push(await refresh(file, await make()));
  const { areClientTypesFresh, CLIENT_TYPES_FILE, makeClientTypes } = await import('./client-types.ts');
  const document = JSON.parse(openApiReference()) as object;
  // the generator has to be installed: not in a check, and not for what is fresh
  if (!(await areClientTypesFresh(document)))
    fresh.push(await refresh(CLIENT_TYPES_FILE, check ? '' : await makeClientTypes(document)));
  return fresh.every(Boolean) ? 0 : 1;
}
