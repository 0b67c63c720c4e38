import { readFile } from 'node:fs/promises';
import { openApi } from '../api/http/openapi/index.ts';
import { tools } from '../api/mcp/tools.ts';
import { permissionMatrix } from '../api/http/permission-matrix.ts';
import { described } from '../api/resources/openapi/described.ts';
import { routes } from '../api/resources/routes.gen.ts';
import { settingsReference } from '../src/platform/config/index.ts';
import { Documents, type Proof, providersReference } from '../src/providers/registry/index.ts';
import { adapters } from '../src/providers/registry/registry.gen.ts';
import { automationDescription } from './automation.ts';
import { mcpReference } from './mcp-reference.ts';

const doc = (name: string) => new URL(`../docs/${name}`, import.meta.url);
const FIXTURES = new URL('../test/fixtures/providers/', import.meta.url);
/** The fixtures record what each adapter was written from and tried against. */
async function recorded() {
  const documents: unknown = JSON.parse(await readFile(new URL('documents.json', FIXTURES), 'utf8'));
  const { PROOFS: proofs } = (await import(new URL('proofs.ts', FIXTURES).href)) as { PROOFS: readonly Proof[] };
  return { documents: Documents.parse(documents), proofs };
}

/** The whole OpenAPI document; the types of the client are made from it, too. */
export const openApiReference = (): string => `${JSON.stringify(openApi(routes, described), null, 1)}\n`;

/** The generated pages of `docs/` and files of `clients/`, each made from the code that is running. */
export const references: readonly { file: URL; make: () => string | Promise<string> }[] = [
  {
    file: doc('providers.gen.md'),
    make: async () => providersReference(await recorded()),
  },
  {
    file: doc('settings.gen.md'),
    make: () => settingsReference(new Set(adapters.flatMap(({ domain, id }) => (domain === 'social' ? [id] : [])))),
  },
  { file: doc('permissions.gen.md'), make: () => permissionMatrix(routes) },
  { file: doc('mcp.gen.md'), make: () => mcpReference(tools) },
  { file: doc('openapi.gen.json'), make: openApiReference },
  {
    file: new URL('../clients/automation/zapier/description.gen.json', import.meta.url),
    make: () => automationDescription(openApi(routes, described)),
  },
  {
    file: new URL('../clients/automation/n8n/description.gen.json', import.meta.url),
    make: () => automationDescription(openApi(routes, described), { samples: false }),
  },
];
