import { type Surface, SURFACES } from '../../src/oauth-server/index.ts';
import type { Scope } from '../../src/people/access/index.ts';
import { inputSchemaOf, type JsonSchema, outputSchemaOf } from './schema.ts';
import { tools } from './tools.ts';

/** A tool in the OpenAPI document. */
interface DescribedTool {
  name: string;
  alias?: string;
  title: string;
  description: string;
  surfaces: readonly Surface[];
  scope: Scope;
  permission?: string;
  inputSchema: JsonSchema;
  outputSchema: JsonSchema;
}

/** The surfaces of MCP with their tools, for programs that read the OpenAPI document (`x-mcp`). */
export function describeMcp(): { surfaces: { name: Surface; path: string }[]; tools: DescribedTool[] } {
  return {
    surfaces: SURFACES.map((name) => ({ name, path: `/${name}` })),
    tools: tools.map(({ name, alias, title, description, surfaces, scope, permission, input, output }) => ({
      name,
      ...(alias !== undefined && { alias }),
      title,
      description,
      surfaces,
      scope,
      ...(permission !== undefined && { permission }),
      inputSchema: inputSchemaOf(input),
      outputSchema: outputSchemaOf(output),
    })),
  };
}
