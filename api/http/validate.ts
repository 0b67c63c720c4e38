import { z } from 'zod';
import { fieldError, isId, judge, notFound, validationFailed } from '../../src/platform/kernel/index.ts';
import { readParameters } from './body.ts';
import type { AnyRoute } from './route.ts';

const NoBody = z.strictObject({});
/** No row has it. It stands in for an id that cannot be one, so that this is answered like any unknown id. */
const NO_ID = '00000000-0000-0000-0000-000000000000';
/** An id that a row may have: anything else is answered as an id that no row has. */
export const possibleId = (text: string): string => (isId(text) ? text : NO_ID);
const isIdName = (name: string): boolean => name === 'id' || name.endsWith('Id');

/** The query as an object: of a repeated key the last counts, and only keys that the schema names are looked at. */
function queryOf(schema: z.ZodType, search: string): Record<string, string> {
  const known = schema instanceof z.ZodObject ? schema.shape : undefined;
  const query: Record<string, string> = Object.create(null);
  for (const [key, value] of readParameters(search)) if (!known || Object.hasOwn(known, key)) query[key] = value;
  return { ...query };
}

/**
 * Body and query against their schemas, every fault reported at once; ids in the path reach the handler as possible ids
 * (S6, S7, S9).
 */
export function validate(
  route: AnyRoute,
  input: { body: unknown; search: string; params: Readonly<Record<string, string>> },
) {
  const body = route.input === 'stream' ? undefined : judge(route.body ?? NoBody, input.body);
  const values = route.query ? queryOf(route.query, input.search) : undefined;
  const query = route.query && judge(route.query, values);
  const odd = Object.entries(values ?? {}).flatMap(([field, value]) =>
    typeof value === 'string' && value.includes('\0')
      ? [fieldError(field, 'contains characters that cannot be stored', 'invalid_characters')]
      : [],
  );
  const errors = [...(body?.errors ?? []), ...(query?.errors ?? []), ...odd];
  if (errors.length > 0) throw validationFailed(errors);

  if (Object.values(input.params).some((value) => value.includes('\0'))) throw notFound();
  const params = route.params?.safeParse(input.params) ?? {
    data: Object.fromEntries(
      Object.entries(input.params).map(([name, value]) => [name, isIdName(name) ? possibleId(value) : value]),
    ),
  };
  if (params.error) throw notFound();
  return { body: route.body ? body?.data : undefined, query: query?.data, params: params.data };
}
