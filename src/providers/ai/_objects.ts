import { z } from 'zod';

type Schema = Readonly<Record<string, unknown>>;
/** Levels of an answer that are read; a deeper one is no object that anybody asked for. */
const MOST_LEVELS = 64;

const shapes = new WeakMap<Schema, z.ZodType>();

/** Makes the check of answers from a JSON Schema; the same one for the same object, as it costs more than many checks. */
export function shapeOf(schema: Schema): z.ZodType {
  const made = shapes.get(schema) ?? z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  shapes.set(schema, made);
  return made;
}

/** Tells a model the form of its answer in words. */
export const objectInstruction = (schema: Schema): string =>
  `Answer with one JSON value alone, without any words or code fences around it. It must be valid by this JSON Schema:\n${JSON.stringify(schema)}`;

/** Finds the JSON value in an answer, also with words around it, and checks it; a fault names a place and a rule. */
export function objectIn(text: string, shape: z.ZodType): { value: unknown } | { fault: string } {
  const from = text.search(/[[{]/);
  const json = [text, text.slice(from, Math.max(text.lastIndexOf('}'), text.lastIndexOf(']')) + 1)].find(isJson);
  if (json === undefined) return { fault: 'it is no JSON' };
  if (levelsOf(json) > MOST_LEVELS) return { fault: `it has more than ${MOST_LEVELS} levels` };
  const judged = shape.safeParse(JSON.parse(json));
  if (judged.success) return { value: judged.data };
  const { path, code } = judged.error.issues[0]!;
  return { fault: `${path.join('.') || 'the value'}: ${code}` };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The greatest depth of a JSON text. */
function levelsOf(text: string): number {
  let [level, most, isText] = [0, 0, false];
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (isText && sign === '\\') at += 1;
    else if (sign === '"') isText = !isText;
    else if (isText) continue;
    else if (sign === '{' || sign === '[') most = Math.max(most, (level += 1));
    else if (sign === '}' || sign === ']') level -= 1;
  }
  return most;
}

/** Whether providers with a strict mode take the schema there: each object closed, each of its fields required. */
export function strictlyTaken(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return true;
  const { properties, required, additionalProperties } = schema as Record<string, unknown>;
  const isClosed =
    typeof properties !== 'object' ||
    (additionalProperties === false &&
      Object.keys(Object(properties)).every((name) => Array.isArray(required) && required.includes(name)));
  return isClosed && Object.values(schema).every(strictlyTaken);
}
