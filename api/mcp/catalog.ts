import { type Surface, SURFACES } from '../../src/oauth-server/index.ts';
import { inputSchemaOf, outputSchemaOf } from '../http/openapi/strict-schema.ts';
import type { AnyTool } from './tool.ts';
import { tools } from './tools.ts';

const namesOf = ({ name, alias }: AnyTool): string[] => (alias === undefined ? [name] : [name, alias]);

/** What a tool takes and answers, for strict clients. */
export const schemasOf = ({ input, output }: AnyTool) => ({
  inputSchema: inputSchemaOf(input),
  outputSchema: outputSchemaOf(output),
});

/** A tool as `tools/list` shows it, by each of its names. */
const listed = (tool: AnyTool) => {
  const shown = {
    title: tool.title,
    description: tool.description,
    ...schemasOf(tool),
    annotations: {
      title: tool.title,
      ...(tool.scope === 'mcp:read' ? { readOnlyHint: true } : { readOnlyHint: false, destructiveHint: true }),
    },
  };
  return namesOf(tool).map((name) => ({ name, ...shown }));
};

const onSurface = (surface: Surface): AnyTool[] => tools.filter(({ surfaces }) => surfaces.includes(surface));
const byName = new Map(
  SURFACES.map((surface) => [
    surface,
    new Map(onSurface(surface).flatMap((tool) => namesOf(tool).map((name) => [name, tool]))),
  ]),
);
const lists = new Map<Surface, ReturnType<typeof listed>>();

/** The tools of a surface as clients see them, aliases beside them; made once. */
export function listTools(surface: Surface) {
  const known = lists.get(surface) ?? onSurface(surface).flatMap(listed);
  lists.set(surface, known);
  return known;
}

/** The tool that a client means by a name or an alias. */
export const findTool = (surface: Surface, name: unknown): AnyTool | undefined =>
  typeof name === 'string' ? byName.get(surface)!.get(name) : undefined;
