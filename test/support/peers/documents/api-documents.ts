import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Documents that are not free to ship lie in a folder of their own, beside those of every checkout. */
const given = process.env['TEST_API_DOCUMENTS'];
const FOLDERS = [
  ...(given ? [pathToFileURL(`${given}/`)] : []),
  new URL('../../../../../shared/openapi/', import.meta.url),
];

/**
 * The path of an official description of an API: in the folder `TEST_API_DOCUMENTS`, else in `shared/openapi` beside
 * this checkout. Undefined, and said: it is in neither.
 */
export function apiDocument(name: string): string | undefined {
  const path = FOLDERS.map((folder) => fileURLToPath(new URL(name, folder))).find((one) => existsSync(one));
  if (path === undefined) process.stderr.write(`skipped: the document ${name} is not here\n`);
  return path;
}
