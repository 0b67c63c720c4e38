import { z } from 'zod';
import { PROVIDER_FAILURES, type ProviderFailure } from '../../platform/kernel/index.ts';
import { type Field, type Fields, secret, text } from '../kit/declare/fields.ts';
import type { MediaLine } from './_contract.ts';
import { numberAt, reading, readingList, textAt } from './_job-answers.ts';
import type { Pointer } from './_job.ts';

// What declarations say about an account: its key, its region, what a refusal of it looks like, and how it is checked.

interface KeyField {
  /** Default: `API key`. */
  label?: string;
  /** Further fields of the form. */
  fields?: Fields;
}
/** The key of an account, which goes into a header: its field with where it is found, and further fields. */
export const keyIn = (
  header: { name: string; prefix?: string },
  help: string,
  { label = 'API key', fields }: KeyField = {},
) => ({
  authType: 'api_key' as const,
  credentials: { apiKey: secret(label, { help }), ...fields },
  auth: { in: 'header' as const, ...header, field: 'apiKey' as const },
});
/** The same as a bearer token, as most have it. */
export const bearerKey = (help: string, more?: KeyField) =>
  keyIn({ name: 'authorization', prefix: 'Bearer ' }, help, more);

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

/** The failure of an answer that has this shape. */
export const shaped = <const W extends ProviderFailure>(shape: z.ZodRawShape, failure: W) =>
  z.object(shape).transform(() => failure);

/**
 * The failure by the code at a place of an answer. With the code of a `success`, one that is not known is a fault of the
 * request.
 */
export function codeAt(
  at: Pointer,
  failures: Readonly<Partial<Record<ProviderFailure, readonly (string | number)[]>>>,
  success?: number,
) {
  const known = new Map(
    PROVIDER_FAILURES.flatMap((failure) => failures[failure]?.map((code) => [String(code), failure] as const) ?? []),
  );
  return reading((body) => {
    const code = textAt(body, at);
    if (code === undefined || code === String(success)) return undefined;
    return known.get(code) ?? (success === undefined ? undefined : 'rejected');
  }, at);
}

type Check = (line: MediaLine) => Promise<string>;

/** A check by what stands at a place of the answer to a free call that needs the key. */
const checkBy =
  <T>(read: (body: unknown, at: Pointer) => T | undefined, said: (told: T) => string) =>
  (path: string, at: Pointer): Check =>
  async ({ http }) =>
    said(
      await http.get(
        path,
        reading((body) => read(body, at), at),
      ),
    );
/** Checks by the credits that an account has. */
export const creditsAt = checkBy(numberAt, (left) => `The key is accepted: ${left} credits are left`);
/** By the name of its account. */
export const accountAt = checkBy(textAt, (name) => `The key of ${name} is accepted`);

/** By a list of anything. */
export const listAt =
  (path: string, at: Pointer): Check =>
  async ({ http }) => {
    await http.get(path, readingList(at));
    return 'The key is accepted';
  };

/** By something that is not there, where no call proves a key: a wrong one is refused before. */
export const nothingAt =
  (path: string): Check =>
  async ({ http }) => {
    await http.find(path, z.unknown());
    return 'The key was not refused, but no call proves it';
  };
