import { AppError, type FieldError, fieldError, unknownField, validationFailed } from '../../platform/kernel/index.ts';
import { type AnyAdapter, type Fields, isAddressField, type Values } from '../registry/index.ts';

/** Input for an adapter: plain fields in either place, secrets in `credentials`; null clears. */
export interface Given {
  credentials?: Readonly<Record<string, unknown>> | undefined;
  options?: Readonly<Record<string, unknown>> | undefined;
}
/** The id of an organization, or null for the whole instance. */
export type Owner = string | null;

type Setup = NonNullable<AnyAdapter['setup']>;

/** Answers the declared settings of an adapter for this owner; 400 where there are none. */
export function setupOf(adapter: AnyAdapter, owner: Owner): Setup {
  const { setup } = adapter;
  if (!setup) throw new AppError('invalid_request', `${adapter.domain}/${adapter.id} has no settings`);
  if (!setup.owners.includes(owner === null ? 'instance' : 'org'))
    throw new AppError(
      'invalid_request',
      `${adapter.domain}/${adapter.id} is set for ${owner === null ? 'each organization' : 'the whole instance'} only`,
    );
  return setup;
}

/** Merges the stored values with the input, without cleared ones. Secrets among the options are refused. */
export function merged({ fields }: Setup, given: Given, kept: Values = {}): Record<string, unknown> {
  const wrong = Object.keys(given.options ?? {}).flatMap((name): FieldError[] => {
    const field = `options.${name}`;
    if (!Object.hasOwn(fields, name)) return [unknownField(name, field)];
    return fields[name]!.secret ? [fieldError(field, 'belongs to the credentials', 'misplaced')] : [];
  });
  if (wrong.length > 0) throw validationFailed(wrong);
  // a newer version may have other fields
  const known = Object.fromEntries(Object.entries(kept).filter(([name]) => Object.hasOwn(fields, name)));
  return { ...known, ...given.options, ...given.credentials };
}

/** Refuses values of which no group of `oneOf` is complete. */
export function checkGroups({ oneOf }: Setup, values: Values): void {
  if (!oneOf || oneOf.some((group) => group.every((name) => values[name]))) return;
  const groups = oneOf.map((group) => group.join(', ')).join(', or ');
  throw validationFailed([
    { field: `credentials.${oneOf[0]![0]!}`, message: `credentials: needed are ${groups}`, rule: 'required' },
  ]);
}

/** Splits values into plain and secret ones. */
export function split(fields: Fields, values: Values): { plain: Values; secrets: Values } {
  const of = (secret: boolean) =>
    Object.fromEntries(Object.entries(values).filter(([name]) => fields[name]?.secret === secret));
  return { plain: of(false), secrets: of(true) };
}

/** The place that a value names: a folder is the same one with and without the slash at its end. */
const placeOf = (value: string | undefined): string | undefined => value?.replace(/\/$/, '');
/** The first field whose value says that what is kept lies elsewhere than before. */
export const movedPlace = (fields: Fields, before: Values, now: Values): string | undefined =>
  Object.keys(fields).find((name) => fields[name]!.place && placeOf(before[name]) !== placeOf(now[name]));

/** Names the address fields whose value differs, with the old and the new host. */
export const movedAddresses = (fields: Fields, before: Values, now: Values): string[] =>
  Object.entries(fields).flatMap(([name, field]) =>
    isAddressField(field) && before[name] !== now[name]
      ? [`${name}: ${hostOf(before[name])} → ${hostOf(now[name])}`]
      : [],
  );
const hostOf = (address: string | undefined): string =>
  address === undefined ? 'none' : URL.parse(address)?.host || address;

const HINT = 4;
/** Names of generated secrets; of chosen secrets and files nothing is shown. */
const isKey = (name: string): boolean => /(key|keyid|secret|token)$/i.test(name);
/** Answers the last characters of a long key; null for any other secret. */
export const hintOf = (name: string, secret: string): string | null =>
  isKey(name) && secret.length >= 4 * HINT ? `…${secret.slice(-HINT)}` : null;
