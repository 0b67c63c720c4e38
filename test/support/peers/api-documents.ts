import { existsSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const given = process.env['TEST_API_DOCUMENTS'];
const FOLDER = given ? pathToFileURL(`${given}/`) : new URL('../../../../shared/openapi/', import.meta.url);

/**
 * The path of an official description of an API: in the folder `TEST_API_DOCUMENTS`, else in `shared/openapi` beside
 * this checkout. Undefined, and said: it is not here.
 */
export function apiDocument(name: string): string | undefined {
  const path = fileURLToPath(new URL(name, FOLDER));
  if (existsSync(path)) return path;
  process.stderr.write(`skipped: the document ${name} is not here\n`);
  return undefined;
}
