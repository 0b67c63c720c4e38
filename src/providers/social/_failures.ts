import { z } from 'zod';
import type { ProviderFailure } from '../../platform/kernel/index.ts';

// Refusals that are told by a code, in a body or inside a 200.

type Codes = Readonly<Record<string, ProviderFailure>>;
const Code = z.union([z.string(), z.int()]).transform(String);
const known = z.custom<ProviderFailure>((failure) => failure !== undefined);

/**
 * Reads the code at a path of the body as its failure: a path such as `error.code`, or `errors.0.code` in the first
 * entry of a list. A code that is not listed does not parse, so that the status decides. `otherwise`: the failure of all
 * other codes, but for those of `none`, which are no failures. `by`: the part of the code that is listed.
 */
export function failureAt(
  path: string,
  codes: Codes,
  {
    otherwise,
    none = [],
    by = (code) => code,
  }: { otherwise?: ProviderFailure; none?: readonly string[]; by?: (code: string) => string } = {},
): z.ZodType<ProviderFailure> {
  const failureOf = (code: string) =>
    Object.hasOwn(codes, code) ? codes[code] : none.includes(code) ? undefined : otherwise;
  const code: z.ZodType<ProviderFailure> = Code.transform((told) => failureOf(by(told))).pipe(known);
  return path.split('.').reduceRight(
    (inner, key): z.ZodType<ProviderFailure> =>
      key === '0'
        ? z
            .tuple([inner])
            .rest(z.unknown())
            .transform(([first]) => first)
        : z.object({ [key]: inner }).transform((body) => body[key]!), // which the object has
    code,
  );
}
