import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';
import type { Quota } from '../kit/declare/waits.ts';

// Refusals that are told by a code, in a body or inside a 200.

type Codes<T> = Readonly<Record<string, T>>;
const Code = z.union([z.string(), z.int()]).transform(String);

/**
 * Reads the code at a path of the body as its failure: a path such as `error.code`, or `errors.0.code` in the first
 * entry of a list. A code that is not listed does not parse, so that the status decides. `otherwise`: the failure of all
 * other codes, but for those of `none`, which are no failures. `by`: the part of the code that is listed.
 */
export const failureAt = (path: string, codes: Codes<ProviderFailure>, more: Others<ProviderFailure> = {}) =>
  valueAt(path, codes, more);

/** Reads the code in the same way as the quota that is used up. */
export const quotaAt = (path: string, codes: Codes<Quota>) => valueAt(path, codes, {});

/** Reads the code in the same way as what a person can do about it. */
export const adviceAt = (path: string, codes: Codes<string>) => valueAt(path, codes, {});

interface Others<T> {
  otherwise?: T;
  none?: readonly string[];
  by?: (code: string) => string;
}
function valueAt<T>(
  path: string,
  codes: Codes<T>,
  { otherwise, none = [], by = (code) => code }: Others<T>,
): z.ZodType<T> {
  const known = z.custom<Awaited<T> | undefined>((value) => value !== undefined);
  const valueOf = (code: string) =>
    Object.hasOwn(codes, code) ? codes[code] : none.includes(code) ? undefined : otherwise;
  const found: z.ZodType = Code.transform((told) => valueOf(by(told))).pipe(known);
  const code = found as z.ZodType<T>; // neither a promise nor undefined
  return path.split('.').reduceRight(
    (inner, key): z.ZodType<T> =>
      key === '0'
        ? z
            .tuple([inner])
            .rest(z.unknown())
            .transform(([first]) => first)
        : z.object({ [key]: inner }).transform((body) => body[key]!), // which the object has
    code,
  );
}
