import { z } from 'zod';
import { FORBIDDEN_KEYS } from './body.ts';

// Values by name for strict clients, which know no object with free keys.

const Value = z.union([z.string().max(100_000), z.number(), z.boolean()]);
const Pairs = z
  .array(
    z.strictObject({
      key: z
        .string()
        .min(1)
        .max(255)
        .refine((key) => !FORBIDDEN_KEYS.has(key), 'may not be used')
        .describe('Name of the setting.'),
      value: Value.describe('Its value; a list or an object is written as JSON text.'),
    }),
  )
  .max(200);

/** Values by name, as a list of pairs: strict clients know no object with free keys. */
export const pairs = (what: string) => Pairs.describe(what);

function valueOf(value: z.output<typeof Value>): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value) as unknown;
  } catch {
    return value; // a text that begins like JSON
  }
}

/** The object that pairs stand for; of a repeated key the last counts. */
export const objectOf = (given: z.output<typeof Pairs>): Record<string, unknown> =>
  Object.fromEntries(given.map(({ key, value }) => [key, valueOf(value)]));
