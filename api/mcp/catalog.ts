import { type Surface, SURFACES } from '../../src/oauth-server/index.ts';
import { inputSchemaOf, type JsonSchema, outputSchemaOf } from './schema.ts';
import type { AnyTool } from './tool.ts';
import { tools } from './tools.ts';

/** A tool as `tools/list` shows it. */
export interface ListedTool {
  [key: string]: unknown;
  name: string;
  title: string;
  description: string;
  inputSchema: JsonSchema;
  outputSchema: JsonSchema;
  annotations: Record<string, boolean | string>;
}

const isReading = ({ scope }: AnyTool): boolean => scope === 'mcp:read';
const listed = (tool: AnyTool): ListedTool[] => {
  const shown = {
    title: tool.title,
    description: tool.description,
    inputSchema: inputSchemaOf(tool.input),
    outputSchema: outputSchemaOf(tool.output),
    annotations: {
      title: tool.title,
      ...(isReading(tool) ? { readOnlyHint: true } : { readOnlyHint: false, destructiveHint: true }),
    },
  };
  return [tool.name, ...(tool.alias === undefined ? [] : [tool.alias])].map((name) => ({ name, ...shown }));
};

const onSurface = (surface: Surface): AnyTool[] => tools.filter(({ surfaces }) => surfaces.includes(surface));
const byName = new Map(
  SURFACES.map((surface) => [
    surface,
    new Map(onSurface(surface).flatMap((tool) => [tool.name, tool.alias ?? tool.name].map((name) => [name, tool]))),
  ]),
);
const lists = new Map<Surface, ListedTool[]>();

/** The tools of a surface as clients see them, aliases beside them; made once. */
export function listTools(surface: Surface): ListedTool[] {
  const known = lists.get(surface) ?? onSurface(surface).flatMap(listed);
  lists.set(surface, known);
  return known;
}

/** The tool that a client means by a name or an alias. */
export const findTool = (surface: Surface, name: unknown): AnyTool | undefined =>
  typeof name === 'string' ? byName.get(surface)!.get(name) : undefined;
