import { type Surface, SURFACES } from '../src/oauth-server/index.ts';
import { inputSchemaOf } from '../api/http/openapi/strict-schema.ts';
import type { AnyTool } from '../api/mcp/tool.ts';

const inputsOf = ({ input }: AnyTool): string => {
  const schema = inputSchemaOf(input);
  const required = (schema['required'] ?? []) as readonly string[];
  const names = Object.keys((schema['properties'] ?? {}) as object);
  return names.map((name) => `\`${name}${required.includes(name) ? '' : '?'}\``).join(', ') || '–';
};
const onOf = ({ surfaces }: AnyTool): string => (surfaces.length === SURFACES.length ? 'both' : surfaces.join());
const lineOf = (tool: AnyTool): string =>
  `| ${[
    `\`${tool.name}\``,
    tool.alias === undefined ? '–' : `\`${tool.alias}\``,
    tool.scope,
    tool.permission ?? '–',
    onOf(tool),
    inputsOf(tool),
    tool.description.replaceAll('|', '\\|'),
  ].join(' | ')} |`;
const ADDRESSES: Readonly<Record<Surface, string>> = {
  mcp: '`/mcp`, `/mcp/:id`, and for clients of revision 2024-11-05 `/sse/:id` with `/message/:id`',
  'media-mcp': '`/media-mcp`',
};

/** Lists the tools of the MCP surfaces as a page in Markdown. */
export const mcpReference = (tools: readonly AnyTool[]): string =>
  [
    '# MCP tools',
    '',
    'What agents may call, read from the declarations of the tools. A tool and its alias act the same. A call needs its',
    'scope, and the role of whoever the key or token belongs to its permission.',
    '',
    ...SURFACES.map((surface) => `- ${surface}: ${ADDRESSES[surface]}`),
    '',
    '| Tool | Alias | Scope | Permission | Surface | Input | |',
    '|---|---|---|---|---|---|---|',
    ...tools.map(lineOf),
    '',
  ].join('\n');
