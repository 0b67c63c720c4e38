import { z } from 'zod';
import type { Price } from './cost.ts';
import { type Field, type Fields, text, type Values } from './fields.ts';

/**
 * Answers the options of a setting that say for which purposes it is the default, and with which model: `defaultFor`,
 * separated by commas, and `<purpose>Model`.
 */
export const choiceFields = (purposes: readonly string[]): Fields => ({
  defaultFor: text('Default for', {
    required: false,
    help: `Purposes for which this setting is used when none is named, separated by commas: ${purposes.join(', ')}`,
    validation: `(${purposes.join('|')})(, ?(${purposes.join('|')})){0,${purposes.length - 1}}`,
  }),
  ...Object.fromEntries(
    purposes.map((purpose) => [`${purpose}Model`, text(`Model for ${purpose}`, { required: false, maxLength: 200 })]),
  ),
});

/** Answers whether a setting is the default for a purpose. */
export const isDefaultFor = (values: Values, purpose: string): boolean =>
  (values['defaultFor'] ?? '').split(/, ?/).includes(purpose);

const Amount = z.number().min(0).max(1_000_000);
const Prices = z.record(
  z.string().min(1).max(200),
  z.strictObject({
    input: Amount.optional(),
    cached: Amount.optional(),
    output: Amount.optional(),
    characters: Amount.optional(),
    perImage: Amount.optional(),
    perSecond: Amount.optional(),
    perCall: Amount.optional(),
  }),
);

/** Answers the prices of an owner by model; none for a text that is not one of `pricesField`. */
export function pricesOf(values: Values): Readonly<Record<string, Price>> {
  const own = Object.create(null) as Record<string, Price>; // a model may have the name of a member of objects
  try {
    return Object.assign(own, Prices.parse(JSON.parse(values['prices'] ?? '{}')));
  } catch {
    return own;
  }
}

/** The option with prices of the owner, which come before those of the table. */
export const pricesField: Field = text('Prices', {
  required: false,
  help: 'US dollars by model, as JSON: {"model": {"input": 1.25, "output": 10}}, per million tokens; also cached, characters (per million), perImage, perSecond, perCall. For media that is priced by tokens, perImage, perSecond and characters are the most that one costs',
  fault(value) {
    try {
      const { error } = Prices.safeParse(JSON.parse(value));
      return error && `${error.issues[0]?.path.slice(1).join('.') || 'prices'}: ${error.issues[0]?.code}`;
    } catch {
      return 'is not JSON';
    }
  },
});
