import { type Field, text } from '../kit/declare/fields.ts';

/**
 * The field for the region of an account: its values with their names, the usual one first. `regions` of the declaration
 * has the addresses of the others.
 */
export const regionField = (
  names: Readonly<Record<string, string>>,
  { label = 'Region', help }: { label?: string; help?: string } = {},
): Field =>
  text(label, {
    required: false,
    default: Object.keys(names)[0]!,
    options: Object.entries(names).map(([value, name]) => ({ value, label: name })),
    ...(help !== undefined && { help }),
  });
