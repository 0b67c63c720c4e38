import { expect } from '@jest/globals';
import { z } from 'zod';
import { MULTI_LINE, SINGLE_LINE, WEB_ADDRESS } from '../../../../src/providers/kit/declare/setting-texts.ts';
import type { SocialAdapter } from '../../../../src/providers/registry/index.ts';
import type { Check } from './provider.ts';

// For each setting that a network declares a value at its limit, which is taken, and those beyond it, which are refused:
// too long, too short, with characters that its form lacks, or missing.

/** What is used of a JSON Schema. */
interface Schema {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Schema[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  items?: Schema | false;
  prefixItems?: readonly Schema[];
  maxItems?: number;
  minItems?: number;
  maxLength?: number;
  pattern?: string;
  allOf?: readonly { pattern?: string }[];
  format?: string;
  /** Ours: the texts of a union, which takes what one of them takes. */
  texts?: readonly Schema[];
  minimum?: number;
  maximum?: number;
  exclusiveMinimum?: number;
}
type Path = readonly (string | number)[];
/** A place inside the settings, and whether a value there is taken. */
interface Place {
  schema: Schema;
  path: Path;
  takes: (value: unknown) => boolean;
  /** A place inside of it; `put` makes the value around one that stands there. */
  inside: (schema: Schema, key: string | number, put: (value: unknown) => unknown) => Place;
}
interface Bound {
  path: Path;
  /** Values that are not judged as they should be. */
  faults: unknown[];
}

/** Texts of any length that settings are made of: words, numbers, ids, addresses. */
const GROWING: readonly ((length: number) => string)[] = [
  (length) => 'x'.repeat(length),
  (length) => '1'.repeat(length),
  (length) => `C${'0'.repeat(length - 1)}`,
  (length) => 'https://a.example/'.padEnd(length, 'x').slice(0, length),
  (length) => 'wss://a.example/'.padEnd(length, 'x').slice(0, length),
];
/** Texts of one length. */
const FIXED = ['', '#aaaaaa', '2026-12-01', '10:00'];
const LENGTHS = Array.from({ length: 130 }, (_, n) => n + 1);
const ENDLESS = 20_000;

/** Control characters, and halves of signs that take two: no setting takes them. */
const CONTROL = ['\0', '\u0007', '\u001b', '\u007f', '\u0085', '\ud800', '\udc00'];
const LINE_ENDS = ['\n', '\r', '\u2028', '\u2029'];
const SIGNS = [...CONTROL, ...LINE_ENDS, '\t', ' ', '💥'];
/** The characters that the forms of the kit do not take. Other forms are of ids, names and numbers: they take none. */
const NOT_TAKEN: Readonly<Record<string, readonly string[]>> = {
  [SINGLE_LINE.source]: [...CONTROL, ...LINE_ENDS],
  [MULTI_LINE.source]: [...CONTROL],
  [WEB_ADDRESS.source]: [...CONTROL, ...LINE_ENDS, '\t'],
};
/** Those of `SIGNS` that a text must not have; undefined where its declaration says nothing of characters. */
function signsNotTaken({ texts, pattern, allOf = [] }: Schema): readonly string[] | undefined {
  if (texts) {
    const all = texts.map(signsNotTaken);
    return all.includes(undefined) ? undefined : SIGNS.filter((sign) => all.every((signs) => signs?.includes(sign)));
  }
  const patterns = [{ pattern }, ...allOf].flatMap((one) => one.pattern ?? []);
  return patterns.map((one) => NOT_TAKEN[one]).find((signs) => signs) ?? (patterns.length > 0 ? SIGNS : undefined);
}
/** The text with this in the place of the character in its middle: blanks around a text may not count. */
const withSign = (text: string, sign: string): string => {
  const at = Math.floor(text.length / 2);
  return text.slice(0, at) + sign + text.slice(at + 1);
};

/** A value that is taken there. */
function sampleOf(place: Place): unknown {
  const { schema, takes } = place;
  const { type, anyOf } = schema;
  if ('const' in schema) return schema.const;
  if (schema.enum) return schema.enum[0];
  if (anyOf) return anyOf.map((one) => sampleOf({ ...place, schema: one })).find(takes);
  if (type === 'array') return listOf(place, Math.max(schema.minItems ?? 0, 1));
  if (type === 'object') return objectOf(place);
  if (type === 'integer' || type === 'number') return Math.max(schema.minimum ?? 1, 1);
  if (type === 'string')
    return [...LENGTHS.flatMap((length) => GROWING.map((text) => text(length))), ...FIXED].find(takes);
  return type === 'boolean' ? true : null;
}
const objectOf = ({ schema: { properties = {}, required = [] }, inside }: Place): Record<string, unknown> =>
  Object.fromEntries(
    required.map((name) => [name, sampleOf(inside(properties[name]!, name, (value) => ({ [name]: value })))]),
  );
const listOf = ({ schema: { items, prefixItems }, inside }: Place, length: number): unknown[] => {
  const sample = sampleOf(inside(prefixItems?.[0] ?? (items as Schema), 0, (value) => [value]));
  return Array.from({ length }, () => sample);
};

/** The forms that a value can have; its texts are one, and what stands for nothing is none. */
function formsOf(anyOf: readonly Schema[]): Schema[] {
  const all = anyOf.flatMap((one) => (one.anyOf ? formsOf(one.anyOf) : one));
  const forms = all.filter((one) => !('const' in one) && one.type !== 'null');
  const texts = forms.filter(({ type }) => type === 'string');
  if (texts.length < 2) return forms;
  const most = Math.max(...texts.map(({ maxLength = 0 }) => maxLength));
  const text = { type: 'string', texts, ...(most > 0 && { maxLength: most }) };
  return [...forms.filter(({ type }) => type !== 'string'), text];
}

function boundsOf(place: Place): Bound[] {
  const { schema, path, takes, inside } = place;
  const { type, anyOf } = schema;
  const judged = (at: readonly unknown[], beyond: readonly unknown[]): Bound => ({
    path,
    faults: [...at.filter((value) => !takes(value)), ...beyond.filter(takes)],
  });
  if ('const' in schema) return [judged([schema.const], [`${String(schema.const)}x`])];
  if (schema.enum) return [judged(schema.enum, ['not one of them'])];
  if (anyOf) return formsOf(anyOf).flatMap((one) => boundsOf({ ...place, schema: one }));
  if (type === 'array') return listBounds(place, judged);
  if (type === 'object') {
    const whole = objectOf(place);
    return Object.entries(schema.properties ?? {}).flatMap(([name, part]) =>
      boundsAt(
        inside(part, name, (value) => ({ ...whole, [name]: value })),
        schema.required?.includes(name),
      ),
    );
  }
  if (type === 'integer' || type === 'number') {
    const { minimum, maximum, exclusiveMinimum } = schema;
    const least = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + 1);
    const ends = [least, maximum].filter((end) => end !== undefined);
    return [judged(ends, [...(least === undefined ? [] : [least - 1]), (maximum ?? Infinity) + 1])];
  }
  if (type === 'null') return [judged([null], ['x'])];
  return type === 'string' ? [textBound(place, judged)] : [judged([true, false], ['yes'])];
}

