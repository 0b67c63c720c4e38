import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { openApi } from '../api/http/openapi.ts';
import { permissionMatrix } from '../api/http/permission-matrix.ts';
import type { AnyRoute } from '../api/http/route.ts';
import { settingsReference } from '../src/platform/config/index.ts';
import { type AnyAdapter, Documents, generateRegistry, Proofs, providersReference, REGISTRY_FILE } from '../src/providers/registry/index.ts';
import { generateRouteList, ROUTES_FILE } from './route-list.ts';

const doc = (name: string) => new URL(`../docs/${name}`, import.meta.url);
/** The tests know what they tried. */
const fixture = (name: string) =>
  readFile(new URL(`../test/fixtures/providers/${name}.json`, import.meta.url), 'utf8').then((text) => JSON.parse(text) as unknown);
/** What the registry holds as it is written now, and not as it was when this process began. */
async function registered(): Promise<readonly AnyAdapter[]> {
  const { adapters } = (await import(`${REGISTRY_FILE.href}?written`)) as { adapters: readonly AnyAdapter[] };
  return adapters;
}
/** The routes by the list as it is written now. */
async function declared(): Promise<readonly AnyRoute[]> {
  const { routes } = (await import(`${ROUTES_FILE.href}?written`)) as { routes: readonly AnyRoute[] };
  return routes;
}
const providers = async () =>
  providersReference(await registered(), { proofs: Proofs.parse(await fixture('proven')), documents: Documents.parse(await fixture('documents')) });
const FILES: { file: URL; make: () => string | Promise<string> }[] = [
  { file: REGISTRY_FILE, make: generateRegistry },
  { file: ROUTES_FILE, make: generateRouteList },
  { file: doc('providers.gen.md'), make: providers },
  { file: doc('settings.gen.md'), make: settingsReference },
  { file: doc('permissions.gen.md'), make: async () => permissionMatrix(await declared()) },
  { file: doc('openapi.gen.json'), make: async () => `${JSON.stringify(openApi(await declared()), null, 1)}\n` },
];

/** Writes every generated file, or with `check` only compares; answers the exit status. */
export async function generate({ check, say }: { check: boolean; say: (line: string) => void }): Promise<number> {
  let stale = 0;
  for (const { file, make } of FILES) {
    const [made, there] = await Promise.all([make(), readFile(file, 'utf8').catch(() => undefined)]);
    if (made === there) continue;
    stale += 1;
    const name = fileURLToPath(file).slice(fileURLToPath(new URL('..', import.meta.url)).length);
    if (check) say(`${name} is not what the sources say: run npm run gen`);
    else {
      await writeFile(file, made);
      say(`${name} written`);
    }
  }
  return check && stale > 0 ? 1 : 0;
}