/** The bounds of a value that may be left out, or is needed. */
const boundsAt = (place: Place, isNeeded = false): Bound[] => [
  ...boundsOf(place),
  ...(isNeeded && place.takes(undefined) ? [{ path: place.path, faults: ['it may be missing'] }] : []),
];

type Judged = (at: readonly unknown[], beyond: readonly unknown[]) => Bound;

function listBounds(place: Place, judged: Judged): Bound[] {
  const { schema, path, inside } = place;
  const { items, prefixItems, minItems: least = 0, maxItems: most } = schema;
  const [sample] = listOf(place, 1);
  const lists = (length: number) => Array.from({ length }, () => sample);
  const others = lists(least).slice(1);
  return [
    most === undefined
      ? { path, faults: ['a list without an end'] }
      : judged([lists(most)], [lists(most + 1), ...(least > 0 ? [lists(least - 1)] : [])]),
    ...boundsOf(inside(prefixItems?.[0] ?? (items as Schema), 0, (value) => [value, ...others])),
  ];
}

/** A text has a greatest length, and a form that says which characters it takes: at least no control characters. */
function textBound({ schema, path, takes }: Place, judged: Judged): Bound {
  const { maxLength } = schema;
  const signs = signsNotTaken(schema);
  if (!signs) return { path, faults: ['a text of any characters'] };
  const others = SIGNS.filter((sign) => !signs.includes(sign));
  for (const text of GROWING) {
    const lengths = LENGTHS.filter((length) => takes(text(length)));
    const [least] = lengths;
    const most = maxLength !== undefined && takes(text(maxLength)) ? maxLength : lengths.at(-1);
    if (least === undefined || most === undefined) continue;
    if (takes(text(ENDLESS))) return { path, faults: ['a text without an end'] };
    const middle = text(lengths[Math.floor(lengths.length / 2)]!);
    const strange = schema.format ? ['💥'.repeat(least)] : [];
    return judged(
      [text(most), text(least), ...others.map((sign) => withSign(middle, sign))],
      [text(most + 1), ...strange, ...signs.map((sign) => withSign(middle, sign))],
    );
  }
  const fixed = FIXED.find((one) => one !== '' && takes(one));
  return fixed === undefined
    ? { path, faults: ['no text is taken'] }
    : judged([fixed], [`${fixed}x`, ...signs.map((sign) => withSign(fixed, sign))]);
}

/** Whether a fault at one of these paths is one of the other, too; a union names the place where it begins. */
const isRelated = (a: readonly PropertyKey[], b: readonly PropertyKey[]): boolean => {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return short.every((part, n) => part === long[n]);
};

/** `usable`: settings that the network takes. */
export const settingCheck = ({ settings }: SocialAdapter, usable: Readonly<Record<string, unknown>>): Check => ({
  name: 'takes each setting at its limit; names the field of what is too long, has other characters, or is missing',
  async run() {
    const placeOf = (schema: Schema, path: Path, put: (value: unknown) => object): Place => ({
      schema,
      path,
      takes: (value) => !settings.safeParse(put(value)).error?.issues.some((issue) => isRelated(issue.path, path)),
      inside: (inner, key, around) => placeOf(inner, [...path, key], (value) => put(around(value))),
    });
    const { properties = {}, required = [] } = z.toJSONSchema(settings, {
      io: 'input',
      unrepresentable: 'any',
    }) as Schema;
    const faults = Object.entries(properties).flatMap(([key, schema]) => {
      const place = placeOf(schema, [key], (value) => ({ ...usable, [key]: value }));
      if (sampleOf(place) === null) return []; // a setting of the family that this network does not take
      return boundsAt(place, required.includes(key)).filter((bound) => bound.faults.length > 0);
    });
    expect(faults.map((bound) => [bound.path.join('.'), ...bound.faults])).toEqual([]);
  },
});
